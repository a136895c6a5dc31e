"""A question as plain data, and what it can cost."""
