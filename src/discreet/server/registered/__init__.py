"""The registration file: which tables are served, to whom, at which budget, and what stands beside them."""
