"""Releases that hold a weight for every cell: MWEM, projection, small databases."""
