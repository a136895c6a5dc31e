"""What benchmarks of the server start: a server, and those who ask it."""
