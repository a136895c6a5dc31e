"""Instances on which every private algorithm does badly: lower bounds that can be run. None holds data."""
