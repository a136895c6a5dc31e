"""What all games share: reports in, an outcome out, and what a lie would gain."""
