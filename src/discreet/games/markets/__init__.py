"""Markets: prices at which everybody gets what they want most, and none that anybody's wishes show in."""
