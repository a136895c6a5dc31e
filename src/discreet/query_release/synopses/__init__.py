"""What a release returns: tables, weights, rows and answers with their errors."""
