"""Small cuts of private graphs."""
