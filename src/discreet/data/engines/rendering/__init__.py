"""Queries for engines, written from the facts that a question was priced by."""
