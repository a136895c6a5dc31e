"""Functions that are not whole numbers: logarithms, roots, exponentials and powers."""
