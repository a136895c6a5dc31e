"""The same count and bounded sum in other libraries; each file is run by an interpreter that has its library.

Called as `python file.py rows.parquet epsilon repeats`. Prints one JSON object: for "count" and "sum" the
seconds of CPU (children and virtual machines included) and of wall time of one release, and what came out.
"""
