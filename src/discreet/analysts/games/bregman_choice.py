"""Drawing from a capped distribution exactly, without computing it each time.

An action is proposed uniformly and accepted with probability min(1, c w): accepted ones have exactly the
capped law, one in (actions / density) proposals. Only c depends on all actions. It moves little from round to
round, so an old c with a bound on how far it has moved decides most proposals; the rest wait for a new one,
and the few that floats cannot decide are settled in integers of any precision.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Self

import numpy as np

from discreet.analysts.games.scores import BitRows, LateScores
from discreet.core.fixed import Bools, Integers
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import exp_bounds
from discreet.equilibrium.arrays import NUMPY, Array, Arrays
from discreet.equilibrium.bregman import DOUBT, Floats, exact_level, log_level
from discreet.noise import coins

_BATCH = 4096
_LAW_BITS = 160


@dataclass(frozen=True, slots=True)
class Level:
    """A known log c, and how far the true one may lie from it."""

    log: float
    slack: float


@dataclass(frozen=True, slots=True)
class Masses:
    """Whole numbers below and above the weight of each kind of group, and which group is of which kind."""

    low: list[int]
    high: list[int]
    counts: list[int]
    kind_of: Integers


class Standing(ABC):
    """Whole scores of all actions, in groups that are capped as one. Never changes.

    A group weighs the sum of exp(rate * score) over its actions.
    """

    __slots__ = ("level", "moved", "shape", "sums")

    def __init__(self, scores: Integers) -> None:
        self.shape: tuple[int, ...] = scores.shape
        self.sums = LateScores(np.array(scores).reshape(-1))
        self.level: Level | None = None  # remembered from an earlier round: a shortcut, not part of the value
        self.moved = 0  # how far any score may have moved since

    def facing(self, bits: BitRows, drift: Integers) -> Self:
        """Return the same scores, to be moved by somebody whose moves are the rows of some bits."""
        return self._with(LateScores(self.scores.reshape(-1), bits=bits, drift=drift))

    def after(self, row: int, weight: int, *, most: int) -> Self:
        """Return the scores after one more move, in which none changed by more than `most`."""
        made = self._with(self.sums.after(row, weight))
        made.level, made.moved = self.level, self.moved + most
        return made

    def _with(self, sums: LateScores) -> Self:
        made = object.__new__(type(self))
        made.shape, made.sums, made.level, made.moved = self.shape, sums, None, 0
        return made

    @property
    def scores(self) -> Integers:
        """All scores, on the host."""
        found = self.sums.arrays.fetch(self.sums.whole()).reshape(self.shape)
        found.flags.writeable = False
        return found

    @property
    @abstractmethod
    def groups(self) -> int:
        """How many groups there are."""

    @abstractmethod
    def logs(self, rate: float) -> Iterator[Array]:
        """Yield the logarithms of the weights of all groups, where they are kept, right up to DOUBT."""

    @abstractmethod
    def logs_of(self, rate: float, groups: Integers) -> Floats:
        """Return those of some groups, on the host."""

    @abstractmethod
    def members(self, group: int) -> list[int]:
        """Return the scores of a group's actions."""

    @abstractmethod
    def kinds(self) -> tuple[Integers, Integers]:
        """Return one group of each kind, and the kind of each group; groups of a kind weigh the same."""

    def masses(self, rate: Fraction, bits: int) -> Masses:
        """Return bounds on the weights of all groups, in one unit."""
        groups, kind_of = self.kinds()
        top, known = int(np.abs(self.scores).max()), dict[int, tuple[int, int]]()
        low, high = [], []
        for group in groups.tolist():
            members = self.members(group)
            for score in members:
                if score not in known:
                    known[score] = exp_bounds(rate * (top - score), bits)
            low.append(sum(known[score][0] for score in members))
            high.append(sum(known[score][1] for score in members))
        return Masses(low, high, np.bincount(kind_of).tolist(), kind_of)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Standing):
            return NotImplemented
        return type(self) is type(other) and bool(np.array_equal(self.scores, other.scores))

    def __hash__(self) -> int:
        return hash((type(self), self.shape, self.scores.tobytes()))

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.groups} groups>"  # the scores are private


