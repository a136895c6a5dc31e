"""Covers of private elements by public sets."""
