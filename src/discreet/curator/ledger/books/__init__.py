"""Books on a disk or a server: rows that hold one another, an anchor beside them, and what mends them."""
