"""Samplers against laws: whether a primitive draws what it says it draws.

Exact audits enumerate `law`, releases call `sample`; a guarantee needs both to be the same. This audit draws
and counts. Every event that is counted has a binomial number of hits whose probability the law states, and
the exact binomial tail says how surprising the number is. The events share the false-alarm rate between
them, so a right sampler is called wrong with probability at most `ALPHA`, without any approximation. What
it takes to see a wrong one is computed just as exactly by `missed`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from discreet.audit.runs import freeze
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.rng import SYSTEM, TAIL, Primitive, Rng
from discreet.mechanisms.randomized_response import Respond
from discreet.mechanisms.subsample_aggregate import Partition
from discreet.noise.primitives import AddNoise
from discreet.optimisation.common.orders import UniformOrder

ALPHA = 1e-9
"""The probability that a right sampler is called wrong."""
DRAWS = 20_000
"""Draws an audit makes unless told otherwise: enough to see a Laplace scale that is 10 % off."""
LARGEST_LAW = 100_000
"""Laws with more outcomes are refused: audit a smaller instance."""

_ATOMS, _CUTS, _RINGS = 64, 16, 12
_COORDINATES = 4
_LONGEST = 8  # things whose orders are listed
_RARE = 10.0  # an outcome expected less often is counted with the others


@dataclass(frozen=True, slots=True)
class SamplerReport:
    """What was found: the most surprising event, its probability by the law, and its share of the draws.

    `p_value` is the probability that a right sampler surprises as much or more, over all events together.
    """

    primitive: str
    event: str
    expected: float
    seen: float
    draws: int
    p_value: float

    @property
    def holds(self) -> bool:
        """Whether the draws may come from the law."""
        return self.p_value >= ALPHA


@dataclass(frozen=True, slots=True)
class SamplerReading:
    """Something to be read off a draw, once or several times, and its law."""

    name: str
    law: Mapping[Hashable, float]
    read: Callable[[Any], Iterable[Hashable]]


@dataclass(frozen=True, slots=True)
class Tally:
    """Events about one reading: as rows of a table over its outcomes, in the order of `places`."""

    reading: SamplerReading
    places: Mapping[Hashable, int]
    names: tuple[str, ...]
    table: NDArray[np.bool_]

    @classmethod
    def of(cls, reading: SamplerReading, draws: int) -> Tally:
        """Choose the events from the law alone, before anything is drawn."""
        outcomes = list(reading.law)
        named = dict(_events(outcomes, np.array([reading.law[o] for o in outcomes]), draws))
        table = np.array(list(named.values()), dtype=np.bool_)
        places = {outcome: place for place, outcome in enumerate(outcomes)}
        return cls(reading, places, (*(f"{reading.name} {name}" for name in named), _ALIEN), table)

    def chances(self, law: Mapping[Hashable, float]) -> NDArray[np.float64]:
        """Return the probability of every event by a law; the last event holds the outcomes left over."""
        inside = np.array([law.get(outcome, 0.0) for outcome in self.places])
        alien = math.fsum(p for outcome, p in law.items() if outcome not in self.places)
        chances: NDArray[np.float64] = np.append(self.table @ inside, max(alien, float(TAIL)))
        return np.minimum(1.0, chances)

    def hits(self, seen: Mapping[Hashable, int]) -> NDArray[np.int64]:
        """Count the hits of every event."""
        inside = np.array([seen.get(outcome, 0) for outcome in self.places], dtype=np.int64)
        return np.append(self.table @ inside, sum(seen.values()) - inside.sum())


_ALIEN = "an outcome that the law does not have"


def sampler(
    primitive: Primitive[Any, Any], value: Any, *, draws: int = DRAWS, rng: Rng = SYSTEM
) -> SamplerReport:
    """Draw from a primitive at one input and compare with its law.

    Parameters
    ----------
    primitive, value
        The random step, and what it is given. Noise and answers of many people are read coordinate by
        coordinate, and neighbouring coordinates are compared with each other.
    draws
        How often to draw.
    rng
        Where the random bits come from.
    """
    count = checks.integer(1, draws=draws)
    tallies = [Tally.of(reading, count) for reading in _readings(primitive, value)]
    seen: list[Counter[Hashable]] = [Counter() for _ in tallies]
    for _ in range(count):
        outcome = primitive.sample(value, rng)
        for tally, counter in zip(tallies, seen, strict=True):
            counter.update(tally.reading.read(outcome))
    events = sum(len(tally.names) for tally in tallies)
    found = []
    for tally, counter in zip(tallies, seen, strict=True):
        hits, trials, p = tally.hits(counter), counter.total(), tally.chances(tally.reading.law)
        tails = np.minimum(special.bdtr(hits, trials, p), special.bdtrc(hits - 1, trials, p))
        worst = int(np.argmin(tails))
        surprise = min(1.0, 2 * events * float(tails[worst]))
        found.append((surprise, tally.names[worst], float(p[worst]), float(hits[worst] / trials)))
    surprise, event, expected, share = min(found)
    return SamplerReport(repr(primitive), event, expected, share, count, surprise)


def missed(
    right: Primitive[Any, Any], wrong: Primitive[Any, Any], value: Any, *, draws: int = DRAWS
) -> float:
    """Bound the probability that a sampler of `wrong` passes for one of `right` in as many draws."""
    count = checks.integer(1, draws=draws)
    tallies = [Tally.of(reading, count) for reading in _readings(right, value)]
    alpha = ALPHA / (2 * sum(len(tally.names) for tally in tallies))
    passed = []
    for tally, other in zip(tallies, _readings(wrong, value), strict=True):
        trials = count * len(list(other.read(right.sample(value, SYSTEM))))
        p, q = tally.chances(tally.reading.law), tally.chances(other.law)
        low, high = stats.binom.ppf(alpha, trials, p), stats.binom.isf(alpha, trials, p)
        passed.append(float(np.min(stats.binom.cdf(high, trials, q) - stats.binom.cdf(low - 1, trials, q))))
    return min(passed)


def count_at_once(primitive: Primitive[Any, Any], value: Any) -> int:
    """Return how many numbers one draw gives that follow one law, independently."""
    each = _alike(primitive, value)
    return 1 if each is None else each.size


def _readings(primitive: Primitive[Any, Any], value: Any) -> Iterator[SamplerReading]:
    each = _alike(primitive, value)
    if each is not None:
        yield from _coordinates(each)
        return
    if isinstance(primitive, UniformOrder) and value > _LONGEST:
        yield from _long_order(value)
        return
    law: dict[Hashable, float] = {}
    for outcome, p in islice(primitive.law(value), LARGEST_LAW + 1):
        law[freeze(outcome)] = law.get(freeze(outcome), 0.0) + float(p)
    if len(law) > LARGEST_LAW:
        raise _too_large(primitive)
    yield SamplerReading("outcome", law, lambda outcome: (freeze(outcome),))
    lengths = {len(outcome) if isinstance(outcome, tuple) else 0 for outcome in law}
    if len(lengths) == 1 and min(lengths) > 1:
        for place in range(min(_COORDINATES, *lengths)):
            yield _coordinate(law, place)


def _coordinate(law: Mapping[Hashable, float], place: int) -> SamplerReading:
    alone: dict[Hashable, float] = {}
    for outcome, p in law.items():
        at = outcome[place]  # type: ignore[index]
        alone[at] = alone.get(at, 0.0) + p
    return SamplerReading(f"coordinate {place}", alone, lambda outcome: (freeze(outcome)[place],))  # type: ignore[index]


class _Alike(NamedTuple):
    """A step that does the same to each of some coordinates: what it adds to one, and how to read it off."""

    size: int
    first: int
    masses: NDArray[np.float64]  # of the numbers from `first` on
    read: Callable[[Any], NDArray[Any]]
    modulus: int = 0


def _alike(primitive: Primitive[Any, Any], value: Any) -> _Alike | None:
    if isinstance(primitive, AddNoise):
        window, truth = (
            primitive.noise.window(),
            np.ravel(value),
        )  # of Python integers where a word is too short
        if len(window) > LARGEST_LAW:
            raise _too_large(primitive)
        masses = np.array([float(primitive.noise.pmf(z)) for z in window])
        return _Alike(truth.size, window[0], masses, lambda outcome: np.ravel(outcome) - truth)
    if isinstance(primitive, Respond) and np.size(value) > 1:
        count, told = primitive.categories, np.ravel(value)
        if count**told.size > LARGEST_LAW:  # else all of them together say more
            masses = np.array([float(p) for _, p in primitive.law(0)])
            return _Alike(told.size, 0, masses, lambda outcome: (np.ravel(outcome) - told) % count, count)
    if isinstance(primitive, Partition) and primitive.blocks**value > LARGEST_LAW:
        masses = np.full(primitive.blocks, 1 / primitive.blocks)
        return _Alike(value, 0, masses, np.array, primitive.blocks)
    return None


def _coordinates(each: _Alike) -> Iterator[SamplerReading]:
    alone: dict[Hashable, float] = dict(enumerate(each.masses.tolist(), start=each.first))
    yield SamplerReading("noise", alone, lambda outcome: each.read(outcome).tolist())
    pairs = each.size // 2
    if not pairs:
        return
    masses, shift = np.convolve(each.masses, each.masses[::-1]), len(each.masses) - 1
    apart: dict[Hashable, float] = {}
    for place, p in enumerate(masses.tolist(), start=-shift):
        left = place % each.modulus if each.modulus else place
        apart[left] = apart.get(left, 0.0) + p

    def differ(outcome: Any) -> list[Hashable]:
        added = each.read(outcome)
        gaps = added[: 2 * pairs : 2] - added[1 : 2 * pairs : 2]
        return (gaps % each.modulus if each.modulus else gaps).tolist()  # type: ignore[no-any-return]

    yield SamplerReading("difference of neighbours", apart, differ)


def _long_order(count: int) -> Iterator[SamplerReading]:
    """Yield what can be said about a uniform order that has too many outcomes to list."""
    alone: dict[Hashable, float] = dict.fromkeys(range(count), 1 / count)
    yield SamplerReading("first", alone, lambda order: order[:1])
    yield SamplerReading("last", alone, lambda order: order[-1:])
    halves: dict[Hashable, float] = {False: 0.5, True: 0.5}
    yield SamplerReading("first above the second", halves, lambda order: (order[0] > order[1],))


def _events(
    outcomes: list[Hashable], chances: NDArray[np.float64], draws: int
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield single outcomes, halves of all of them, and for numbers half-lines and the outside of rings.

    A number that may be missing counts as the lowest.
    """
    order = np.argsort(-chances, kind="stable")
    common = [place for place in order[:_ATOMS] if chances[place] * draws >= _RARE]
    rest = np.ones(len(outcomes), dtype=np.bool_)
    for place in common:
        only = np.zeros(len(outcomes), dtype=np.bool_)
        only[place] = True
        rest[place] = False
        yield f"= {outcomes[place]!r}", only
    yield "is rare", rest
    rank = np.argsort(order)
    for digit in range(max(0, len(outcomes) - 1).bit_length()):
        yield f"has a rank with binary digit {digit}", (rank >> digit & 1).astype(np.bool_)
    known = [outcome for outcome in outcomes if isinstance(outcome, int)]
    if not known or any(outcome is not None for outcome in outcomes if not isinstance(outcome, int)):
        return
    origin = min(known)  # floats could not tell large numbers apart
    numbers = np.array([-1.0 if outcome is None else float(outcome - origin) for outcome in outcomes])  # type: ignore[operator]
    ranked = np.argsort(numbers, kind="stable")
    levels = np.cumsum(chances[ranked])

    def quantile(share: float) -> float:
        return float(numbers[ranked[min(len(ranked) - 1, int(np.searchsorted(levels, share)))]])

    for cut in sorted({quantile(k / _CUTS) for k in range(1, _CUTS)}):
        yield f">= {origin + int(cut)}", numbers >= cut
    middle = quantile(0.5)
    for radius in sorted({abs(quantile(1 - 0.5 ** (k + 1)) - middle) for k in range(_RINGS)} - {0.0}):
        yield f"is {radius:g} or more from {origin + int(middle)}", np.abs(numbers - middle) >= radius


def _too_large(primitive: Primitive[Any, Any]) -> InvalidParameter:
    return InvalidParameter(
        name="primitive",
        rule=f"one with at most {LARGEST_LAW} outcomes",
        got=f"a {type(primitive).__name__} with more",
        hint="Take a smaller input or less noise",
    )
