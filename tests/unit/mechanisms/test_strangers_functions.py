"""Whatever a stranger's function does on the data, nothing but a private answer comes out.

Every way of failing must look the same as the declared constant, for every mechanism that runs functions.
"""

import asyncio
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import audit
from discreet.core.neighbours import Replace
from discreet.mechanisms.grid import evaluate_finite, shield
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.sparse import Sparse
from discreet.testing import unsafe_seeded

KINDS = [
    ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, BaseException, asyncio.CancelledError,
    MemoryError, RecursionError, StopIteration, StopAsyncIteration,
]  # fmt: skip


def raising(kind):
    def function(rows):
        raise kind(f"the rows are {rows}")

    return function


class Screams:
    """Every operation raises an exception that carries the data."""

    def __init__(self, *_):
        pass

    def scream(self, *_):
        raise SystemExit("data")


LOUD = """__int__ __float__ __index__ __repr__ __str__ __bool__ __eq__ __lt__ __le__ __gt__ __ge__ __hash__
__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__
__floor__ __ceil__ __round__ __neg__ __abs__ __divmod__ __iter__ __len__ __array__ item as_integer_ratio"""
for name in LOUD.split():
    setattr(Screams, name, Screams.scream)


class LoudFloat(float):
    __repr__ = __truediv__ = __floor__ = Screams.scream


class LoudInt(int):
    __int__ = __index__ = __mul__ = __rmul__ = __floordiv__ = __lt__ = __gt__ = Screams.scream


class LoudFraction(Fraction):
    __truediv__ = __add__ = __radd__ = __floor__ = __lt__ = __gt__ = Screams.scream


class LoudDecimal(Decimal):
    def as_integer_ratio(self):
        return LoudInt(3), 1


def fraction_of_loud_parts(_):
    made = Fraction(3)
    made._numerator = LoudInt(3)
    return made


RETURNS = {
    "loud float": lambda rows: LoudFloat(3),
    "loud int": lambda rows: LoudInt(3),
    "loud fraction": lambda rows: LoudFraction(3),
    "loud decimal": lambda rows: LoudDecimal(3),
    "fraction of loud parts": fraction_of_loud_parts,
    "screams": lambda rows: Screams(),
    "array of screams": lambda rows: np.array([Screams()], dtype=object),
    "text": str,
    "nothing": lambda rows: None,
    "nan": lambda rows: float("nan"),
}
FUNCTIONS = {kind.__name__: raising(kind) for kind in KINDS} | RETURNS


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_one_shot_mechanisms(function):
    public = {"grid": 1, "neighbours": Replace("row")}
    blocks = SubsampleAggregate(function=function, blocks=2, lower=0, upper=8, epsilon=1, **public)
    assert audit.replay(blocks, ((1, 2, 3), (1, 2, 4)), rng=unsafe_seeded(1)).holds
    tested = {"epsilon_test": 50, "epsilon_release": 50, "delta": 1e-6, "bound": 3} | public
    for functions in ({"distance": function, "value": sum}, {"distance": lambda rows: 99, "value": function}):
        made = ProposeTestRelease(**functions, **tested)
        assert audit.replay(made, ((1, 2, 3), (1, 2, 4)), rng=unsafe_seeded(2)).holds


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("kind", [AboveThreshold, Sparse, NumericSparse])
def test_conversations(kind, function):
    positives = {} if kind is AboveThreshold else {"positives": 2}
    public = {"sensitivity": 3, "epsilon": 1, "delta": 0, "threshold": 2, **positives}
    script = lambda conversation: (conversation.ask(function), conversation.asked)  # noqa: E731
    assert audit.replay(kind(**public), ((1, 2), (1, 3)), script, rng=unsafe_seeded(3)).holds


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_plain_fractions_come_out(function):
    found = evaluate_finite(function, (1, 2), Fraction(7, 2))
    assert type(found) is Fraction
    assert type(found.numerator) is int
    assert found in (Fraction(7, 2), 3)


def test_a_failure_leaves_no_trace():
    with pytest.raises(ZeroDivisionError) as caught:
        shield(lambda: raising(SystemExit)("secret"), Fraction(0))
        _ = 1 / 0
    assert caught.value.__context__ is None
