"""Whatever is pushed, to whichever counter or pan-private algorithm: nothing of it decides an exception."""

import datetime
import functools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import local, streams
from discreet.core.errors import InvalidParameter
from discreet.testing import CANARY, hostile_data, unsafe_seeded

EVENT = {"epsilon": 1, "neighbours": streams.Event()}
USERS = {"epsilon": 1, "neighbours": streams.UserEvents(), "cap": streams.UserCap(3)}
PARTS = {"epsilon": 1, "neighbours": streams.Contribution(1), "parts": 2}
TABLE = {"users": 50, "epsilon": 1, "neighbours": streams.UserStream()}
REAL = streams.RealElements(lower=-1, upper=3, grid=Fraction(1, 4))

COUNTERS = [
    functools.partial(streams.TreeCounter, delta=0, elements=REAL, **EVENT),
    functools.partial(streams.TreeCounter, delta=1e-6, **USERS),
    functools.partial(streams.TreeCounter, delta=0, consistent=True, elements=REAL, **EVENT),
    functools.partial(streams.WideTreeCounter, delta=0, elements=streams.WholeElements(1 << 40), **EVENT),
    functools.partial(streams.WideTreeCounter, delta=0, **USERS),
    functools.partial(streams.EndlessCounter, delta=1e-6, elements=REAL, **EVENT),
    functools.partial(streams.BufferedCounter, delta=1e-6, elements=REAL, **EVENT),
    functools.partial(streams.PerturbedCounter, delta=1e-6, **USERS),
    functools.partial(streams.SquareRootCounter, delta=1e-6, elements=REAL, **EVENT),
    functools.partial(streams.KeyedCounter, delta=0, keys=(1, "a"), **EVENT),
    functools.partial(streams.KeyedCounter, delta=0, keys=(1, "a"), **USERS),
    functools.partial(streams.KeyedCounter, delta=0, keys=(1, 2), elements=REAL, **PARTS),
    functools.partial(streams.WindowCounter, delta=0, width=3, elements=REAL, **EVENT),
    functools.partial(streams.StreamAlarm, delta=0, threshold=3, elements=REAL, **EVENT),
    functools.partial(streams.PanPrivateTree, delta=0, elements=REAL, **EVENT),
    functools.partial(streams.PanPrivateCounter, delta=1e-6, **EVENT),
    functools.partial(streams.LocalStream, **EVENT),
    functools.partial(streams.LocalStream, randomizer=local.LocalHashing(epsilon=1, domain=9), **EVENT),
    functools.partial(streams.LocalStream, randomizer=local.SignMean(epsilon=1, lower=0, upper=9), **EVENT),
]
TABLES = [
    functools.partial(streams.PanPrivateDensity, **TABLE),
    functools.partial(streams.HashedDensity, cells=20, key=1, **TABLE),
    functools.partial(streams.DynamicDensity, cells=20, key=1, modulus=3, **TABLE),
    functools.partial(streams.ModularIncidence, modulus=3, **TABLE),
    functools.partial(streams.CroppedMean, crop=2, **TABLE),
    functools.partial(streams.HeavyHitterFraction, times=2, **TABLE),
    functools.partial(streams.IncidenceFraction, times=2, **TABLE),
]


def refuse(self, *given, **named):
    raise RuntimeError(CANARY)


ASKED = (
    *("__int__", "__float__", "__index__", "__bool__", "__len__", "__iter__", "__getitem__", "__eq__"),
    *("__lt__", "__gt__", "__neg__", "__add__", "__mul__", "__repr__", "__str__", "__format__", "__hash__"),
    *("__round__", "__floor__", "__trunc__", "item", "tolist", "encode", "to_bytes", "bit_length", "keys"),
)
KINDS = (int, float, str, bytes, tuple, list, dict, Fraction, Decimal, np.int64, np.float64, np.str_, object)


def odd_elements():
    """Every kind of value, and one of every class that raises whatever it is asked."""
    stored = np.array([(1, CANARY)], dtype=[("a", "i8"), ("b", "U40")])
    yield from hostile_data()
    yield from (datetime.date(2026, 1, 1), np.datetime64("NaT"), np.timedelta64(3, "D"))
    yield from (stored[0], np.array(3.5), np.longdouble("1e4000"), np.complex128(1j), np.bool_(True))
    yield from (True, -0.0, 5e-324, 1e308, 2**63, -(2**63), 2**64, 10**5000, Decimal("1e999999"), "\ud83d")
    for kind in KINDS:
        for asked in (ASKED, ("__getattribute__",)):
            yield type(f"Mean{kind.__name__}", (kind,), dict.fromkeys(asked, refuse))()


def nest(odd):
    """What an element may be hidden in: alone, as a user, as what a user did, and in a vector."""
    return [odd, (odd, 1), ("ann", odd), [odd, odd], (odd, odd, odd)]


@pytest.mark.parametrize("kind", COUNTERS, ids=lambda kind: kind.func.__name__)
def test_no_element_raises_in_a_counter(kind):
    conversation = kind(horizon=5000).open(rng=unsafe_seeded(1))
    for odd in odd_elements():
        for element in nest(odd):
            conversation.push(element)
            conversation.push_many([element, element])
            conversation.push_many((element,))
    assert conversation.steps > 1000 and not conversation.closed


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.func.__name__)
def test_no_element_raises_in_a_table(kind):
    conversation = kind().open(rng=unsafe_seeded(1))
    for odd in odd_elements():
        for element in nest(odd):
            conversation.push(element)
            conversation.push_many([element, element])
    found = conversation.estimate()
    assert all(map(math.isfinite, getattr(found, "fractions", [found])))


@pytest.mark.parametrize("kind", [*COUNTERS, *TABLES], ids=lambda kind: kind.func.__name__)
def test_containers_are_refused_by_their_type_alone(kind):
    """One of each type with one entry and with another: both are taken, or both refused in the same words."""
    made = kind(horizon=5000) if kind in COUNTERS else kind()
    for first, second in (
        (np.array([1.0]), np.array([math.nan])),
        (np.array([1]), np.array([-(2**63)])),
        (np.array(["1"]), np.array([CANARY])),
        (np.array([1], dtype=object), np.array([refuse], dtype=object)),
        (np.array([1], dtype="datetime64[s]"), np.array(["NaT"], dtype="datetime64[s]")),
        ({1: 1}, {CANARY: None}),
        ("1", CANARY),
        (b"1", CANARY.encode()),
    ):
        told = []
        for given in (first, second):
            conversation = made.open(rng=unsafe_seeded(1))
            try:
                conversation.push_many(given)
                told.append("taken")
            except InvalidParameter as refusal:
                told.append(str(refusal))
        assert told[0] == told[1] and CANARY not in told[0]
