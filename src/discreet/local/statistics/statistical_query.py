"""One statistical query: the mean of a function of everybody's records, from one bit a person."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.parameters import Public, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, below, down, up
from discreet.local.laws.answers import AnswerKernel
from discreet.local.laws.records import RecordWeights
from discreet.local.means.base import MeanEstimate
from discreet.local.statistics.oracle import read_slack, round_off, weigh_records
from discreet.local.steps import Payload, Places, draw_many, from_payload, to_payload
from discreet.local.surveys import LocalSurvey, Sent
from discreet.noise import coins
from discreet.queries.query import LinearQuery, TableQuery
from discreet.queries.universe import Universe


def _read_query(**named: object) -> RecordWeights:
    (given,) = named.values()
    if type(given) is RecordWeights:
        return RecordWeights.restore(given.describe())  # a list that somebody made may hold anything
    return weigh_records(given)


@frozen
class StatisticalQuery(LocalSurvey):
    """Report one bit about a function of one's own record, whose values are from 0 to 1.

    Privacy: (epsilon, 0) for each report, towards everybody. The function's value is the probability of a
    bit, which is then told by randomized response. [DR14] Definition 12.4, [KLNRS11]
    Accuracy: error(beta), or people_for(tolerance, beta) reports; it does not depend on how many attributes
    there are.
    Time: O(people).

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    query
        A `LinearQuery` with weights from 0 to 1. Weights other than 0 and 1 are rounded to 65,536ths.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.

    Examples
    --------
    >>> universe = Universe([("smokes", (0, 1)), ("ill", (0, 1))])
    >>> both = TableQuery(universe, (0, 1), "both", table=[[0, 0], [0, 1]])
    >>> survey = StatisticalQuery(epsilon=1, query=both, people=10_000)
    >>> survey.bits, round(survey.error(0.05), 3), survey.people_for(0.01, 0.05)
    (1, 0.029, 86370)
    """

    query: Public[LinearQuery | RecordWeights, RecordWeights] = public(_read_query)
    kind: ClassVar[str] = "statistical-query"

    @property
    def values(self) -> RecordWeights:
        """The weights of all records."""
        return self.query

    @property
    def answers(self) -> AnswerKernel:
        """The exact table of probabilities."""
        return cast("AnswerKernel", self.kernel)

    def error(self, beta: checks.Number) -> float:
        """Return what the estimated mean misses the true one by, but for the declared risk.

        It holds for the people who report, whatever their records are; for all people, where those who report
        were chosen at random; and for the law of the records, where these are drawn from one. Hoeffding's
        inequality is about the bits, which are 1 with a mean that is linear in each of the three.
        """
        log = math.log(2 / below(float(checks.probability(beta=beta))))
        strays = up(1 / self.answers.contrast) * math.sqrt(log / (2 * self.people))
        return above(strays + up(round_off(self.query)), steps=8)

    def people_for(self, tolerance: checks.Number, beta: checks.Number) -> int:
        """Return how many reports make the error at most the tolerance, but for the declared risk."""
        wanted = down(read_slack(self.query, tolerance) * self.answers.contrast)
        log = math.log(2 / below(float(checks.probability(beta=beta))))
        return math.ceil(above(log / (2 * wanted**2), steps=16))

    def estimate(self, reports: Sent) -> MeanEstimate:
        """Estimate the mean of the query over all records, without bias but for the rounding of weights.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        bits = from_payload(self.read_reports(reports))
        together = replace(self, people=len(bits))
        value = 0.5 + (int(bits.sum()) / len(bits) - 0.5) / float(self.answers.contrast)
        return MeanEstimate(together, value, together.standard_error)

    @property
    def standard_error(self) -> float:
        """The largest standard deviation of the mean that `people` reports give."""
        return above(up(1 / self.answers.contrast) / (2 * math.sqrt(self.people)), steps=4)


@draw_many.register
def _draw(kernel: AnswerKernel, values: Places, rng: Rng) -> Payload:
    sign = kernel.sign
    weights = np.array(kernel.weights, dtype=np.int64)[values]
    blind = coins.bernoulli(2 / (sign.odds + 1), values.size, rng)
    tossed = coins.uniform_below(2, values.size, rng)
    below_weight = coins.uniform_below(sign.inputs - 1, values.size, rng) < weights
    return to_payload(np.where(blind, tossed, below_weight).astype(np.int64), kernel.width)


def _tiny() -> Iterator[Tiny]:
    universe = Universe([("a", (0, 1)), ("b", ("x", "y", "z"))])
    records = list(universe.records())
    for epsilon, axes, table in (
        (Fraction(1), (0, 1), [0, 1, 1, 0, 0, 1]),
        (Fraction(2), (1,), [0, 0.25, 1]),
        (Fraction(1, 2), (0,), [1, 0]),
    ):
        query = TableQuery(universe, axes, "a function", table=np.array(table))
        yield Tiny(StatisticalQuery(epsilon=epsilon, query=query), list(itertools.permutations(records, 2)))


def _example() -> tuple[StatisticalQuery, tuple[int, int]]:
    universe = Universe([("smokes", (0, 1)), ("ill", (0, 1))])
    both = TableQuery(universe, (0, 1), "both", table=[[0, 0], [0, 1]])
    return StatisticalQuery(epsilon=1, query=both, people=1000), (1, 0)


CARD = Card(
    title="One statistical query from one bit a person",
    theorem="(epsilon, 0) for each report towards everybody; a mean to a tolerance from so many reports",
    reference="[DR14] Definition 12.4",
    example=_example,
    tiny=_tiny,
)
"""What the catalogue knows of it."""
