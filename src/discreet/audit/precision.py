"""The precision attack: tell two data sets apart by the low bits of a released number.

Float noise reaches only some numbers, and float addition rounds the sum to the grid of the larger number,
so which low bits can occur depends on the data ([Mir12], [HDHSH22]). The attack counts, for two neighbours,
how often the result is a multiple of each power of two, how many zeros its mantissa ends in, and which
sign a zero has. It is the ratio of these frequencies that must stay below e^epsilon, not the
frequencies themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from discreet.audit.empirical import LowerBound, OutputEvent, direct, draw_both, find_strongest
from discreet.audit.runs import make_runner, read_pair
from discreet.core import checks
from discreet.core.mechanism import Mechanism
from discreet.core.rng import SYSTEM, Rng

ALPHA = 1e-9
"""The probability that the bound from one event is wrong."""

_MANTISSA = 53
_FINEST = 60


@dataclass(frozen=True, slots=True, repr=False)
class PrecisionReport(LowerBound):
    """The strongest event of the attack, from the low bits alone."""

    def __repr__(self) -> str:
        verdict = "stands" if self.holds else "FALLS"
        return (
            f"{verdict} | claimed epsilon {self.claimed:.6g}, low bits give {self.epsilon:.6g} | "
            f"{self.event}, {self.left!r} vs {self.right!r}"
        )


def precision_attack(
    mechanism: Mechanism[Any, Any],
    pair: tuple[Any, Any],
    *,
    samples: int,
    delta: checks.Number,
    rng: Rng = SYSTEM,
) -> PrecisionReport:
    """Attack a mechanism that releases one number.

    The report is wrong with probability at most `ALPHA` for each of the events and directions tried, below
    3e-7 in total.
    """
    count, mass = checks.integer(1, samples=samples), float(checks.delta(delta=delta))
    run, pair = make_runner(mechanism), read_pair(pair)
    left, right = draw_both(run, pair, count, rng=rng)
    seen = Counter(map(Bits.of, left)), Counter(map(Bits.of, right))
    bound, best = find_strongest(direct(low_bit_events()), seen, count, alpha=ALPHA, delta=mass)
    first, second = pair[::-1] if best[1] else pair
    return PrecisionReport(mechanism.loss.epsilon(delta), bound, mass, best[0].name, first, second)


@dataclass(frozen=True, slots=True)
class Bits:
    """What the attack looks at: zeros at the end of the mantissa, binary places, special values."""

    zeros: int
    places: int
    special: str = ""

    @classmethod
    def of(cls, outcome: Hashable) -> Bits:
        """Read the bits of one released number, as the samplers write it."""
        if outcome == "-0.0":  # written as text, since as a number it equals the positive zero
            return cls(_MANTISSA, 0, "negative zero")
        if not isinstance(outcome, int | float) or not math.isfinite(outcome):
            return cls(_MANTISSA, 0, "not a finite number")
        if outcome == 0:
            return cls(_MANTISSA, 0)
        top, bottom = outcome.as_integer_ratio()
        mantissa = top if isinstance(outcome, int) else int(math.ldexp(math.frexp(outcome)[0], _MANTISSA))
        return cls((mantissa & -mantissa).bit_length() - 1, bottom.bit_length() - 1)


def low_bit_events() -> Iterator[OutputEvent]:
    """Yield the events of the attack, as sets of `Bits`."""

    def few_zeros(most: int) -> OutputEvent:
        return OutputEvent(f"mantissa ends in at most {most} zeros", lambda bits: bits.zeros <= most)

    def many_places(fewest: int) -> OutputEvent:
        return OutputEvent(f"not a multiple of 2**-{fewest}", lambda bits: bits.places > fewest)

    yield from (few_zeros(most) for most in range(_MANTISSA))
    yield from (many_places(fewest) for fewest in range(_FINEST + 1))
    yield OutputEvent("negative zero", lambda bits: bits.special == "negative zero")
    yield OutputEvent("not a finite number", lambda bits: bits.special == "not a finite number")
