"""Linear models with a link, by output perturbation: weights that a ridge holds in place, and noise on them.

What a solver finds is not believed. The slope of the objective at the weights it found is computed exactly,
in whole numbers, and they are taken once it is next to none: then no two neighbours' weights are further
apart than the ridge allows, however the solver came to them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.fixed import Array, Floats, Integers, fix_array
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.core.search import narrow
from discreet.learning.budgets import Measurement
from discreet.learning.linear_models.linear_scores import LinearScores
from discreet.learning.linear_models.linked_learner import JUDGED, MeasuredLearner, list_example, list_pairs
from discreet.learning.linear_models.links import PARTS, REACH, Link, find_means
from discreet.noise import DiscreteGaussian
from discreet.query_release.linear.joint_noise import root_up

_MANY, _NUMBERS = 1 << 24, 1 << 28  # rows, and numbers in them, that are always brought to an end
_FINEST = 36  # log2 of the finest part of one that weights are whole numbers of while a minimum is sought
_WEIGHTIEST = 1 << 13  # no minimum of so many rows is further away than that
_FINEST_PARTS = 1 << 30
_UNIT = 1 << 20  # means are, in the table; and so is where a score lies between two entries
_NEAR = 64  # a slope below this part of what the longest row adds to one is next to none, on a fine grid
_CHUNK = 1 << 8  # rows whose pulls are added up at a time, below 2**63
_WIDEST, _TURNS, _HALVINGS = 1 << 10, 10_000, 4
_SHORTEST, _LONGEST = 2.0**-40, 2.0**40  # how often a step is taken at least, and at most
_FARTHEST = 64.0  # where weights are clamped while they are judged


@frozen
class NoisyMinimum(MeasuredLearner):
    """Fit a linear model with a link by a ridge, and add noise to its weights: output perturbation.

    Privacy: (epsilon, delta). A row pulls no harder than the largest residual times its length, so weights
    with the smallest loss move by that over the ridge at most, and are found to within `near` of it.
    Accuracy: error(beta) bounds how far any weight is from where the ridge has it. No standard errors.
    Time: O(rows size^2) a step of a solver; made for up to 2**24 rows of 2**28 numbers in all.

    Parameters
    ----------
    link
        What the linear score foretells: a label or a number, no count.
    size
        How many columns there are, with the constant.
    length
        The largest squared length of a row, in squares of one.
    epsilon, delta
        The budget of one release; delta must be positive.
    neighbours
        `AddRemove` or `Replace`.
    ridge
        The ridge on all weights, that of the constant among them, in rows; 1 at least, and no more than whole
        numbers can tell. Noise is in proportion to one over it, and weights are drawn towards 0 as hard.
    parts
        Weights are rounded to whole numbers of 1 / parts. Only audits want them coarse.
    most, cut, resolution, judged
        As of `NoisyNewton`.

    Notes
    -----
    Data are a pair (rows, targets) of whole-number arrays, as of `NoisyNewton`.

    Examples
    --------
    >>> learner = NoisyMinimum(
    ...     link=Link.CUT_LOGISTIC,
    ...     size=3,
    ...     length=3,
    ...     ridge=100,
    ...     epsilon=1,
    ...     delta=1e-9,
    ...     neighbours=AddRemove("person"),
    ... )
    >>> round(learner.error(0.05), 2)
    0.12
    """

    ridge: Exact = public(checks.positive)
    parts: int = public(checks.integer, 1, _FINEST_PARTS, default=1 << 20)

    def _complete(self) -> None:
        if self.link is Link.POISSON:
            raise InvalidParameter(
                name="link",
                rule="that of a label or a number",
                value=self.link,
                hint="NoisyNewton fits counts",
            )
        if self.size > _WIDEST:
            raise InvalidParameter(name="size", rule=f"at most {_WIDEST} columns", value=self.size)
        if self.ridge < 1:
            raise InvalidParameter(name="ridge", rule="at least 1 row", value=self.ridge)
        MeasuredLearner._complete(self)  # noqa: SLF001 - its own base
        # Or the slope of the ridge alone would leave out what is next to none, from one weight to the next.
        most = math.isqrt(math.floor((self.cut * self.fine / _NEAR) ** 2 * self.length / self.size))
        if self.ridge > most:
            raise InvalidParameter(name="ridge", rule=f"at most {most} rows", value=self.ridge)

    def _measurements(self) -> tuple[Measurement, ...]:
        rows = 2 if isinstance(self.neighbours, Replace) else 1
        # Both are off the smallest by `near` of a row's pull at most, and each weight by half of a part.
        square = (self.cut * (rows + 2 * self.near) / self.ridge * self.parts) ** 2 * self.length
        moved = root_up(math.ceil(square)) + root_up(self.size)
        rest = 1 - self.judged * JUDGED
        made = [Measurement(math.ceil(moved**2), rest)]
        if self.judged:
            made.append(Measurement(2 * self.tables.worst**2, JUDGED))
        return tuple(made)

    @property
    def fine(self) -> int:
        """Into how many parts one is cut while a minimum is sought: no score leaves 64 bits."""
        across = math.isqrt(self.length * self.size) + 1
        room = (1 << 62) // (_WEIGHTIEST * self.resolution * across)
        return 1 << min(_FINEST, room.bit_length() - 1)

    @property
    def near(self) -> Fraction:
        """How steep it may be where weights are taken, as a part of what the longest row adds to a slope.

        What rounding the weights of so many rows leaves is in it, so that no rows keep a solver from its end.
        """
        many = min(_MANY, _NUMBERS // self.size)
        bent = many * self.tables.steepest * root_up(self.length * self.size)
        return Fraction(1, _NEAR) + (bent + self.ridge * root_up(self.size)) / (2 * self.fine * self.cut)

    def error(self, beta: checks.Number) -> float:
        """Bound how far any weight is from where rows and ridge have it, but for a probability beta."""
        reach = DiscreteGaussian(self.noises[0].variance).reach(each_of(self.size, beta))
        off = self.cut * root_up(self.length) * self.near / self.ridge
        return up((reach + Fraction(1, 2)) / self.parts + off)

    def _draw(self, data: Any, rng: Rng) -> LinearScores:
        rows, targets = self._read(data)
        noise, *rest = self.noises
        found = _Objective(self, rows, targets).minimise()
        fine, parts = self.fine, self.parts
        units = np.array([(2 * each * parts + fine) // (2 * fine) for each in found.tolist()], dtype=np.int64)
        weights = np.asarray(rng.perform(noise.step, units), dtype=np.float64) / self.parts
        near = np.clip(weights, -_FARTHEST, _FARTHEST)
        return self._tell(weights, self._judge(rows, targets, near, iter(rest), rng))


class _Objective:
    """The loss of all rows and half the ridge times the squared weights: how steep it is, exactly.

    Between the entries of a table residuals are interpolated and rounded. They never rise with the score, so
    they are slopes of a convex function, and the ridge holds for it as it stands, rounding and all.
    """

    def __init__(self, public: NoisyMinimum, rows: Array, targets: Integers) -> None:
        self._public, self._rows, self._targets = public, rows.astype(np.int64), targets
        self._means = _list_means(public.link)
        self._sides = (
            np.where(targets > 0, 1, -1)
            if public.link is Link.MARGIN
            else np.ones(len(targets), dtype=np.int64)
        )
        self._cut, self._fine = math.floor(public.cut * _UNIT**2), public.fine

    def minimise(self) -> Integers:
        """Return weights in parts of 1 / fine where the slope is next to none.

        By Newton steps; where one does not lead to half the slope, by the lowest point in its direction.
        """
        scale, ridge = (
            self._public.ridge.denominator * _UNIT**2 * self._public.resolution,
            float(self._public.ridge),
        )
        most = (self._public.cut * self._public.near * scale) ** 2 * self._public.length
        weights = np.zeros(self._public.size, dtype=np.int64)
        slope, square = self._measure(weights)
        for _ in range(_TURNS):
            if square <= most:
                return weights
            steep = np.array([float(Fraction(each, scale)) for each in slope])
            move = np.linalg.solve(self._bend(weights) + ridge * np.eye(len(steep)), steep)
            ahead = self._step(weights, move)
            there, less = self._measure(ahead)
            if 4 * less >= square:
                ahead = self._step(weights, move * self._find_lowest(weights, move))
                there, less = self._measure(ahead)
            weights, slope, square = ahead, there, less
        raise InternalError("no weights with next to no slope were found")

    def _find_lowest(self, weights: Integers, move: Floats) -> float:
        """Return about how many times a move leads to where the slope along it changes its sign."""

        def is_beyond(times: float) -> bool:
            slope, _ = self._measure(self._step(weights, move * times))
            along: float = sum(a * b for a, b in zip(slope, move.tolist(), strict=True))
            return along <= 0

        high = 1.0
        if is_beyond(high):
            while high > _SHORTEST and is_beyond(high / 2):
                high /= 2
        else:
            while high < _LONGEST and not is_beyond(high):
                high *= 2
        return narrow(is_beyond, high / 2, high, steps=_HALVINGS)[0]

    def _step(self, weights: Integers, move: Floats) -> Integers:
        farthest = _WEIGHTIEST * self._fine
        return np.clip(weights - np.rint(move * self._fine), -farthest, farthest).astype(np.int64)

    def _measure(self, weights: Integers) -> tuple[list[int], int]:
        """Return the slope, in whole numbers, and its squared length."""
        pulls = [0] * len(weights)
        for start in range(0, len(self._rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            added = self._pull(self._rows[part] @ weights, part) @ self._rows[part]
            pulls = [before + each for before, each in zip(pulls, added.tolist(), strict=True)]
        top, bottom = self._public.ridge.as_integer_ratio()
        held = top * self._public.resolution * (_UNIT**2 // self._fine)
        slope = [held * each - bottom * pull for each, pull in zip(weights.tolist(), pulls, strict=True)]
        return slope, sum(each * each for each in slope)

    def _find_entries(self, scores: Integers, part: slice) -> tuple[Integers, Integers]:
        """Return the entry of the table below each score, and how far it is to the next, in units."""
        one = self._public.resolution * self._fine // PARTS
        placed = np.clip(self._sides[part] * scores, -REACH * one, REACH * one) + REACH * one
        entry = np.minimum(placed // one, 2 * REACH - 1)
        return entry, (placed - entry * one) * _UNIT // one

    def _find_residuals(self, entry: Integers, between: Integers, part: slice) -> Integers:
        """Return the residual of each row before it is cut off."""
        mean = self._means[entry] * _UNIT + (self._means[entry + 1] - self._means[entry]) * between
        if self._public.link is Link.MARGIN:
            return np.asarray(self._sides[part] * mean)
        return np.asarray(self._targets[part] * (_UNIT**2 // PARTS) - mean)

    def _pull(self, scores: Integers, part: slice) -> Integers:
        """Return the residual of each row, a whole number that never rises with its score."""
        found = self._find_residuals(*self._find_entries(scores, part), part)
        return np.clip(found, -self._cut, self._cut)

    def _bend(self, weights: Integers) -> Floats:
        """Return the curvature of the loss, in floats: only how fast a minimum is found depends on it.

        It is that of the table, cut off and interpolated as it is: where rows are many, another one that is
        nearly the same leads nowhere.
        """
        whole = slice(None)
        entry, between = self._find_entries(self._rows @ weights, whole)
        bent = np.abs(self._means[entry + 1] - self._means[entry]) * (PARTS / _UNIT)
        bent[np.abs(self._find_residuals(entry, between, whole)) >= self._cut] = 0
        rows = self._rows / self._public.resolution
        return np.asarray(rows.T @ (bent[:, None] * rows))


@lru_cache(maxsize=8)
def _list_means(link: Link) -> Integers:
    return fix_array(np.rint(find_means(link, Fraction(1)) * _UNIT).astype(np.int64))


def _tiny() -> Iterator[Tiny]:
    plain: dict[str, Any] = {"delta": Fraction(1, 100), "resolution": 1, "judged": False, "ridge": 1}
    rows = {
        Link.LINEAR: (16, [(1, PARTS), (1, -PARTS), (-1, PARTS), (5, 0)]),
        Link.CUT_LOGISTIC: (4, [(1, PARTS), (1, 0), (-1, 0), (1, 7)]),
        Link.MARGIN: (4, [(1, PARTS), (-1, PARTS)]),
    }
    for link, (parts, listed) in rows.items():
        for neighbours in (AddRemove("row"), Replace("row")):
            one = NoisyMinimum(
                link=link, size=1, length=1, epsilon=2, neighbours=neighbours, parts=parts, **plain
            )
            # Where parts are coarse, rounding them is what is paid for.
            yield Tiny(one, list_pairs(neighbours, listed, 2), tight=parts > 4)


def _example() -> tuple[NoisyMinimum, Any]:
    mechanism = NoisyMinimum(
        link=Link.CUT_LOGISTIC,
        size=2,
        length=2,
        ridge=20,
        epsilon=1,
        delta=1e-9,
        neighbours=AddRemove("person"),
    )
    return mechanism, list_example()


CARD = Card(
    title="Linear models with a link by output perturbation",
    theorem="(epsilon, delta)-differential privacy of the weights; error from where the ridge has them",
    reference="[CMS11]; [BW18]; [CKS20]",
    example=_example,
    tiny=_tiny,
)
