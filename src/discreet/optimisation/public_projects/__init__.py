"""Public projects for private agents."""
