"""A row may hold anything: where data are a list of rows, none raises, and none is asked what it is."""

import numpy as np
import pytest

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
