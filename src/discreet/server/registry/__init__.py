"""The epsilon registry: what a data set is used for, and what that costs the people in it, for all to see."""
