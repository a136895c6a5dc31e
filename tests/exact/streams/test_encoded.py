"""Counters behind an encoder, on all neighbouring streams of up to eight steps.

The shipped code is run with a generator that notes the whole numbers to which noise is added, and gives back
numbers that have nothing to do with them. All answers follow from what it gave back; so the loss is that of
discrete Gaussian noise on the distance of two encoded streams, and no pair may be further apart than is paid.
"""

import functools
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import NeighboursMismatch
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.rng import Rng
from discreet.mechanisms.gaussian import discrete_loss
from discreet.noise import AddNoise
from discreet.streams import (
    BufferedCounter,
    Contribution,
    EndlessCounter,
    KeyedCounter,
    PerturbedCounter,
    RealElements,
    SquareRootCounter,
    UserCap,
    WholeElements,
    WindowCounter,
)

KINDS = [
    BufferedCounter,
    PerturbedCounter,
    SquareRootCounter,
    functools.partial(BufferedCounter, decay=Fraction(1, 2)),
    functools.partial(SquareRootCounter, bands=2),
]
SIZES = (1, 3)  # how many elements are pushed at once


class Noting(Rng):
    """Notes what noise is added to, and gives back other numbers."""

    unsafe = True

    def __init__(self):
        self.met = []

    def random_bytes(self, count):
        raise AssertionError("bits that no step accounts for")

    def perform(self, primitive, value):
        assert isinstance(primitive, AddNoise)
        first = len(self.met)
        self.met += np.ravel(value).tolist()
        given = [997 * place % 1009 for place in range(first, len(self.met))]
        return np.array(given) if isinstance(value, np.ndarray) else given[0]


def find_furthest(counter, pairs, *, sizes=SIZES):
    """Return the largest squared distance of two neighbours, pushed in whichever parts."""
    given = []

    @functools.cache
    def encode(stream):
        met = []
        for size in sizes:
            rng = Noting()
            conversation = counter.open(rng=rng)
            parts = [list(stream[cut : cut + size]) for cut in range(0, len(stream), size)]
            if size == 1:
                answers = [conversation.push(part[0]) for part in parts]
            else:
                answers = np.concatenate([conversation.push_many(part) for part in parts])
            given.append(answers)
            met.append(rng.met)
        return np.array(met)

    furthest = max(
        int(((encode(tuple(left))[:, None] - encode(tuple(right))[None]) ** 2).sum(axis=2).max())
        for left, right in pairs
    )
    assert np.allclose(given, given[0]), "answers know noisy numbers alone"
    return furthest


def paid(counter):
    assert counter.loss == discrete_loss(counter.square_shift, counter.noise.variance)
    assert counter.loss.epsilon(float(counter.delta)) <= float(counter.epsilon)
    return counter.square_shift


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "length", [1, 3, 5, *(pytest.param(long, marks=pytest.mark.soak) for long in (6, 7, 8))]
)
def test_one_event_moves_no_further_than_is_paid(kind, length):
    for fineness in (None, 1) if length < 4 else (None,):
        counter = kind(horizon=length, epsilon=1, delta=1e-6, neighbours=Event(), fineness=fineness)
        furthest = find_furthest(counter, Event().pairs((0, 1), length))
        assert furthest <= paid(counter)
        if fineness is None:
            assert furthest > 0.99 * counter.square_shift, "a bound that is far off would hide a fault"


@pytest.mark.parametrize("kind", KINDS)
def test_a_real_event_that_comes_or_goes(kind):
    half = RealElements(lower=-1, upper=Fraction(5, 2), grid=Fraction(1, 2))
    counter = kind(horizon=3, epsilon=1, delta=1e-6, neighbours=EventPresence(), elements=half)
    furthest = find_furthest(counter, EventPresence().pairs((-1, 0.3, 2.5), 3))
    assert 0.99 * counter.square_shift < furthest <= paid(counter)


@pytest.mark.parametrize("kind", KINDS)
def test_all_events_of_a_user(kind):
    """Several events move no more than if they came in a row; the exact root takes all for one step's."""
    counter = kind(horizon=4, epsilon=1, delta=1e-6, neighbours=UserEvents(), cap=UserCap(2))
    furthest = find_furthest(counter, UserEvents().pairs((("a", 1), ("b", 1)), 4))
    assert furthest <= paid(counter)
    assert furthest > (0.5 if isinstance(counter, SquareRootCounter) else 0.9) * counter.square_shift


@pytest.mark.parametrize("size", SIZES)
def test_all_events_of_a_user_in_whichever_keys(size):
    """Each key has an encoder of its own. A user is furthest from nothing with all events in one of them."""
    keys = ("x", "y", "z")
    counter = KeyedCounter(
        keys=keys, horizon=3, epsilon=1, delta=1e-6, neighbours=UserEvents(), cap=UserCap(2)
    )
    pairs = list(UserEvents().pairs([(user, key) for user in "ab" for key in keys[:2]], 3))
    furthest = find_furthest(counter, pairs, sizes=(size,))
    assert 0.9 * counter.each.square_shift < furthest <= paid(counter.each)
    assert counter.loss == counter.each.loss


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_person_in_several_numbers_of_a_step(parts, size):
    counter = KeyedCounter(
        keys=("x", "y", "z"),
        horizon=4,
        epsilon=1,
        delta=1e-6,
        neighbours=Contribution(1),
        elements=WholeElements(1),
        parts=parts,
    )
    here = tuple(int(place < parts) for place in range(3))
    pairs = [(((0, 0, 0),) * at + (here,) + ((1, 0, 1),) * (3 - at),) for at in range(4)]
    pairs = [(left, (*left[:at], (0, 0, 0), *left[at + 1 :])) for at, (left,) in enumerate(pairs)]
    furthest = find_furthest(counter, pairs, sizes=(size,))
    assert 0.99 * counter.each.square_shift < furthest <= paid(counter.each)


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_all_events_of_a_user_in_whichever_windows(cap):
    """Three events fill a window, which ends before the last ones are encoded in full: they move less."""
    counter = WindowCounter(
        width=3, horizon=7, epsilon=1, delta=1e-6, neighbours=UserEvents(), cap=UserCap(cap)
    )
    pairs = list(UserEvents().pairs((("a", 1),), 7))
    furthest = find_furthest(counter, pairs)
    assert 0.75 * counter.part.square_shift < furthest <= paid(counter.part)
    assert counter.loss == counter.bought


def test_one_event_of_a_user_is_in_one_of_the_counters_without_an_end():
    given = {"horizon": 6, "first": 2, "growth": 1, "epsilon": 1, "delta": 1e-6, "neighbours": UserEvents()}
    counter = EndlessCounter(cap=UserCap(1), **given)
    pairs = list(UserEvents().pairs((("a", 1), ("b", 1)), 5))
    part = counter.make_part(2)
    furthest = find_furthest(counter, pairs)
    assert 0.99 * part.square_shift < furthest <= paid(part)
    with pytest.raises(NeighboursMismatch, match=r"UserCap\(1\) or a PerturbedCounter"):
        EndlessCounter(cap=UserCap(2), **given)