class Sides(Standing):
    """Every query has two actions, itself and its complement, with opposite scores; each is a group."""

    __slots__ = ()

    @property
    def groups(self) -> int:
        """Two for each query: first all queries, then all complements."""
        return 2 * math.prod(self.shape)

    def logs(self, rate: float) -> Iterator[Array]:
        """Yield rate * score, in no particular order."""
        arrays, scores = self.sums.arrays, self.sums.whole()
        for part in arrays.parts(len(scores)):
            logs = arrays.real(scores[part]) * rate
            yield logs
            yield -logs

    def logs_of(self, rate: float, groups: Integers) -> Floats:
        """Return rate * score."""
        return np.asarray(self._scores_of(groups) * rate)

    def members(self, group: int) -> list[int]:
        """Return the one score."""
        return [int(self._scores_of(np.array([group]))[0])]

    def _scores_of(self, groups: Integers) -> Integers:
        size = math.prod(self.shape)
        return np.asarray(self.sums.at(groups % size) * np.where(groups < size, 1, -1))

    def kinds(self) -> tuple[Integers, Integers]:
        """Return one group of each score."""
        _, first, kind_of = np.unique(
            np.concatenate([self.scores, -self.scores]), return_index=True, return_inverse=True
        )
        return first, kind_of


class Teams(Standing):
    """All queries of one analyst, and their complements, are one group: one row of scores each."""

    __slots__ = ()

    @property
    def groups(self) -> int:
        """One for each analyst."""
        return self.shape[0]

    def logs(self, rate: float) -> Iterator[Array]:
        """Yield the logarithm of the sum over both sides of every query."""
        arrays, scores = self.sums.arrays, self.sums.whole().reshape(self.shape)
        for part in arrays.parts(*self.shape):
            yield _team_logs(scores[part], rate, arrays)

    def logs_of(self, rate: float, groups: Integers) -> Floats:
        """Return the logarithm of the sum over both sides of every query."""
        return np.asarray(_team_logs(self._scores_of(groups), rate, NUMPY))

    def members(self, group: int) -> list[int]:
        """Return both sides of every query: first all queries, then all complements."""
        own: list[int] = self._scores_of(np.array([group]))[0].tolist()
        return own + [-score for score in own]

    def _scores_of(self, groups: Integers) -> Integers:
        places = groups[:, None] * self.shape[1] + np.arange(self.shape[1])
        return self.sums.at(places.reshape(-1)).reshape(places.shape)

    def kinds(self) -> tuple[Integers, Integers]:
        """Return all groups: no two are taken to weigh the same."""
        return np.arange(self.groups), np.arange(self.groups)


def _team_logs(scores: Array, rate: float, arrays: Arrays) -> Array:
    """Return the logarithm of the sum over both sides of each row's scores."""
    sizes = arrays.real(abs(scores)) * rate
    top = arrays.module.amax(sizes, 1)[:, None]
    total = (arrays.module.exp(sizes - top) + arrays.module.exp(-sizes - top)).sum(1)
    return top[:, 0] + arrays.module.log(total)


