"""Counters that err less than the plain tree, or need no horizon."""
