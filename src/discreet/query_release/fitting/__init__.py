"""Fitting weights and factors to noisy tables: numerical kernels that know nothing of privacy."""
