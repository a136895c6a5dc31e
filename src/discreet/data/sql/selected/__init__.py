"""What is selected of groups: aggregates, and what is computed from them."""
