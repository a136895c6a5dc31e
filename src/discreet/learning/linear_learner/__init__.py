"""The mixture of coordinates with the smallest mean: by experts, and by one choice."""
