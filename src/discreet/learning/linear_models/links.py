"""Links: which mean a linear score foretells, and how a row pulls at it, as public tables of whole numbers.

Tables are computed once, from public numbers. What a row adds to a measurement is looked up in them, so it
depends on this row and on released weights alone: not on how a library rounds, nor on the rows around it.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers, fix_array

PARTS = 1 << 10
"""Scores and targets are whole numbers of this part of one."""

REACH = 8 * PARTS
"""Scores beyond this count as the nearest that is not."""

_HALF = Fraction(1, 2)


class Link(enum.Enum):
    """What the score of a row says of its target. A closed set: the tables below are all there are."""

    LOGISTIC = "logistic"
    """The log odds of label 1. Residuals are never cut, so weights mean what they always do."""

    CUT_LOGISTIC = "cut logistic"
    """As `LOGISTIC`, with residuals that are cut off at one half: half the noise, and weights that are surer
    than rows are. Probabilities are told apart from them."""

    MARGIN = "margin"
    """The side a label is on: the smoothed hinge of a linear support vector machine."""

    LINEAR = "linear"
    """The target itself, between -1 and 1; residuals beyond `cut` are cut off (Huber)."""

    POISSON = "poisson"
    """The logarithm of the mean of a count up to `most`; residuals beyond `cut` are cut off."""

    @property
    def labels(self) -> bool:
        """Whether targets are labels 0 and 1."""
        return self in (Link.LOGISTIC, Link.CUT_LOGISTIC, Link.MARGIN)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What rows add, by score.

    Attributes
    ----------
    cut
        The largest residual, in the units of the target.
    steepest
        The largest curvature of one row.
    pull, bend
        Into how many whole numbers residuals and curvatures are cut.
    means, bends
        Means in parts of one, and curvatures in whole numbers, at each score. Nobody can write into them.
    """

    link: Link
    cut: Fraction
    steepest: Fraction
    pull: int
    bend: int
    means: Integers
    bends: Integers

    @property
    def worst(self) -> int:
        """The square of the largest residual, in whole numbers."""
        return self.pull**2

    def pulls(self, scores: Integers, targets: Integers) -> Integers:
        """Return the residual of each row: a whole number of at most `pull`."""
        if self.link is Link.MARGIN:
            return np.asarray(_side(targets) * self.means[_side(targets) * scores + REACH])
        off = (targets - self.means[scores + REACH]).astype(np.float64)
        units = np.rint(off * float(self.pull / (PARTS * self.cut)))  # one product, which rounds correctly
        return np.clip(units, -self.pull, self.pull).astype(np.int64)

    def curves(self, scores: Integers, targets: Integers) -> Integers:
        """Return how fast the residual of each row falls with its score: from 0 to `bend`."""
        if self.link is Link.MARGIN:
            return np.asarray(self.bends[_side(targets) * scores + REACH])
        uncut = np.abs(self.pulls(scores, targets)) < self.pull
        return np.where(uncut | (self.link is Link.LOGISTIC), self.bends[scores + REACH], 0)

    def judge(self, scores: Integers, targets: Integers) -> Integers:
        """Return how badly each row is foretold, from 0 to `worst`: wrong labels, or squared residuals."""
        if self.link.labels:
            return np.where((scores > 0) == (targets > 0), 0, self.worst)
        return self.pulls(scores, targets) ** 2


_AT = np.arange(-REACH, REACH + 1) / PARTS


def find_means(link: Link, most: Fraction) -> Floats:
    """Return the mean at each score of a table; of `Link.MARGIN`, what is left of a row's pull."""
    if link is Link.MARGIN:  # half of a row's pull is gone at margin one half, all of it at margin one
        return np.clip(1 - _AT, 0, 1)
    if link in (Link.LOGISTIC, Link.CUT_LOGISTIC):
        return np.asarray(1 / (1 + np.exp(-_AT)))
    return _AT if link is Link.LINEAR else np.minimum(np.exp(_AT), float(most))


@lru_cache(maxsize=64)
def make_tables(link: Link, cut: Fraction, most: Fraction, resolution: int) -> Tables:
    """Return the tables of a link; `most` is the largest count that Poisson regression is told of."""
    pull, bend = max(1, resolution // 2), max(1, resolution // 4)
    at, mean = _AT, find_means(link, most)
    if link is Link.MARGIN:
        means = np.rint(mean * pull).astype(np.int64)
        bends = ((at >= 0) & (at <= 1)) * np.int64(bend)
        return Tables(link, Fraction(1), Fraction(1), pull, bend, fix_array(means), fix_array(bends))
    if link in (Link.LOGISTIC, Link.CUT_LOGISTIC):
        curve, steepest = mean * (1 - mean), Fraction(1, 4)
    elif link is Link.LINEAR:
        curve, steepest = np.ones(len(at)), Fraction(1)
    else:
        curve, steepest = mean, most
    bends = np.minimum(np.rint(curve / float(steepest) * bend), bend).astype(np.int64)
    means = np.rint(mean * PARTS).astype(np.int64)
    return Tables(link, cut, steepest, pull, bend, fix_array(means), fix_array(bends))


def choose_cut(link: Link, cut: Fraction | None, most: Fraction) -> Fraction:
    """Return where residuals are cut off: nowhere for labels, else at a part of the range, or as was said."""
    if link.labels:
        if cut is not None:
            raise InvalidParameter(
                name="cut", rule="left out for labels: their residuals are at most one", value=cut
            )
        return _HALF if link is Link.CUT_LOGISTIC else Fraction(1)
    if cut is None:
        return _HALF if link is Link.LINEAR else most / 2
    if cut > (2 if link is Link.LINEAR else most):  # residuals would be cut into parts too large to tell any
        raise InvalidParameter(name="cut", rule="at most the range of the target", got="a larger one")
    return cut


def start_from(link: Link, slopes: Floats, means: Floats, most: float) -> Floats:
    """Return weights to start from: what a straight line through the moments says of the link's score.

    Parameters
    ----------
    slopes
        The weights of the line, that of the constant first, for targets between -1 and 1.
    means
        The mean of each column, and of the target at the end.
    most
        The count that a target of one stands for.
    """
    if link.labels:
        return 2 * slopes
    if link is Link.LINEAR:
        return slopes
    level = max(float(means[-1]) * most, most / 1000)
    steep = slopes * most / level
    steep[0] = math.log(level) - float(steep[1:] @ means[1:-1])
    return steep


def _side(labels: Integers) -> Integers:
    return np.where(labels > 0, 1, -1)
