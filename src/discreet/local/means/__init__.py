"""Means of numbers that everybody keeps to themselves."""
