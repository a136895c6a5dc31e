"""Marginals of many attributes from one bit a person: parities are told, conjunctions are derived."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from scipy import stats

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.fixed import fix_array
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, below, up
from discreet.local.laws.parities import BitRecords, ParityKernel
from discreet.local.statistics.marginal_estimate import MarginalEstimate, bound_cells, list_masks
from discreet.local.statistics.oracle import list_attributes
from discreet.local.steps import Payload, Places, draw_many, from_payload, to_payload
from discreet.local.surveys import LocalSurvey, Sent
from discreet.noise import coins
from discreet.queries.universe import Universe


def _read_universe(**named: object) -> Universe:
    universe: Universe = checks.instance(Universe, **named)
    BitRecords(list_attributes(universe), 1)
    return universe


@frozen
class FourierMarginals(LocalSurvey):
    """Report the parity of a few of one's own attributes; all marginals up to a width follow from that.

    Privacy: (epsilon, 0) for each report, towards everybody: which attributes a report is about is drawn
    without a look at them. [Roth10] Section 6.2, turned round
    Accuracy: error(beta) for every cell of every marginal of up to `width` attributes, all at once. It grows
    as the root of the number of sets of so many attributes: [Roth10] Theorem 38 says that it must.
    Time: O(people + sets).

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    universe
        Attributes of two values each, at most 62.
    width
        How many of them are looked at together, at most.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.

    Examples
    --------
    >>> universe = Universe([(f"q{k}", ("no", "yes")) for k in range(10)])
    >>> survey = FourierMarginals(epsilon=1, universe=universe, width=3, people=100_000)
    >>> survey.sets, survey.bits, round(survey.standard_error, 3)
    (175, 9, 0.03)
    """

    universe: Universe = public(_read_universe)
    width: int = public(checks.integer, 1)
    kind: ClassVar[str] = "fourier-marginals"

    @property
    def values(self) -> BitRecords:
        """Records of bits."""
        return BitRecords(list_attributes(self.universe), self.width)

    @property
    def parities(self) -> ParityKernel:
        """The exact table of probabilities."""
        return cast("ParityKernel", self.kernel)

    @property
    def sets(self) -> int:
        """How many parities are estimated."""
        return self.parities.sets

    @property
    def standard_error(self) -> float:
        """The standard deviation of a cell of `width` attributes, where all sets have as many people."""
        parts = 2**self.width - 1
        scale = up(1 / self.parities.contrast) * math.sqrt(self.sets / self.people)
        return above(scale * math.sqrt(parts) / 2**self.width, steps=4)

    def error(self, beta: checks.Number) -> float:
        """Return what no cell of any marginal is off by, all at once, but for a probability beta.

        Half of beta is for a set that fewer people report about than is likely, half for their parities
        (Hoeffding); a cell is the mean of 2**width parities, one of which is known.

        Raises
        ------
        NoBound
            When some set may have nobody.
        """
        risk = below(float(checks.probability(beta=beta))) / (2 * self.sets)
        fewest = int(stats.binom.ppf(risk, self.people, 1 / self.sets))
        if fewest < 1:
            raise NoBound(
                what="FourierMarginals",
                why=f"of {self.people} people perhaps nobody reports about one of {self.sets} sets",
                way_out="Ask more people, or for a smaller width",
            )
        return bound_cells(self.parities, np.full(1, fewest), risk)

    def estimate(self, reports: Sent) -> MarginalEstimate:
        """Estimate all parities, without bias; marginals and conjunctions are read from what comes back.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        codes = from_payload(self.read_reports(reports)).astype(np.int64)
        seen = np.bincount(codes, minlength=self.parities.size).reshape(-1, 2)
        counts = seen.sum(axis=1)
        means = (seen[:, 0] - seen[:, 1]) / np.maximum(counts, 1) / float(self.parities.contrast)
        return MarginalEstimate(replace(self, people=len(codes)), fix_array(means), fix_array(counts))


@draw_many.register
def _draw(kernel: ParityKernel, values: Places, rng: Rng) -> Payload:
    index = coins.uniform_below(kernel.sets, values.size, rng)
    odd = np.bitwise_count(values & list_masks(kernel.length, kernel.together)[index]) & 1
    kept = coins.bernoulli(kernel.keep, values.size, rng)
    return to_payload(2 * index + np.where(kept, odd, 1 - odd), kernel.width)


def _tiny() -> Iterator[Tiny]:
    for length, width, epsilon in ((1, 1, Fraction(1)), (3, 2, Fraction(1, 2)), (3, 3, Fraction(2))):
        universe = Universe([(f"q{k}", (0, 1)) for k in range(length)])
        pairs = list(itertools.permutations(universe.records(), 2))
        yield Tiny(FourierMarginals(epsilon=epsilon, universe=universe, width=width), pairs)


def _example() -> tuple[FourierMarginals, tuple[Any, ...]]:
    universe = Universe([(f"q{k}", (0, 1)) for k in range(4)])
    return FourierMarginals(epsilon=1, universe=universe, width=2, people=1000), (0, 1, 1, 0)


CARD = Card(
    title="Marginals and conjunctions from parities, one bit a person",
    theorem="(epsilon, 0) for each report towards everybody; all marginals up to a width at once",
    reference="[Roth10] Section 6.2",
    example=_example,
    tiny=_tiny,
)
"""What the catalogue knows of it."""
