"""Clinics near private patients."""
