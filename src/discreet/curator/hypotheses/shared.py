"""The conversation all analysts of a table share: opened once, paid for once, asked without end."""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.units import PrivacyUnit
from discreet.core.errors import ConversationClosed, InvalidParameter, LedgerRefused, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.rounding import shorten_down, up
from discreet.curator.history import Quote
from discreet.curator.hypotheses.released_counts import make_reply
from discreet.curator.limits import require_small
from discreet.curator.reply import Reply
from discreet.curator.ticks import FairLock
from discreet.data.count_formulas import TimesCount
from discreet.data.counts import CountedRows, Counts
from discreet.data.plan.after import has_interval, linear_parts
from discreet.data.plan.nodes import After, Aggregate, Options, Output, Plan, leaves
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.question_plan import ColumnError
from discreet.data.pricing.usefulness import RowsKnown
from discreet.data.table import Table
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.conversation import WeightsConversation
from discreet.query_release.online.lives import Journal
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.query_release.online.one_box import OneBox
from discreet.query_release.online.warm_start import all_marginals
from discreet.query_release.synopses.online_answer import OnlineAnswer, OnlineAnswers
from discreet.query_release.synopses.synthetic import SyntheticTable

CELLS = 1 << 17
"""The most cells of a universe that is chosen by itself: its answers stay quick and its noise small."""

ORDER = 3
"""Tables of up to this many columns are measured when the conversation opens."""

WARM = Fraction(3, 4)
"""The part of the conversation's budget that those tables get; the rest is for what they cannot tell."""

UPDATES = 20
"""How many questions may be measured afterwards."""

RETIRED = "the data set is retired, and its data are not looked at any more"
"""Why a conversation ended."""

_WIDE = 4
"""A count says little where it may be off by a quarter of all rows: its interval spans half of them."""

_BUY = "fresh=True buys an answer of its own"


class KeptOpening(Protocol):
    """What a ledger knows of a hypothesis that outlives the process."""

    @property
    def notes(self) -> Journal:
        """Where it writes down what must outlive the process."""

    @property
    def errors(self) -> Journal | None:
        """Where it writes down what it learnt about its errors, if anywhere."""

    def claim(self, kind: str, universe: Universe, epsilon: Fraction, delta: Fraction) -> bool:
        """Write down what is measured, before it is; tell whether there is a hypothesis to go on with."""

    def settle(self, plan: object) -> bool:
        """Write down by which plan it is measured; tell whether it is the one that was begun with."""


