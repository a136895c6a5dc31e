"""Square wave: a place near one's own number, from which the whole distribution is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NoReturn, cast

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.fixed import fix_array
from discreet.core.parameters import Exact, frozen, public
from discreet.local.distributions.distribution_estimate import DistributionEstimate
from discreet.local.laws.domains import Span
from discreet.local.laws.numbers import WindowKernel
from discreet.local.means import base
from discreet.local.steps import from_payload
from discreet.local.surveys import LocalSurvey, Sent

STEPS = 64
"""Steps of the grid where nothing else is said: as fine as a hundred thousand reports can tell apart."""
MOST_STEPS = 1024


@frozen
class SquareWave(LocalSurvey):
    """Report a place of a grid, likely one near the number; the shares of all numbers follow from many.

    Privacy: (epsilon, 0) for each report, towards everybody. [LWLLS20] Section 5
    Accuracy: intervals for shares and quantiles, all at once, from the reports: how much these tell depends
    on what is there.
    Time: O(people) to encode, O(steps**2) for each of at most 2000 rounds of estimation.

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    lower, upper
        Public bounds. A number outside counts as the bound, what is no number as the middle.
    steps
        How many steps the range has, an even number up to 1024; numbers are rounded to the nearest.
    people
        How many people report. `estimate` counts for itself.

    Examples
    --------
    >>> from discreet.testing import unsafe_seeded
    >>> survey = SquareWave(epsilon=2, lower=0, upper=100)
    >>> ages = np.tile(np.arange(20, 60), 1000)
    >>> found = survey.estimate(survey.encode_many(ages, rng=unsafe_seeded(1)))
    >>> 35 < found.quantile(0.5) < 45
    True
    """

    lower: Exact = public(checks.exact)
    upper: Exact = public(checks.exact)
    steps: int = public(checks.integer, 2, MOST_STEPS, default=STEPS)
    kind: ClassVar[str] = "square-wave"

    @property
    def values(self) -> Span:
        """The grid."""
        return Span(self.lower, self.upper, self.steps)

    @property
    def waves(self) -> WindowKernel:
        """The exact table of probabilities."""
        return cast("WindowKernel", self.kernel)

    def error(self, beta: checks.Number) -> NoReturn:
        """Refuse: what reports tell of a share depends on all the others."""
        checks.probability(beta=beta)
        raise NoBound(
            what="SquareWave",
            why="how far shares can be told apart depends on the distribution",
            way_out="Estimate, and read share_interval or quantile_interval",
        )

    def estimate(self, reports: Sent) -> DistributionEstimate:
        """Estimate the distribution of all numbers.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        places = from_payload(self.read_reports(reports)).astype(np.int64)
        seen = fix_array(np.bincount(places, minlength=self.waves.size))
        together = type(self)(
            epsilon=self.epsilon, lower=self.lower, upper=self.upper, steps=self.steps, people=len(places)
        )
        return DistributionEstimate.of(together, seen)


def _tiny() -> Iterator[Tiny]:
    yield from base.ask_numbers(SquareWave)


CARD = Card(
    title="The distribution of numbers from square waves",
    theorem="(epsilon, 0) for each report towards everybody; intervals for shares and quantiles, all at once",
    reference="[LWLLS20] Section 5",
    example=lambda: (SquareWave(epsilon=1, lower=0, upper=100, people=1000), 37),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
