"""The exact laws of local reports and their wire format: whole numbers and the standard library alone."""
