"""A hypothesis that is published when the curator opens, and that no question of any analyst changes.

It stands where the shared conversation would stand, under a promise between analysts: what it says depends
on the data and on public facts alone, so it tells no analyst what another one asked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.units import PrivacyUnit
from discreet.analysts.apart import FittedWeights
from discreet.core.guarantee import Guarantee
from discreet.core.neighbours import Neighbours
from discreet.curator.hypotheses.opening import Opening
from discreet.curator.hypotheses.shared import ORDER, SharedHypothesis, choose_columns, measure_small_tables
from discreet.data.table import Table
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.explicit.mwem import MWEM
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.boxes import Boxes, read_workload
from discreet.query_release.online.lives import Journal, read_numbers
from discreet.query_release.online.one_box import OneBox, add_errors, settle_box
from discreet.query_release.online.questions import read_question
from discreet.query_release.online.warm_start import all_marginals, known_by
from discreet.query_release.synopses.marginal_tables import MarginalTables
from discreet.query_release.synopses.online_answer import FREE, STALE, OnlineAnswer, OnlineAnswers
from discreet.query_release.synopses.synopsis import Synopsis, Weights
from discreet.query_release.synopses.synthetic import SyntheticTable

BETA = 1 / 20
"""The probability that some stated error fails, over all counts together."""

_ROUNDS = 8  # tables that are measured where delta is 0


class Published(SharedHypothesis):
    """A synopsis of all small tables: measured once, then asked without end and without the data."""

    unsure = f"the published hypothesis knows its errors for counts over up to {ORDER} columns, given a delta"

    def __init__(
        self,
        mechanism: WorkloadRelease,
        synopsis: Synopsis,
        guarantee: Guarantee,
        errors: Journal | None = None,
    ) -> None:
        self.universe, self.guarantee = synopsis.universe, guarantee
        self.synopsis = FittedWeights(synopsis) if isinstance(synopsis, MarginalTables) else synopsis
        _ = self.synopsis.total  # fitted now, so that no analyst's first question takes longer
        self._known = known_by(mechanism, synopsis, beta=BETA)
        if self._known is not None and errors is not None:
            self._known.recall(errors)
        elif self._known is not None:
            _ = self._known.own  # so are the errors

    @classmethod
    def open(
        cls,
        table: Table,
        *,
        epsilon: Fraction,
        delta: Fraction,
        columns: Iterable[str] | None,
        opening: Opening | None = None,
    ) -> Published | None:
        """Read the table's histogram once and publish a synopsis that costs (epsilon, delta) for one unit.

        Where it is kept, what was published before is published again. None where that is lost.
        """
        universe = table.universe(choose_columns(table) if columns is None else columns)
        universe.require_dense()
        unit = PrivacyUnit.of(table)
        mechanism = _make_measurement(
            universe, *unit.row_budget(epsilon=epsilon, delta=delta), neighbours=unit.row_neighbours
        )
        if opening is not None and not (
            opening.claim("published", universe, epsilon, delta) and opening.settle(mechanism)
        ):
            return None
        notes = () if opening is None else opening.notes.read()
        if notes:
            synopsis = _read(notes[0], mechanism)
        else:
            synopsis = mechanism.release(table.histogram(universe.names)).value
            if opening is not None:
                opening.notes.append(_write(synopsis))
        errors = None if opening is None else opening.errors
        return cls(mechanism, synopsis, unit.per_unit(mechanism.guarantee), errors)

    def ask(self, query: LinearQuery) -> OnlineAnswer:
        """Answer a query. The same question always has the same answer, whoever asks."""
        question = read_question(query, self.universe, 1)
        if question.is_empty:
            return OnlineAnswer(0.0, 0.0, FREE)
        said, error, own = float(self.synopsis.answer(query)), math.inf, math.inf
        if self._known is not None:
            deviation = math.inf
            if question.codes is not None:
                boxes = Boxes.of_codes(question.codes[None], self.universe)
                deviation, noise = (float(each[0]) for each in self._known.spreads(boxes))
                if noise < math.inf:
                    said = float(np.vdot(self._known.weights.table(question.axes), question.units))
                off = abs(said - self._known.estimate(question))
                error = float(add_errors(off, noise, 1))
            own = float(self._known.own_errors(np.array([said]), np.array([deviation]))[0])
        return OnlineAnswer(said, error, FREE if error < math.inf else STALE, min(own, error))

    def _settle(self, box: OneBox) -> OnlineAnswers | None:
        return settle_box(box, self._known, scale=None, most=math.inf, bar=math.inf)

    def _predicates(self, workload: Workload) -> OnlineAnswers:
        """Answer predicates together, as each would be answered alone but for the rounding of sums."""
        reading = read_workload(workload)
        said = self.synopsis.answers(reading.workload)
        errors, owns = np.full((2, len(workload)), np.inf)
        if self._known is not None:
            deviations, noise = self._known.spreads(reading.boxes)
            # What a measured table tells is answered by the weights that fit the tables closely.
            close = reading.workload.answers(self._known.weights.array)
            said = np.where(np.isfinite(noise), close, said)
            off = np.abs(said - reading.workload.answers(self._known.array))
            errors = add_errors(off, noise, 1)
            owns = np.minimum(self._known.own_errors(said, deviations), errors)
        said, errors, owns = (np.where(reading.empty, 0.0, each) for each in (said, errors, owns))
        return OnlineAnswers(said, errors, np.where(np.isfinite(errors), FREE, STALE), owns)

    def _foretell(self, workload: Workload) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        answers = self._predicates(workload)
        return answers.owns, answers.errors

    @property
    def _total(self) -> float:
        return float(self.synopsis.total)

    def _say(self, workload: Workload) -> NDArray[np.float64]:
        return np.asarray(self.synopsis.answers(workload), dtype=np.float64)

    def synthetic(self, rows: int) -> SyntheticTable:
        """Make up rows in proportion to what was published."""
        return self.synopsis.synthetic(rows)

    def retire(self) -> None:
        """Do nothing: the data were looked at once."""

    def close(self) -> None:
        """Do nothing: what is published stays."""

    def __str__(self) -> str:
        return f"a published hypothesis about {', '.join(self.universe.names)}"


def _write(synopsis: Any) -> bytes:
    """Write down the numbers that a published synopsis follows from."""
    if isinstance(synopsis, MarginalTables):
        noisy = [str(one) for one in synopsis.noisy.tolist()]
        return json.dumps({"noisy": noisy, "rows": synopsis.rows}).encode()
    return json.dumps({"weights": [float(one).hex() for one in synopsis.weights.ravel()]}).encode()


def _read(note: bytes, mechanism: WorkloadRelease) -> Synopsis:
    """Return the synopsis that was published."""
    said = json.loads(note)
    if isinstance(mechanism, ResidualMarginals):
        return mechanism.restore(read_numbers(said["noisy"]), rows=said["rows"])
    universe = mechanism.workload.universe
    weights = np.array([float.fromhex(one) for one in said["weights"]]).reshape(universe.shape)
    return Weights(universe, weights, transcript=hashlib.sha256(note).digest())


def _make_measurement(
    universe: Universe, epsilon: Fraction, delta: Fraction, neighbours: Neighbours
) -> WorkloadRelease:
    """Return what measures all small tables: with Gaussian noise where there is a delta."""
    if delta:
        return measure_small_tables(universe, epsilon, delta, neighbours)
    sets, _ = all_marginals(universe, ORDER)
    return MWEM(
        workload=Marginals(universe, sets),
        epsilon=epsilon,
        delta=0,
        neighbours=neighbours,
        rounds=min(_ROUNDS, len(sets)),
    )
