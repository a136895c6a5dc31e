"""One decision for all: by what it is worth to everybody, or by votes."""
