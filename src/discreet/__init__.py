"""Differential privacy whose every guarantee is checked by exact enumeration."""
