"""What answers counts at no further cost: a hypothesis that all share, one published, one of one's own."""
