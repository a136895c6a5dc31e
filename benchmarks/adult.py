"""The census table (UCI Adult, integer-coded) and its fixed workloads, where they are on this machine.

They are read from the directory that DISCREET_BENCH_DATA names, or from `shared/data` beside the repository.
The table is not part of the repository. Run on its own, this prints what was found.
"""

from __future__ import annotations

import gzip
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe

SMALL6, ADULT64 = "small6", "adult64"
DELTA = 1e-9
EPSILONS = (0.1, 1.0, 10.0)


class Census(NamedTuple):
    """One benchmark: the data over the attributes of a workload, and the workload."""

    name: str
    workload: Marginals
    histogram: Histogram

    @property
    def universe(self) -> Universe:
        """The attributes of the workload."""
        return self.workload.universe

    @property
    def rows(self) -> int:
        """How many people there are."""
        return self.histogram.total

    def truth(self) -> NDArray[Any]:
        """Return the true answers."""
        return self.workload.answers(self.histogram)


class Errors(NamedTuple):
    """How far answers are off, as shares of the number of rows."""

    average_l1: float
    max_l1: float
    max_cell: float

    def __str__(self) -> str:
        return f"{self.average_l1:8.4f} {self.max_l1:8.4f} {self.max_cell:9.5f}"


def directory() -> Path | None:
    """Return where the data are, if they are there."""
    named = os.environ.get("DISCREET_BENCH_DATA")
    place = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return place if (place / "adult.csv.gz").exists() else None


@lru_cache(maxsize=2)
def census(name: str) -> Census | None:
    """Return a benchmark by the name of its workload, or say that the data are missing and return None."""
    place = directory()
    if place is None:
        print("no census data: set DISCREET_BENCH_DATA to a directory with adult.csv.gz")
        return None
    sizes = json.loads((place / "adult-domain.json").read_text())
    chosen = json.loads((place / "adult-workloads.json").read_text())[name]
    header, *lines = gzip.decompress((place / "adult.csv.gz").read_bytes()).decode("ascii").splitlines()
    columns = [header.split(",").index(attribute) for attribute in chosen["attrs"]]
    codes = np.loadtxt(lines, delimiter=",", dtype=np.int64)[:, columns]
    universe = Universe((attribute, range(sizes[attribute])) for attribute in chosen["attrs"])
    return Census(name, Marginals(universe, chosen["marginals"]), Histogram.from_records(universe, codes))


def errors(workload: Marginals, truth: NDArray[Any], answers: NDArray[Any], rows: int) -> Errors:
    """Return the workload errors of some answers: mean and worst L1 over the tables, and the worst cell."""
    off = np.abs(answers - truth) / rows
    tables = np.add.reduceat(off, workload.tables.offsets[:-1])
    return Errors(float(tables.mean()), float(tables.max()), float(off.max()))


def main() -> None:
    """Say what was found."""
    for name in (SMALL6, ADULT64):
        found = census(name)
        if found is not None:
            tables, queries = len(found.workload.sets), len(found.workload)
            print(
                f"{name}: {found.rows} rows, {found.universe.size} cells, {tables} tables, {queries} queries"
            )


if __name__ == "__main__":
    main()
