"""Algorithms whose memory is private too: seizing it tells no more than is promised."""
