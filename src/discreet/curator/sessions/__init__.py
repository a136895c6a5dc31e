"""Sessions: one private data set and one budget that goes with it."""
