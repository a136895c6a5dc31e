"""The means of many numbers at once, from a few coordinates a person."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np
from scipy import stats

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.fixed import Floats, Integers, fix_array
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, below, up
from discreet.local.laws.coordinates import CoordinatesKernel, Vectors
from discreet.local.laws.domains import Span
from discreet.local.laws.wire import refuse
from discreet.local.means.base import STEPS, bound_mean, find_farthest, list_estimates
from discreet.local.steps import Payload, Places, draw_many, from_payload, to_payload
from discreet.local.surveys import LocalSurvey, Sent
from discreet.noise import coins


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeansEstimate:
    """Estimated means of all coordinates, and how far they may be off.

    Attributes
    ----------
    survey
        The protocol, with the number of people who reported.
    values, standard_errors, counts
        For each coordinate its mean, the standard deviation of that, and how many reports are about it.
    """

    survey: ManyMeans
    values: Floats
    standard_errors: Floats
    counts: Integers

    @property
    def people(self) -> int:
        """How many reports there were."""
        return self.survey.people

    def error(self, beta: checks.Number) -> float:
        """Return what no mean is off by, all at once, but for a probability beta."""
        risk = checks.probability(beta=beta) / self.survey.dimensions
        fewest = (self.counts.min(), self.counts[self.counts > 0].min())  # one may stray further than none
        return max(self.survey.bound(int(each), risk) for each in fewest)

    def intervals(self, confidence: checks.Number) -> tuple[Floats, Floats]:
        """Return (low, high): all true means lie there at once, with that probability."""
        off = self.error(1 - checks.probability(confidence=confidence))
        low, high = float(self.survey.lower), float(self.survey.upper)
        return np.clip(self.values - off, low, high), np.clip(self.values + off, low, high)

    def __repr__(self) -> str:
        people = f"{self.people} reports, each {self.survey.words}"
        return f"<{len(self.values)} means ± {self.error(0.05):.4g} (95 %, all at once), {people}>"


@frozen
class ManyMeans(LocalSurvey):
    """Report a few coordinates of a vector, drawn without a look at it: the means of all of them follow.

    Privacy: (epsilon, 0) for each report, towards everybody, for the whole vector. [WXYZ19] Section IV
    Accuracy: that of `HybridMean` from people * sampled / dimensions people with epsilon / sampled each, and
    of a sample of so many.
    Time: O(people * sampled).

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    lower, upper
        Public bounds of every coordinate. A number outside counts as the bound, what is no number as the
        middle.
    dimensions
        How many coordinates there are.
    steps
        How many steps the range has; numbers are rounded to the nearest. An even number.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.

    Examples
    --------
    >>> survey = ManyMeans(epsilon=4, lower=0, upper=24, dimensions=7, people=100_000)
    >>> survey.sampled, round(survey.standard_error, 2)
    (2, 0.09)
    """

    lower: Exact = public(checks.exact)
    upper: Exact = public(checks.exact)
    dimensions: int = public(checks.integer, 1)
    steps: int = public(checks.integer, 2, default=STEPS)
    kind: ClassVar[str] = "many-means"

    @property
    def values(self) -> Vectors:
        """Vectors on the grid."""
        return Vectors(Span(self.lower, self.upper, self.steps), self.dimensions)

    @property
    def coordinates(self) -> CoordinatesKernel:
        """The exact table of probabilities."""
        return cast("CoordinatesKernel", self.kernel)

    @property
    def sampled(self) -> int:
        """How many coordinates a report is about: the number that makes the largest variance least."""
        return self.coordinates.sampled

    @property
    def standard_error(self) -> float:
        """The largest standard deviation of a mean, where all coordinates have as many reports."""
        variance = up(self.coordinates.worst_variance * self.values.span.half**2)
        return above(math.sqrt(variance / self.people))

    def error(self, beta: checks.Number) -> float:
        """Return what no mean is off by, all at once, but for a probability beta, whatever the data are.

        Raises
        ------
        NoBound
            When some coordinate may have no report.
        """
        risk = checks.probability(beta=beta) / (2 * self.dimensions)
        share = self.sampled / self.dimensions
        fewest = int(stats.binom.ppf(below(float(risk)), self.people, share)) if share < 1 else self.people
        if fewest < 1:
            raise NoBound(
                what="ManyMeans",
                why=f"of {self.people} people perhaps nobody reports one of {self.dimensions} coordinates",
                way_out="Ask more people, or about fewer coordinates",
            )
        return self.bound(fewest, risk)

    def bound(self, people: int, risk: Fraction) -> float:
        """Return what the mean of a coordinate is off by that so many report about, chosen at random."""
        kernel, half = self.coordinates, self.values.span.half
        if not people:
            return up(half)  # the middle stands for it
        reach = up(find_farthest(kernel.part) * half)
        others = Fraction(int(self.sampled < self.dimensions))
        variance = up(kernel.spread(others) * half**2)
        off = bound_mean(reach, variance, people, below(float(risk)))
        return above(off + up(half / self.steps), steps=8)

    def estimate(self, reports: Sent) -> MeansEstimate:
        """Estimate all means, without bias but for the rounding to the grid.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        payload, kernel = self.read_reports(reports), self.coordinates
        places, codes = np.divmod(_split(kernel, payload), kernel.part.size)
        scores, which = list_estimates(kernel.part)[codes].reshape(-1), places.reshape(-1)
        counts = np.bincount(which, minlength=self.dimensions)
        many, half = np.maximum(counts, 1), float(self.values.span.half)
        means = np.bincount(which, weights=scores, minlength=self.dimensions) / many
        squares = np.bincount(which, weights=scores**2, minlength=self.dimensions) / many
        spread = np.sqrt(np.maximum(squares - means**2, 0) / many)
        worst = math.sqrt(up(kernel.part.worst_variance))
        spread = np.where(counts > 1, spread, worst) * half
        together = replace(self, people=len(payload))
        values = means * half + float(self.values.span.middle)
        return MeansEstimate(together, fix_array(values), fix_array(spread), fix_array(counts))

    def _check_payload(self, payload: Payload) -> None:
        entries = _split(self.coordinates, payload)
        places = entries // self.coordinates.part.size
        if entries.max() >= self.coordinates.entries or np.any(np.diff(places, axis=1) <= 0):
            raise refuse("its payload is no report of this survey")


