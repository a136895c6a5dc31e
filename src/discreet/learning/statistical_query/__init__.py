"""Learners that see means alone, each within a tolerance: of a curator's records or of local reports."""