class SharedHypothesis(ABC):
    """What answers counts over some columns of a table, for all analysts."""

    universe: Universe
    guarantee: Guarantee
    unsure: ClassVar[str]
    """Why an answer may have no bound on its error."""

    def counts(self, plan: Plan, tables: PlanTables) -> Counts | None:
        """Return a question as counts over the universe; None where it is something else.

        Raises
        ------
        Refused
            Where it is too much for a question at no cost.
        """
        try:
            counts = Counts.of(plan, tables, self.universe)
        except Refused:
            return None
        require_small(counts, cells=self.universe.size)
        return counts

    def expect(self, plan: Plan, tables: PlanTables) -> RowsKnown:
        """Return how many rows a question is about at most, and there are, as far as the hypothesis knows.

        From what was released alone: no row is read.
        """
        total = self.rows
        counted = Output("n", Aggregate("count"))
        alone = replace(plan, sets=((),), outputs=(counted,), options=Options(), after=After(), branches=())
        with contextlib.suppress(Refused):
            counts = self.counts(alone, tables)
            if counts is not None:
                workload = counts.parts[0].workload()
                off = float(self._foretell(workload)[0][0])
                if math.isfinite(off):
                    said = max(0.0, float(self._say(workload)[0])) + off
                    return RowsKnown(asked=min(total, Fraction(said)), table=total)
        return RowsKnown(asked=total, table=total)

    @property
    def rows(self) -> Fraction:
        """How many rows there are, as far as the hypothesis knows."""
        return Fraction(max(0.0, self._total))

    def answer(self, plan: Plan, counts: Counts) -> Reply:
        """Answer a question that is made of counts, each condition by itself and all groups at once."""
        return make_reply(plan, counts, [self._answer_part(part) for part in counts.parts])

    def _answer_part(self, part: CountedRows) -> OnlineAnswers:
        codes = part.box()
        answers = None if codes is None else self._settle(OneBox(self.universe.shape, codes))
        return self.ask_many(part.workload()) if answers is None else answers

    @abstractmethod
    def _settle(self, box: OneBox) -> OnlineAnswers | None:
        """Answer one box from what was released; None where it needs a look at the data, or is not known."""

    @abstractmethod
    def ask(self, query: LinearQuery) -> OnlineAnswer:
        """Answer a query."""

    def ask_many(self, workload: Workload) -> OnlineAnswers:
        """Answer a workload."""
        require_small(workload, cells=self.universe.size)
        if workload.universe == self.universe and workload.is_predicates:
            return self._predicates(workload)
        return OnlineAnswers.of(self.ask(query) for query in workload)

    @abstractmethod
    def _predicates(self, workload: Workload) -> OnlineAnswers:
        """Answer predicates over the universe together."""

    def quote(self, plan: Plan, counts: Counts) -> Quote:
        """Say how well a question would be answered: as wide as its intervals would be. No row is read."""
        errors = self._foretell_counts(counts)
        alone = ", in each group by itself" if counts.groups > 1 else ""
        columns, together = [], []
        for output in plan.outputs:
            if not has_interval(output.what, counts.cells.tables):
                continue
            formulas = {
                one: counts.formulas[one] for one in leaves(output.what) if isinstance(one, Aggregate)
            }
            used = frozenset[int]().union(*(one.used for one in formulas.values()))
            linear = linear_parts(output.what)
            if linear is None or not all(isinstance(one, TimesCount) for one in formulas.values()):
                own, most = (max(each) for each in zip(*(errors[one] for one in used), strict=True))
                several = "counts that are" if len(used) > 1 else "a count that is"
                words = f"computed from {several} off by {self._say_errors(own, most, alone)}"
                columns.append(ColumnError(output.name, None, words))
                together.append(ColumnError(output.name, None, words))
                continue
            scaled = [
                (factor * one.times, errors[one.counted])
                for aggregate, factor in linear.items()
                if isinstance(one := formulas[aggregate], TimesCount)
            ]
            near = _add_up((factor, own) for factor, (own, _) in scaled)
            far = _add_up((factor, most) for factor, (_, most) in scaled)
            words = self._say_errors(near, far, alone)
            columns.append(ColumnError(output.name, _bounded(near), words))
            together.append(ColumnError(output.name, _bounded(far), words))
        return Quote("shared", tuple(columns), together=tuple(together))

    def _foretell_counts(self, counts: Counts) -> list[tuple[float, float]]:
        """Return the largest errors that each count would have in any group, own and all at once."""
        found = [(0.0, 0.0)] * counts.length
        for part in counts.parts:
            own, most = (float(each.max(initial=0.0)) for each in self._foretell(part.workload()))
            found[part.number] = max(found[part.number][0], own), max(found[part.number][1], most)
        return found

    def _say_errors(self, own: float, most: float, alone: str) -> str:
        words = f"at most {most:.6g} at 95 %, all counts of all questions at once (proved)"
        if math.isinf(most):
            words = f"no bound for all counts at once: {self.unsure}; fresh=True buys an answer"
        if math.isinf(own):
            return words
        said = f"at most {own:.6g} at 95 %{alone} (calibrated); {words}"
        if _WIDE * own < self.rows:
            return said
        return f"{said}. There are about {float(self.rows):.6g} rows in all, so this says little: {_BUY}"

    @abstractmethod
    def _foretell(self, workload: Workload) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the errors that answers to predicates would have, own and all at once. Public."""

    @property
    @abstractmethod
    def _total(self) -> float:
        """About how many rows there are. Public."""

    @abstractmethod
    def _say(self, workload: Workload) -> NDArray[np.float64]:
        """Return what the hypothesis says as it is, without a look at the data."""

    @abstractmethod
    def synthetic(self, rows: int) -> SyntheticTable:
        """Make up rows in proportion to what the hypothesis says. No row of the data is read."""

    @abstractmethod
    def retire(self) -> None:
        """Look at the data no more: from here on, what was released answers."""

    @abstractmethod
    def close(self) -> None:
        """Answer nothing more from the data."""


class Shared(SharedHypothesis):
    """A hypothesis about some columns of a table, and the conversation that improves it."""

    unsure = "it comes from the last hypothesis, without a check on the data"

    def __init__(self, conversation: WeightsConversation, universe: Universe, guarantee: Guarantee) -> None:
        self._conversation, self.universe, self.guarantee = conversation, universe, guarantee
        self._line = FairLock()
        self.may_look: Callable[[], bool] = lambda: True
        """Tells, before the data are looked at again, whether they still may be."""

    @classmethod
    def open(
        cls,
        table: Table,
        *,
        epsilon: Fraction,
        delta: Fraction,
        columns: Iterable[str] | None,
        opening: KeptOpening | None = None,
    ) -> Shared | None:
        """Read the table's histogram and open a conversation that costs (epsilon, delta) for one unit.

        Where it is kept it goes on where it was. None where it was opened before, and cannot go on.
        """
        universe = table.universe(choose_columns(table) if columns is None else columns)
        universe.require_dense()
        if opening is not None and not opening.claim("shared", universe, epsilon, delta):
            return None
        histogram = table.histogram(universe.names)
        mechanism = plan_weights(table, universe, epsilon, delta, rows=histogram.total)
        if opening is None:
            conversation = mechanism.open(histogram)
        elif opening.settle((mechanism.plan, mechanism.start, mechanism.rows)):
            conversation = mechanism.open_kept(histogram, opening.notes)
        else:
            return None
        if not isinstance(conversation, WeightsConversation):
            raise InvalidParameter(name="conversation", rule="one of weights", value=type(conversation))
        conversation.learn_errors(None if opening is None else opening.errors)
        return cls(conversation, universe, PrivacyUnit.of(table).per_unit(mechanism.guarantee))

    def ask(self, query: LinearQuery) -> OnlineAnswer:
        """Answer a query; once no more is measured, from the last hypothesis."""
        given = self._conversation.settle(query)
        if isinstance(given, OnlineAnswer):
            return given
        try:
            with self._line.turn():
                self._require_look()
                return self._conversation.ask(given)  # type: ignore[no-any-return]
        except (ConversationClosed, LedgerRefused):  # or another curator goes on with it
            return self._conversation.last(query)

    def _settle(self, box: OneBox) -> OnlineAnswers | None:
        return self._conversation.settle_box(box)

    def _predicates(self, workload: Workload) -> OnlineAnswers:
        """Answer predicates; what needs the gate, a block at a time, so that nobody waits long for it."""
        batch = self._conversation.read(workload)
        with contextlib.suppress(ConversationClosed, LedgerRefused):
            while batch.is_open:
                batch.say(self._conversation.hypothesis)
                with self._line.turn():
                    self._require_look()
                    self._conversation.ask(batch)
        return self._conversation.answers(batch)

    def _require_look(self) -> None:
        if not self.may_look():
            self.retire()
            raise ConversationClosed(RETIRED)

    def retire(self) -> None:
        """Look at the data no more: from here on, what was released answers."""
        if not self._conversation.closed:
            self._conversation.close(RETIRED)

    def _foretell(self, workload: Workload) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._conversation.foretell(workload)

    @property
    def _total(self) -> float:
        return self._conversation.hypothesis.total

    def _say(self, workload: Workload) -> NDArray[np.float64]:
        return np.asarray(workload.answers(self._conversation.hypothesis.array), dtype=np.float64)

    def synthetic(self, rows: int) -> SyntheticTable:
        """Make up rows in proportion to what the hypothesis says now."""
        return SyntheticTable.in_proportion(self.universe, self._conversation.hypothesis.array, rows)

    def close(self) -> None:
        """Answer nothing more."""
        self._conversation.close("the curator closed")

    def __str__(self) -> str:
        names = ", ".join(self.universe.names)
        return f"a hypothesis about {names}, {self._conversation.measured} of {UPDATES} updates used"


def choose_columns(table: Table) -> tuple[str, ...]:
    """Return the columns with the fewest declared values, as many as fit, in the schema's order."""
    sizes = {
        column.name: column.size + column.nullable
        for column in table.schema.columns
        if column.size is not None
    }
    kept, cells = set(), 1
    for name in sorted(sizes, key=sizes.__getitem__):
        cells *= sizes[name]
        if cells <= CELLS:
            kept.add(name)
    if not kept:
        raise Refused(
            what="shared hypothesis",
            why=f"no column has at most {CELLS} declared values",
            way_out="Declare a coarser grid, or open the curator with shared=0",
        )
    return tuple(name for name in sizes if name in kept)