def _split(kernel: CoordinatesKernel, payload: Payload) -> Integers:
    """Return the entries of reports, a row each."""
    rows = payload.reshape(-1, kernel.stride)
    return from_payload(rows).astype(np.int64).reshape(-1, kernel.sampled)


@draw_many.register
def _draw(kernel: CoordinatesKernel, values: Places, rng: Rng) -> Payload:
    """Draw uniform sets of coordinates as `choose_subset` does, and then a report about each."""
    people = np.arange(len(values))
    chosen = np.full((len(values), kernel.sampled), -1, dtype=np.int64)
    for column, last in enumerate(range(kernel.dimensions - kernel.sampled, kernel.dimensions)):
        member = coins.uniform_below(last + 1, len(values), rng)
        taken = (chosen == member[:, None]).any(axis=1)
        chosen[:, column] = np.where(taken, last, member)
    chosen.sort(axis=1)
    columns = []
    for coordinates in chosen.T:
        codes = from_payload(draw_many(kernel.part, values[people, coordinates], rng)).astype(np.int64)
        columns.append(to_payload(coordinates * kernel.part.size + codes, kernel.stride))
    return np.concatenate(columns, axis=1)


def _tiny() -> Iterator[Tiny]:
    for dimensions, epsilon in ((1, Fraction(1)), (2, Fraction(1, 2)), (2, Fraction(6))):
        survey = ManyMeans(epsilon=epsilon, lower=0, upper=2, steps=2, dimensions=dimensions)
        vectors = list(itertools.product((0, 1, 2), repeat=dimensions))
        yield Tiny(survey, list(itertools.permutations(vectors, 2)))


CARD = Card(
    title="The means of many numbers from a few coordinates a person",
    theorem="(epsilon, 0) for each report towards everybody; unbiased means on a grid",
    reference="[WXYZ19] Section IV",
    example=lambda: (ManyMeans(epsilon=1, lower=0, upper=100, dimensions=3, people=1000), (37, 2, 80)),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