@dataclass(frozen=True, slots=True)
class CappedChoice(Primitive[Standing, int]):
    """Choose a group with the capped projection of the groups' weights.

    Privacy: where the difference of two scores moves by at most `sensitivity`, the log-likelihood ratio of
    the choice has range at most rate * sensitivity, as without the cap.
    """

    rate: Fraction
    density: int
    sensitivity: Fraction

    def sample(self, value: Standing, rng: Rng) -> int:
        """Propose uniformly until one is accepted."""
        if value.level is None:
            self._refresh(value)
        batch = min(_BATCH, 2 * -(-value.groups // self.density) + 2)
        rate = float(self.rate)
        while True:
            places = coins.uniform_below(value.groups, batch, rng)
            darts = rng.words(batch) >> np.uint64(2)
            sure, possible = self._judge(value, value.logs_of(rate, places), darts.astype(np.float64))
            for k in np.flatnonzero(possible).tolist():
                if sure[k] or self._settle(value, int(places[k]), int(darts[k]), rng):
                    return int(places[k])

    def _judge(self, value: Standing, logs: Floats, darts: Floats) -> tuple[Bools, Bools]:
        """Tell which proposals are accepted for sure, and which may be, given 62 bits of each dart."""
        level = value.level or Level(0.0, math.inf)
        slack = level.slack + value.moved * float(self.rate) * (1 + DOUBT) + DOUBT
        low, high = logs + (level.log - slack), logs + (level.log + slack)
        sure = (low >= 0) | (darts + 1 <= np.exp(np.minimum(low, 0.0)) * 2.0**62)
        possible = darts <= np.exp(np.minimum(high, 0.0)) * (2.0**62 * (1 + DOUBT))
        return sure, possible

    def _settle(self, value: Standing, place: int, dart: int, rng: Rng) -> bool:
        """Decide one proposal that the known level leaves open."""
        if value.moved:
            self._refresh(value)
        logs = value.logs_of(float(self.rate), np.array([place]))
        sure, possible = self._judge(value, logs, np.array([float(dart)]))
        if sure[0] or not possible[0]:
            return bool(sure[0])
        known, bits = dart, 62
        while True:
            known, bits = known << 64 | rng.bits(64), bits + 64
            low, high = self._chance(value, place, 2 * bits)
            if known + 1 <= low * (1 << bits):
                return True
            if known >= high * (1 << bits):
                return False

    def _refresh(self, value: Standing) -> None:
        """Compute the level of these very scores, upwards from a bound that is known."""
        rate, start, reach = float(self.rate), None, math.inf
        if value.level is not None:
            slack = value.level.slack + value.moved * rate * (1 + DOUBT) + DOUBT
            start, reach = value.level.log - slack, 2 * slack
        logs, density = partial(value.logs, rate), float(self.density)
        value.level = Level(*log_level(logs, density, start=start, reach=reach, arrays=value.sums.arrays))
        value.moved = 0

    def _chance(self, value: Standing, place: int, bits: int) -> tuple[Fraction, Fraction]:
        """Return bounds on min(1, c w) of one group."""
        masses = value.masses(self.rate, bits)
        if 0 in masses.low:  # not enough bits to see the lightest one
            return Fraction(0), Fraction(1)
        # c falls as weights grow.
        least = exact_level(masses.high, masses.counts, self.density)
        most = exact_level(masses.low, masses.counts, self.density)
        kind = masses.kind_of[place]
        return min(Fraction(1), least * masses.low[kind]), min(Fraction(1), most * masses.high[kind])

    def law(self, value: Standing) -> Iterator[tuple[int, Fraction]]:
        """Yield every group with its probability."""
        bits = _LAW_BITS
        while 0 in value.masses(self.rate, bits).low:
            bits *= 2
        masses = value.masses(self.rate, bits + _LAW_BITS)
        middle = [a + b for a, b in zip(masses.low, masses.high, strict=True)]
        level = exact_level(middle, masses.counts, self.density)
        for group, kind in enumerate(masses.kind_of.tolist()):
            yield group, min(Fraction(1), level * middle[kind]) / self.density

    def distance(self, value: Standing, other: Standing) -> Fraction:
        """Return the spread of the change: the largest of any action's score minus the smallest."""
        moved = [
            b - a
            for group in range(value.groups)
            for a, b in zip(value.members(group), other.members(group), strict=True)
        ]
        return Fraction(max(moved) - min(moved))
