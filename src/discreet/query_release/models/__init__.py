"""Graphical models fitted to noisy marginals: max-entropy, adaptive, factored."""
