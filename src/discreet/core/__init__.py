"""The types everything else is made of. Needs numpy and the standard library only."""
