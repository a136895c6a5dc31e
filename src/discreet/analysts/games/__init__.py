"""Games between analysts and data, played privately."""
