"""What a book keeps of replies, and how later lives find it."""
