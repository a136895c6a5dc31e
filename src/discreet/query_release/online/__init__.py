"""Questions without end on one budget: private multiplicative weights, one at a time."""
