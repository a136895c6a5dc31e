"""The tables of one response each: what is reported of a value, and how likely."""
