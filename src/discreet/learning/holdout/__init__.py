"""Adaptive data analysis: rows that can be asked again and again without being fitted to."""
