"""What shuffling reports adds to the guarantee that each has by itself."""
