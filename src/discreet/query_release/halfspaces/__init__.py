"""Halfspaces over points in a ball or a plane."""
