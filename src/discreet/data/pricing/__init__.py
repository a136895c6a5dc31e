"""What a plan costs, how its budget is split, and what it answers."""
