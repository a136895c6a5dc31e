"""Robust statistics of raw rows: little noise where no few people decide them, else no answer."""
