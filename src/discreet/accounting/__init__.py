"""Composition, conversions, filters: how losses add up."""
