"""What is said of single rows: conditions, numbers, texts and dates, translated into nodes of a plan."""
