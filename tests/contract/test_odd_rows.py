"""A row may hold anything: where data are a list of rows, none raises, and none is asked what it is."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from discreet.catalogue import catalogue
from discreet.core.errors import InvalidParameter
from discreet.testing import unsafe_seeded


class Shapeless:
    """Raises whatever it is asked as an array, a number, a container or a key."""

    def _refuse(self, *args, **kwargs):
        raise RuntimeError("the data decide")

    __array__ = __float__ = __index__ = __bool__ = __len__ = __iter__ = __hash__ = __eq__ = _refuse


class Liar:
    """Raises where it is asked for its class."""

    @property
    def __class__(self):
        raise RuntimeError("the data decide")


ODD = (Shapeless(), Liar(), [1, [2, 3]], np.ma.masked)
PAIRS = {
    "additive-logistic",
    "frank-wolfe",
    "noisy-gradient",
    "noisy-minimum",
    "noisy-newton",
    "second-moments",
}
"""They take arrays that an estimator made of rows, and refuse anything else."""
COPIES = {"above-threshold", "numeric-sparse", "reusable-holdout", "sparse"}
"""They hand rows to functions of a caller, and refuse a class whose objects cannot be copied: a Liar's."""


def list_rows(data):
    """Return an example's data as a list of rows; nothing where they are something else, or too many."""
    rows = list(data) if isinstance(data, list | tuple) or (type(data) is np.ndarray and data.ndim) else []
    return rows if 2 <= len(rows) <= 10_000 else []


def find_raised(card, mechanism, rows):
    """Yield what odd rows raise, but for what is said above."""
    begin = mechanism.release if hasattr(mechanism, "release") else mechanism.open
    for odd in ODD:
        mixed = [*rows[: len(rows) // 2], odd, *rows[len(rows) // 2 + 1 :]]
        try:
            begin(mixed, rng=unsafe_seeded(1))
        except InvalidParameter as refused:
            if not (card.name in COPIES and type(odd) is Liar and "copied" in str(refused)):
                yield card.name, type(odd).__name__, refused
        except Exception as error:
            yield card.name, type(odd).__name__, error


@pytest.mark.filterwarnings("error")
def test_an_odd_row_raises_nothing():
    met, raised = [], []
    for card in catalogue():
        mechanism, data = card.example()
        if card.name not in PAIRS and (rows := list_rows(data)):
            met.append(card.name)
            raised += find_raised(card, mechanism, rows)
    assert not raised
    assert len(met) >= 60 and COPIES <= set(met)


MADE = {
    "a wide table": lambda count: np.zeros((count, 5), dtype=np.int64),
    "a table of tables": lambda count: np.zeros((count, 2, 2)),
    "texts": lambda count: np.array(["x" * count] * count),
    "times": lambda count: np.array(["2020" if count < 9 else "2020-01-01"] * count, dtype="datetime64"),
    "complex numbers": lambda count: np.zeros(count, dtype=np.complex128),
    "records": lambda count: np.zeros(count, dtype=[("a", np.int64)]),
    "a frame": lambda count: pd.DataFrame({"a": [0] * count, "b": ["x"] * count}),
    "categories": lambda count: pd.Series(pd.Categorical([str(place) for place in range(count)])),
    "a sparse table": lambda count: scipy.sparse.csr_array(np.zeros((count, 7))),
}


def find_words(mechanism, data):
    """Return what is said of data: nothing where they are taken."""
    begin = mechanism.release if hasattr(mechanism, "release") else mechanism.open
    try:
        begin(data, rng=unsafe_seeded(1))
    except Exception as refused:
        return f"{type(refused).__name__}: {refused}"
    return ""


def test_no_refusal_says_how_many_rows_there_are_or_how_wide():
    told, refused = [], 0
    for card in catalogue():
        mechanism, _ = card.example()
        for name, make in MADE.items():
            few, many = (find_words(mechanism, make(count)) for count in (3, 41))
            refused += bool(few)
            if few != many:
                told.append((card.name, name, few, many))
    assert not told
    assert refused > 500
