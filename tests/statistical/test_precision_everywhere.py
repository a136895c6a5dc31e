"""The precision attack on every mechanism of the catalogue that publishes numbers, wherever it puts them.

What is published may be an array, a synopsis or a transcript: every number in it is looked at, in the order
in which it is found, and those that vary between runs are attacked one by one. A bound is wrong with
probability at most 1e-9 for each of 232 events and directions, so below 1e-6 a mechanism with four attacked
numbers. Power: float noise at epsilon 1 falls at this number of runs, which the last test shows.
"""

import dataclasses
import inspect
import math
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import islice

import numpy as np
import pytest

from discreet.audit.empirical import direct, draw_both, find_strongest
from discreet.audit.museum.float_noise import FloatLaplace
from discreet.audit.precision import ALPHA, Bits, low_bit_events
from discreet.audit.runs import Raised, freeze
from discreet.catalogue import catalogue
from discreet.core.card import Tiny
from discreet.testing import unsafe_seeded

RUNS, MANY_RUNS, PILOT = 500, 20_000, 60
MOST = 4
WITHOUT_NUMBERS = {
    "above-threshold", "exponential", "k-median", "k-median-exhaustive", "k-median-histogram", "min-cut",
    "min-cut-exhaustive", "permute-and-flip", "public-projects", "public-projects-sampled",
    "randomized-response", "direct-response", "symmetric-unary", "optimised-unary", "local-hashing",
    "hadamard-response", "subset-selection", "projective-response", "memoised-unary", "sign-mean",
    "piecewise-mean", "hybrid-mean", "prefix-search", "local-oracle", "set-cover",
    "set-cover-exhaustive", "set-cover-layered", "set-cover-sampled", "set-cover-split", "set-cover-weighted",
    "exponential-vcg", "facility-location", "private-vote", "priced-vote", "punishing-exponential",
    "posted-price", "split-auction", "sparse", "stream-alarm", "top-k", "vertex-cover",
    "vertex-cover-sampled", "vertex-cover-weighted", "approximate-leader", "endless-majority",
    "lazy-majority", "weighted-majority", "rule-learner", "table-learner", "vertex-learner",
    "zero-sum-equilibrium",
}  # fmt: skip
"""They publish choices, orders and yes or no: labels that stand for no number."""
ALWAYS_THE_SAME = {"separate-budgets"}
"""On its tiny instances every run publishes the same number."""


def numbers(value, depth=0):
    """Yield every number in a published value, in what its functions hold too."""
    if isinstance(value, bool | str | bytes | type | Raised) or value is None or depth > 6:
        return
    if isinstance(value, np.ndarray | np.number):
        yield from numbers(value.tolist(), depth + 1)
    elif isinstance(value, int | float | Fraction):
        yield float(value) if isinstance(value, Fraction) else value
    else:
        for part in parts(value):
            yield from numbers(part, depth + 1)


def parts(value):
    """Return what a published value is made of."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value, key=repr)]
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, partial):
        return (*value.args, value.keywords)
    if inspect.isroutine(value):
        held = getattr(value, "__closure__", None) or ()
        return (getattr(value, "__self__", None), *(cell.cell_contents for cell in held))
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return [getattr(value, name, None) for name in [*names, *getattr(value, "__dict__", ())]]


def run_of(tiny):
    """Return the program that runs an instance and publishes the numbers in what comes out."""
    return lambda data, rng: tuple(freeze(number) for number in numbers(tiny.run(data, rng)))


def varying(tiny, pair):
    """Return the places of the numbers that differ between a few runs."""
    left, right = draw_both(run_of(tiny), pair, PILOT, rng=unsafe_seeded(50))
    longest = max(map(len, left + right))
    return [place for place in range(longest) if len({run[place : place + 1] for run in left + right}) > 1]


def instances(card):
    """Yield instances with pairs, those on a grid first."""
    tinies = sorted(card.tiny(), key=lambda tiny: getattr(tiny.mechanism, "grid", None) in (None, 1))
    for tiny in tinies:
        for pair in islice(tiny.pairs, 6):
            yield tiny, pair


def attack(tiny, pair, runs):
    """Return the strongest bound from the low bits of any number that varies, and its event."""
    left, right = draw_both(run_of(tiny), pair, runs, rng=unsafe_seeded(51))
    best = (0.0, "nothing")
    for place in varying(tiny, pair)[:MOST]:
        seen = tuple(
            Counter(Bits.of(run[place] if len(run) > place else "nothing") for run in side)
            for side in (left, right)
        )
        bound, (event, _) = find_strongest(
            direct(low_bit_events()), seen, runs, alpha=ALPHA, delta=delta_of(tiny)
        )
        best = max(best, (bound, f"number {place}: {event.name}"))
    return best


def delta_of(tiny):
    loss = tiny.mechanism.loss
    return 0.0 if math.isfinite(loss.epsilon(0)) else max(loss.failure, 1e-2)


CARDS = [card for card in catalogue() if card.name not in WITHOUT_NUMBERS | ALWAYS_THE_SAME]


def stands(card, runs):
    found = next(((tiny, pair) for tiny, pair in instances(card) if varying(tiny, pair)), None)
    assert found, "no number varies: this attacks nothing"
    tiny, pair = found
    bound, event = attack(tiny, pair, runs)
    assert bound <= tiny.mechanism.loss.epsilon(delta_of(tiny)), (bound, event)


@pytest.mark.parametrize("card", CARDS, ids=str)
def test_low_bits_give_nothing_away(card):
    stands(card, RUNS)


@pytest.mark.soak
@pytest.mark.parametrize("card", CARDS, ids=str)
def test_low_bits_give_nothing_away_in_many_runs(card):
    stands(card, MANY_RUNS)


def test_every_card_is_attacked_or_publishes_no_number():
    assert {card.name for card in catalogue()} >= WITHOUT_NUMBERS | ALWAYS_THE_SAME


def test_float_noise_falls_inside_other_things():
    @dataclasses.dataclass
    class Wrapped:
        table: dict

    class Hidden(FloatLaplace):
        def _draw(self, data, rng):
            return Wrapped({"public": 0.1, "noisy": np.array([7.0, super()._draw(data, rng)])})

        __hash__ = object.__hash__

    Wrapped.__hash__ = object.__hash__
    tiny = Tiny(Hidden(1), ())
    assert len(varying(tiny, (0.0, 1.0))) == 1
    bound, event = attack(tiny, (0.0, 1.0), RUNS)
    assert bound > 1, event