def plan_weights(
    table: Table, universe: Universe, epsilon: Fraction, delta: Fraction, *, rows: int
) -> MultiplicativeWeights:
    """Return the mechanism of a conversation that costs (epsilon, delta) for one unit of a table.

    `rows` is how many there are, which is public where neighbours replace one, and not looked at otherwise.
    """
    unit = PrivacyUnit.of(table)
    neighbours, (e, d) = unit.row_neighbours, unit.row_budget(epsilon=epsilon, delta=delta)
    return MultiplicativeWeights(
        universe=universe,
        epsilon=e,
        delta=d,
        updates=UPDATES,
        neighbours=neighbours,
        rows=rows if isinstance(neighbours, Replace) else None,
        start=measure_small_tables(universe, shorten_down(WARM * e, 12), d, neighbours) if d else None,
    )


def measure_small_tables(
    universe: Universe, epsilon: Fraction, delta: Fraction, neighbours: Neighbours
) -> ResidualMarginals:
    """Return the mechanism that measures all small tables; its Gaussian noise needs a delta."""
    sets, weights = all_marginals(universe, ORDER)
    return ResidualMarginals(
        workload=Marginals(universe, sets),
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        weights=weights,
    )


def _add_up(errors: Iterable[tuple[Fraction, float]]) -> float:
    """Return by how much a sum of counts is off where each is off by as much as that, rounded up."""
    listed = list(errors)
    if any(math.isinf(error) for _, error in listed):
        return math.inf
    return up(sum((abs(times) * Fraction(error) for times, error in listed), Fraction(0)))


def _bounded(error: float) -> float | None:
    return None if math.isinf(error) else error
