"""Vertex covers of private edges."""
