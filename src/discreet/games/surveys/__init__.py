"""Surveys whose people sell a part of their privacy, and say what it costs them."""
