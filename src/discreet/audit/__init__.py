"""Tools that try to break a guarantee: exact, replay and empirical."""
