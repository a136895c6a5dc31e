"""Equilibria of games between many players, computed so that nobody's part in them shows."""
