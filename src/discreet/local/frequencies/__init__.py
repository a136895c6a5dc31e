"""Frequency oracles: how many people hold each value, from reports that hide each one."""
