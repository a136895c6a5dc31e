"""What several problems share: graphs, labels, orders, weights, sequences of choices."""
