"""Sums over the recent past, and alarms about them."""
