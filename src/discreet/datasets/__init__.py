"""Real people's records that come with the package, for the demo, the docs and the tests."""

from __future__ import annotations

import csv
import gzip
from importlib import resources

People = dict[str, list[str]]


def people() -> People:
    """Return the bundled survey as columns of text: age, gender, region, education, earnings.

    61,395 full-time workers of the 2005 Current Population Survey; a work of the US government
    (ORIGIN.md has the details).
    """
    packed = resources.files("discreet.datasets").joinpath("people.csv.gz").read_bytes()
    header, *rows = csv.reader(gzip.decompress(packed).decode("ascii").splitlines())
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}
