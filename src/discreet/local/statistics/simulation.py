"""The way back: reports as people would send them, made from statistical answers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.rng import SYSTEM, Rng
from discreet.local import client
from discreet.local.batches import RECORDS
from discreet.local.laws.wire import SentReport
from discreet.local.statistics.oracle import StatisticalOracle
from discreet.noise import oracle as uniform
from discreet.queries.query import TableQuery

MOST_CELLS = 1 << 12
"""More records than this are too many for a list of all of their laws."""
MOST_REPORTS = 1 << 12
_MISSES = 40  # proposals are many enough that all are turned down with probability below exp(-_MISSES)

Law = tuple[Fraction, ...]
"""A number for each record."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """All reports of a survey: how often each is proposed, and how often it is then kept, by record.

    Attributes
    ----------
    weights
        The largest probability of each report over all records; their sum is `total`.
    keeping
        For each report, its probability for each record, divided by its weight.
    """

    weights: Law
    keeping: tuple[Law, ...]

    @property
    def total(self) -> Fraction:
        """How many proposals one report takes, in the mean: at most e^epsilon."""
        return sum(self.weights, start=Fraction(0))


class SimulatedCrowd:
    """People who are not there: `ask` answers as an `OracleConversation` does, from statistical queries.

    A report is proposed, more often the likelier it can be, and kept with a probability that is the mean of
    a function of the records, which is a statistical query [KLNRS11]. Whoever is asked again is drawn again
    from those whom the earlier reports leave, each with the weight that these give.

    Each person is a fresh draw from the people whom the oracle answers about, so that an algorithm learns
    from them what it would from a sample. `distance` says how far the law of all reports can be from that, in
    total variation: the sum over all of them of tolerance times `Proposals.total`, and more for those who are
    asked again.

    Parameters
    ----------
    statistics
        The oracle. What it costs is all that this costs.
    tolerance
        What each of its answers may be off by. Answers are asked for once and used for all people.
    """

    def __init__(self, statistics: StatisticalOracle, *, tolerance: checks.Number, rng: Rng = SYSTEM) -> None:
        universe = statistics.universe
        if universe.size > MOST_CELLS:
            raise InvalidParameter(
                name="universe", rule=f"of at most {MOST_CELLS} cells", value=universe.size
            )
        self.distance = 0.0
        self._statistics, self._tolerance = statistics, checks.probability(tolerance=tolerance)
        self._rng = checks.instance(Rng, rng=rng)
        self._records = list(universe.records())
        self._known: dict[Law, Fraction] = {}
        self._lives: dict[int, Law] = {}
        self._proposals: dict[str, Proposals] = {}

    @property
    def queries(self) -> int:
        """How many statistical queries were asked."""
        return len(self._known)

    def ask(self, survey: Any, *, person: int) -> SentReport:
        """Return a report to a survey of `discreet.local`, or to its text."""
        device = client.open_survey(survey if isinstance(survey, str) else survey.survey)
        drawn = self._propose(device)
        place = checks.integer(0, person=person)
        before = self._lives.get(place, (Fraction(1),) * len(self._records))
        code = self._draw(drawn, before)
        after = tuple(b * k for b, k in zip(before, drawn.keeping[code], strict=True))
        self._lives[place] = tuple(each / max(after) for each in after)
        return SentReport(device.header, code.to_bytes(device.kernel.width, "little"))

    def _propose(self, device: client.Device) -> Proposals:
        key = repr(device)
        if key not in self._proposals:
            self._proposals[key] = list_proposals(device, self._records)
        return self._proposals[key]

    def _draw(self, drawn: Proposals, before: Law) -> int:
        """Propose reports until one is kept; the last one stands where none was: next to never."""
        among = self._mean(before)
        stray = self._tolerance * (1 if min(before) == 1 else 2 / max(among, self._tolerance))
        self.distance += float(stray * drawn.total) + math.exp(-_MISSES)
        rounds = math.ceil(_MISSES / max(float(1 / drawn.total - stray), 1 / MOST_REPORTS))
        code = 0
        for _ in range(rounds):
            code = self._pick(drawn.weights)
            kept = self._mean(tuple(b * k for b, k in zip(before, drawn.keeping[code], strict=True)))
            if self._toss(min(kept / among, Fraction(1)) if among else Fraction(0)):
                break
        return code

    def _pick(self, weights: Law) -> int:
        scale = math.lcm(*(weight.denominator for weight in weights))
        left = uniform.uniform_below(int(sum(weights) * scale), self._rng)
        for code, weight in enumerate(weights):
            left -= int(weight * scale)
            if left < 0:
                return code
        return len(weights) - 1

    def _toss(self, chance: Fraction) -> bool:
        return uniform.uniform_below(chance.denominator, self._rng) < chance.numerator

    def _mean(self, law: Law) -> Fraction:
        """Return the oracle's mean of a function of the records; it is asked once for each function."""
        if min(law) == max(law):
            return law[0]
        if law not in self._known:
            universe = self._statistics.universe
            axes = tuple(range(len(universe.shape)))
            table = np.array([float(each) for each in law])
            query = TableQuery(universe, axes, "the chance of a report", table=table)
            self._known[law] = Fraction(self._statistics.answer(query, self._tolerance))
        return self._known[law]


def list_proposals(device: client.Device, records: list[tuple[Any, ...]]) -> Proposals:
    """Return how all reports of a survey are proposed and kept, exactly."""
    kernel = device.kernel
    if kernel.size > MOST_REPORTS:
        raise InvalidParameter(name="survey", rule=f"of at most {MOST_REPORTS} reports", value=kernel.size)
    single = not isinstance(device.domain, RECORDS) and len(records[0]) == 1
    tables = [dict(kernel.law(device.domain.read(each[0] if single else each))) for each in records]
    weights, keeping = [], []
    for code in range(kernel.size):
        law = [table.get(code, Fraction(0)) for table in tables]
        weights.append(max(law))
        keeping.append(tuple(each / max(law) if max(law) else Fraction(0) for each in law))
    return Proposals(tuple(weights), tuple(keeping))
