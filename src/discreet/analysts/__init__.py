"""Analyst privacy: what one analyst asks stays hidden from the others."""
