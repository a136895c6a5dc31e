"""Searches: which values are common, among far more than could be listed."""
