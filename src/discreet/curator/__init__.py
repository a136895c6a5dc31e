"""The curator: one table, one budget, many analysts."""
