"""Query release: many answers, or a synthetic table, for one budget."""
