"""The same four questions in other libraries and in this one; each file needs an interpreter of its own.

Called as `python file.py rows.parquet epsilon repeats question groups`. Prints one JSON object: the seconds
of CPU (children and virtual machines included) and of wall time that opening the rows took, those of every
release, and what came out. Importing the library is not counted.
"""
