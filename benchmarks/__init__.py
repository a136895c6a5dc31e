"""Speed and accuracy against the peers, one file a question."""
