"""What an owner declares about a table: columns, bounds, keys, whom it protects."""
