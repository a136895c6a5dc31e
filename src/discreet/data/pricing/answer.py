"""Answers: released values with their error bars, what they cost, and nothing else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.errors import InternalError
from discreet.core.guarantee import Guarantee
from discreet.core.rounding import down, up
from discreet.core.shown import ROWS, data_frame, html_table, more_rows, text_table, value_text
from discreet.data.plan.facts import Facts
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.kinds import Kind
from discreet.data.plan.measures import CHOSEN, Measure, find_day
from discreet.data.plan.nodes import Aggregate, Plan
from discreet.data.pricing.budget import CONFIDENCE, Side
from discreet.data.pricing.estimates import Number, Range, enclose_mean, enclosure, estimate, plain
from discreet.data.pricing.noisy_vector import NoisyVector
from discreet.data.pricing.pairs import enclose_pair, estimate_pair
from discreet.data.pricing.presented import Interval, Place, PresentedTable, Reader, ReleasedNumbers, Value
from discreet.data.pricing.question_plan import QuestionPlan, price_question
from discreet.data.pricing.ratios import MAX_RATIOS, AnswerRatio, enclose_ratio
from discreet.data.pricing.usefulness import describe_answered
from discreet.data.schema.columns import Category

Triple = tuple[int, int, int]

_USUAL = Fraction(95, 100)
_ON_A_GRID: tuple[Kind, ...] = (
    "count",
    "count_units",
    "count_distinct",
    "sum",
    "quantile",
    "minimum",
    "maximum",
)
_EXTREMES: dict[Kind, Fraction] = {"minimum": Fraction(0), "maximum": Fraction(1)}


class Chosen(NamedTuple):
    """A quantile or an end of its interval: which one, and its value in every group."""

    point: Fraction
    side: Side
    values: tuple[int, ...]
    extreme: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """The groups of one grouping set with everything released about them.

    `keys` holds the exact values of all keys of the plan, None for those that the grouping set leaves out.
    """

    keys: tuple[tuple[Value | Fraction, ...], ...]
    measured: Mapping[Measure, NoisyVector]
    chosen: Mapping[Measure, Sequence[Chosen]]

    def noisy(self, measures: Sequence[Measure]) -> list[NoisyVector]:
        """Return the vectors of some measures."""
        return [self.measured[measure] for measure in measures]

    def count_rows(self) -> Fraction | None:
        """Return about how many rows there are in all groups together; None where they were not counted."""
        vectors = [noisy for one, noisy in self.measured.items() if one.kind == "rows" and one.group is None]
        totals = [sum(map(noisy.point, range(len(self.keys))), Fraction(0)) for noisy in vectors]
        return max(totals, default=None)

    def extreme(self, measure: Measure, point: Fraction, place: int) -> int:
        """Return the smallest (0) or largest (1) value of a group, in steps."""
        return next(one.values[place] for one in self.chosen[measure] if one.extreme and one.point == point)

    def quantiles(self, measure: Measure, points: Sequence[Fraction], place: int) -> list[Triple]:
        """Return lower end, value and upper end of the quantiles of a group, in steps.

        The true quantiles ascend, so the values are put in order, no lower end is below that of a smaller
        quantile, and no upper end above that of a larger one. An interval holds its value too.
        """
        sides: dict[int, dict[Fraction, int]] = {-1: {}, 0: {}, 1: {}}
        for one in self.chosen[measure]:
            if not one.extreme:
                sides[one.side][one.point] = one.values[place]
        known = sorted(sides[0])
        lows, values, highs = ([found[point] for point in known] for found in sides.values())
        lows = list(itertools.accumulate(lows, max))
        highs = list(itertools.accumulate(reversed(highs), min))[::-1]
        triples = zip(lows, sorted(values), highs, strict=True)
        found = dict(zip(known, ((min(a, v), v, max(b, v)) for a, v, b in triples), strict=True))
        return [found[point] for point in points]


@dataclass(frozen=True, slots=True, repr=False)
class ReleasedBlocks(ReleasedNumbers):
    """The groups of all grouping sets of a question, each with its noisy measures."""

    facts: Facts
    blocks: tuple[Block, ...]

    def __len__(self) -> int:
        return sum(len(block.keys) for block in self.blocks)

    def places(self) -> Iterator[Place]:
        """Yield every group."""
        return ((i, k) for i, block in enumerate(self.blocks) for k in range(len(block.keys)))

    def key(self, key: Key) -> Reader[Value | Fraction]:
        """Return what reads the value of a key."""
        column = self.facts.plan.keys.index(key)
        return lambda place: self.blocks[place[0]].keys[place[1]][column]

    def value(self, aggregate: Aggregate) -> Reader[Value]:
        """Return what reads the released value of an aggregate."""
        measures = self.facts.measured[aggregate]
        show: Callable[[Sequence[int]], Value] = self._shower(aggregate, float)

        def read(place: Place) -> Value:
            block = self.blocks[place[0]]
            if aggregate.kind == "quantile":
                found = block.quantiles(measures[0], aggregate.points, place[1])
                return show([step for _, step, _ in found])
            if aggregate.kind in ("minimum", "maximum"):
                return show([block.extreme(measures[0], _EXTREMES[aggregate.kind], place[1])])
            if aggregate.kind == "mode":
                return self._decode(aggregate, block.chosen[measures[0]][0].values[place[1]])
            measured = [noisy.point(place[1]) for noisy in block.noisy(measures)]
            if aggregate.other is not None:
                return estimate_pair(aggregate.kind, measures, measured)
            return estimate(aggregate.kind, measures, measured)

        return read

    def _shower(
        self, aggregate: Aggregate, rounded: Callable[[Fraction], float]
    ) -> Callable[[Sequence[int]], Any]:
        """Return what shows steps of a number that is chosen: as numbers of its unit, or as days."""
        unit = self.facts.measured[aggregate][0].unit
        field = find_day(aggregate, self.facts.tables)
        if field is None:
            return lambda steps: _plain(steps, unit, rounded)
        column = self.facts.tables.column(field)

        def show(steps: Sequence[int]) -> Any:
            days = [column.decode(int(step * unit)) for step in steps]
            return days[0] if len(days) == 1 else tuple(days)

        return show

    def _decode(self, aggregate: Aggregate, place: int) -> Value:
        if aggregate.column is None:
            raise InternalError("a most frequent value is one of a column")
        column = self.facts.tables.column(aggregate.column)
        code = (
            column.values[place]
            if isinstance(column, Category)
            else place + self.facts.measured[aggregate][0].row[0]
        )
        value: Any = column.decode(code)
        return float(value) if isinstance(value, Fraction) else value

    def intervals(self, aggregates: Sequence[Aggregate], confidence: Fraction) -> list[Reader[Interval]]:
        """Return what reads intervals that hold at once: each measure of each group is counted once.

        The ends of quantiles were chosen for `CONFIDENCE`. Beside anything else that is uncertain they would
        leave nothing for it, so they are then what is declared.
        """
        if len(aggregates) == 1 and aggregates[0].kind == "average":
            total, rows = self.facts.measured[aggregates[0]]
            read = self._read_ratios(total, rows, confidence)
            if read is not None:
                return [lambda place: enclose_mean(total, read(place))]
        known = dict.fromkeys(measure for one in aggregates for measure in self.facts.measured[one])
        vectors = [measure for measure in known if measure.kind not in CHOSEN]
        chosen = len(known) == 1 and confidence <= CONFIDENCE
        numbers = sum(
            len(block.keys) * sum(one in block.measured for one in vectors) for block in self.blocks
        )
        beta = each_of(max(1, numbers), 1 - confidence)
        return [self._interval(one, beta, chosen) for one in aggregates]

    def ratio(self, what: AnswerRatio, confidence: Fraction) -> Reader[Interval] | None:
        """Return what reads the intervals of quotients; None where those of their parts have to do."""
        (above,), (below,) = self.facts.measured[what.above], self.facts.measured[what.below]
        read, times = self._read_ratios(above, below, confidence), what.times * above.unit / below.unit
        if read is None:
            return None

        def read_ends(place: Place) -> Interval:
            found = read(place)
            if found is None:
                return -math.inf, math.inf
            low, high = sorted(times * end for end in found)
            return down(low), up(high)

        return read_ends

    def _read_ratios(
        self, above: Measure, below: Measure, confidence: Fraction
    ) -> Reader[Range | None] | None:
        """Return what reads a quotient of two measures in steps, in all groups at once."""
        groups = sum(len(block.keys) for block in self.blocks)
        both = [block.measured.get(one) for block in self.blocks for one in (above, below)]
        if not 0 < groups <= MAX_RATIOS or any(one is None or not one.is_laplace for one in both):
            return None
        beta = each_of(groups, 1 - confidence)

        def read(place: Place) -> Range | None:
            first, second = (one.laplace(place[1]) for one in self.blocks[place[0]].noisy((above, below)))
            return enclose_ratio(first, second, beta)

        return read

    def _interval(self, aggregate: Aggregate, beta: float, chosen: bool) -> Reader[Interval]:
        measures = self.facts.measured[aggregate]

        lower, upper = self._shower(aggregate, down), self._shower(aggregate, up)
        everything = measures[0].row

        def read(place: Place) -> Interval:
            block = self.blocks[place[0]]
            if aggregate.kind == "quantile":
                ends = [everything] * len(aggregate.points)
                if chosen:
                    found = block.quantiles(measures[0], aggregate.points, place[1])
                    ends = [(low, high) for low, _, high in found]
                return lower([low for low, _ in ends]), upper([high for _, high in ends])
            if aggregate.kind in ("minimum", "maximum"):
                low, high = everything
                if chosen:
                    inside = block.extreme(measures[0], _EXTREMES[aggregate.kind], place[1])
                    low, high = (low, inside) if aggregate.kind == "minimum" else (inside, high)
                return lower([low]), upper([high])
            if aggregate.kind == "mode":
                return self._declared(aggregate)
            box = [noisy.box(place[1], beta) for noisy in block.noisy(measures)]
            if aggregate.other is not None:
                return enclose_pair(aggregate.kind, measures, box)
            return enclosure(aggregate.kind, measures, box)

        return read

    def _declared(self, aggregate: Aggregate) -> Interval:
        """Return between what a most frequent value is declared to lie; None where values have no order."""
        column = None if aggregate.column is None else self.facts.tables.column(aggregate.column)
        places: Sequence[int] = range(self.facts.measured[aggregate][0].width)
        if isinstance(column, Category):  # numbers may be declared in any order
            places = sorted(places, key=column.values.__getitem__)
        low, high = (self._decode(aggregate, end) for end in (places[0], places[-1]))
        if isinstance(low, str | bool | tuple) or isinstance(high, str | bool | tuple):
            return None, None
        return low, high

    def step(self, aggregate: Aggregate) -> Fraction | None:
        """Return the grid of counts, sums and quantiles."""
        exact = aggregate.kind in _ON_A_GRID
        return self.facts.measured[aggregate][0].unit if exact else None


def _plain(
    steps: Sequence[int], unit: Fraction, rounded: Callable[[Fraction], float]
) -> Number | tuple[Number, ...]:
    values = tuple(plain(step * unit, unit, rounded) for step in steps)
    return values[0] if len(values) == 1 else values


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The answer to one question: rows of released values, with intervals and what they cost.

    Groups of declared keys are all there, whatever the data hold, but for those that HAVING and LIMIT leave
    out. Rows are sorted as the question says; without ORDER BY by the keys as they were selected, the first
    one first, declared values in their order; groups that a threshold let through too.

    Attributes
    ----------
    plan
        Price, noise and errors: the same as before the question was asked.
    blocks
        Everything that was released, shown or not.
    shown
        What the question shows of it.
    unsafe_seeded
        Whether the noise came from a seeded generator.
    """

    plan: QuestionPlan
    blocks: tuple[Block, ...]
    shown: PresentedTable
    unsafe_seeded: bool

    @classmethod
    def of(cls, plan: QuestionPlan, blocks: tuple[Block, ...], *, unsafe_seeded: bool) -> Answer:
        """Make the table that a question asks for."""
        known = plan.budget.facts
        shown = PresentedTable.of(plan.question, plan.tables, ReleasedBlocks(known, blocks))
        return cls(plan, blocks, shown, unsafe_seeded)

    def present(self, question: Plan) -> Answer:
        """Show the same numbers as another question asks for them, which must need no others."""
        shown = self.shown.present(question)
        made = replace(self.plan.budget, facts=replace(self.plan.budget.facts, plan=question))
        return Answer(price_question(made), self.blocks, shown, self.unsafe_seeded)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.shown.columns

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that have intervals."""
        return self.shown.numbers

    @property
    def rows(self) -> tuple[tuple[Value, ...], ...]:
        """The released values, row by row."""
        return tuple(self.shown.rows())

    @property
    def guarantee(self) -> Guarantee:
        """What the answer cost."""
        return self.plan.guarantee

    def column(self, name: str) -> tuple[Value, ...]:
        """Return one column of values."""
        return tuple(self.shown.values(name))

    def interval(
        self, name: str, confidence: checks.Number, *, together: bool = True
    ) -> tuple[Interval, ...]:
        """Return (low, high) for every row: all true values of the column lie there with that probability.

        They hold together whatever is asked: `together` is there because a curator's `Reply` has both kinds.

        Those that HAVING and LIMIT leave out are counted: which rows are shown depends on the noise. Where a
        true value is missing, because it divides by 0 say, the interval promises nothing.

        The intervals of quantiles were chosen with their values, for 95 %: they are given for anything less,
        and the declared range for anything more. Of several quantiles there are as many lows and highs.
        """
        checks.instance(bool, together=together)
        level = checks.probability(confidence=confidence)
        return tuple(self.shown.intervals(name, level))

    def to_pandas(self, confidence: checks.Number = _USUAL) -> Any:
        """Return a pandas frame with columns ``name_low`` and ``name_high`` beside each number."""
        return data_frame(dict(self._with_intervals(confidence)))

    def _with_intervals(self, confidence: checks.Number) -> Iterator[tuple[str, list[Any]]]:
        for name in self.columns:
            yield name, list(self.column(name))
            if name in self.numbers:
                ends = self.interval(name, confidence)
                yield f"{name}_low", [low for low, _ in ends]
                yield f"{name}_high", [high for _, high in ends]

    def __len__(self) -> int:
        return len(self.shown)

    def _cells(self) -> list[list[str]]:
        """Print the first rows, aggregates with their interval at 95 %."""
        columns = []
        for name in self.columns:
            empty = "(all)" if name in self.shown.keys else "NULL"
            values = [_show(value, empty) for value in itertools.islice(self.shown.values(name), ROWS)]
            if name in self.numbers:
                triples = zip(self.shown.values(name), self.shown.intervals(name, _USUAL), strict=True)
                values = [_bracket(value, *ends) for value, ends in itertools.islice(triples, ROWS)]
            columns.append([name, *values])
        return [list(row) for row in zip(*columns, strict=True)]

    @property
    def _notes(self) -> list[str]:
        notes = more_rows(len(self))
        notes.append(
            f"[ ] holds all true values of a column at once with probability 95 %; {self.plan.price}"
        )
        if self.plan.caps:  # who reads the number alone would take it for one about all rows
            notes.append(f"true values are of what counts: {'; '.join(self.plan.caps)}")
        counted = [rows for block in self.blocks if (rows := block.count_rows()) is not None]
        notes += describe_answered(self.plan.budget, max(counted)) if counted else ()
        return notes + (["UNSAFE: seeded noise"] if self.unsafe_seeded else [])

    def __repr__(self) -> str:
        return text_table(self._cells(), self._notes)

    def _repr_html_(self) -> str:
        return html_table(self._cells(), self._notes)


def _bracket(value: Value, low: Value, high: Value) -> str:
    """Print a value with its interval, and several with one each."""
    if isinstance(value, tuple) and isinstance(low, tuple) and isinstance(high, tuple):
        return ", ".join(_bracket(*each) for each in zip(value, low, high, strict=True))
    return f"{_show(value)} [{_show(low)}, {_show(high)}]"


def _show(value: Value, empty: str = "NULL") -> str:
    return empty if value is None else value_text(value)
