"""Answers: released values with their error bars, what they cost, and nothing else."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.errors import InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.rounding import down, up
from discreet.core.shown import ROWS, data_frame, html_table, more_rows, text_table, value_text
from discreet.data.plan.facts import Measure
from discreet.data.plan.nodes import Aggregate, Span
from discreet.data.pricing.budget import CONFIDENCE, Side, Vector
from discreet.data.pricing.estimates import Number, enclosure, estimate, plain
from discreet.data.pricing.question_plan import QuestionPlan

Value = bool | int | float | str | datetime.date | tuple[Number, ...] | None
"""What a cell of an answer may hold; None for a key that its grouping set leaves out."""

End = Number | tuple[Number, ...]
"""An end of an interval: of several quantiles, one each."""

Interval = tuple[End, End]

Triple = tuple[int, int, int]

_USUAL = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class NoisyVector:
    """A measured vector: one noisy number a group."""

    vector: Vector
    values: tuple[int, ...]

    def point(self, place: int) -> Fraction:
        """Return the best guess of the true number: the middle of what the dropped digits leave open."""
        size = 1 << self.vector.dropped
        return Fraction(self.values[place] * size) + Fraction(size - 1, 2)

    def box(self, place: int, beta: float) -> Span:
        """Return between which numbers the true one lies, but for probability beta.

        A group that a threshold let through has noise that helped it to be there. So its lower end is where
        the threshold itself is: each group is below it with a probability that delta has paid for.
        """
        size, reach = 1 << self.vector.dropped, self.vector.noise.reach(beta)
        below = reach if self.vector.threshold is None else max(reach, self.vector.threshold - 2)
        low, high = self.values[place] - below, self.values[place] + reach
        return low * size, high * size + size - 1


class Chosen(NamedTuple):
    """A quantile or an end of its interval: which one, and its value in every group."""

    point: Fraction
    side: Side
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """The groups of one grouping set with everything released about them."""

    keys: tuple[tuple[Value, ...], ...]
    measured: Mapping[Measure, NoisyVector]
    chosen: Mapping[Measure, Sequence[Chosen]]

    def noisy(self, measures: Sequence[Measure]) -> list[NoisyVector]:
        """Return the vectors of some measures."""
        return [self.measured[measure] for measure in measures]

    def quantiles(self, measure: Measure, points: Sequence[Fraction], place: int) -> list[Triple]:
        """Return lower end, value and upper end of the quantiles of a group, in steps.

        The true quantiles ascend, so the values are put in order, no lower end is below that of a smaller
        quantile, and no upper end above that of a larger one. An interval holds its value too.
        """
        sides: dict[int, dict[Fraction, int]] = {-1: {}, 0: {}, 1: {}}
        for one in self.chosen[measure]:
            sides[one.side][one.point] = one.values[place]
        known = sorted(sides[0])
        lows, values, highs = ([found[point] for point in known] for found in sides.values())
        lows = list(itertools.accumulate(lows, max))
        highs = list(itertools.accumulate(reversed(highs), min))[::-1]
        triples = zip(lows, sorted(values), highs, strict=True)
        found = dict(zip(known, ((min(a, v), v, max(b, v)) for a, v, b in triples), strict=True))
        return [found[point] for point in points]


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column of the answer: the place of a key, or an aggregate with its measures."""

    name: str
    what: int | Aggregate
    measures: tuple[Measure, ...] = ()

    def value(self, block: Block, place: int) -> Value:
        """Return the released value of a group."""
        if isinstance(self.what, int):
            return block.keys[place][self.what]
        if self.what.kind == "quantile":
            found = block.quantiles(self.measures[0], self.what.points, place)
            return self._plain([value for _, value, _ in found], float)
        measured = [noisy.point(place) for noisy in block.noisy(self.measures)]
        return estimate(self.what.kind, self.measures, measured)

    def intervals(self, blocks: Sequence[Block], confidence: Fraction) -> Iterator[Interval]:
        """Yield one interval a group; all hold at once with the given probability."""
        if isinstance(self.what, int):
            raise InvalidParameter(name="name", rule="an aggregate of the answer", value=self.name)
        groups = sum(len(block.keys) for block in blocks)
        if self.what.kind == "quantile":
            for block in blocks:
                for place in range(len(block.keys)):
                    yield self._between(block, place, self.what.points, confidence)
            return
        beta = each_of(max(1, groups * len(self.measures)), 1 - confidence)
        for block in blocks:
            vectors = block.noisy(self.measures)
            for place in range(len(block.keys)):
                box = [noisy.box(place, beta) for noisy in vectors]
                yield enclosure(self.what.kind, self.measures, box)

    def _between(
        self, block: Block, place: int, points: tuple[Fraction, ...], confidence: Fraction
    ) -> Interval:
        """Return the chosen ends of a group's quantiles, or the declared range where those promise less."""
        if confidence <= CONFIDENCE:
            found = block.quantiles(self.measures[0], points, place)
        else:
            low, high = self.measures[0].row
            found = [(low, low, high)] * len(points)
        return self._plain([low for low, _, _ in found], down), self._plain([high for *_, high in found], up)

    def _plain(self, steps: Sequence[int], rounded: Callable[[Fraction], float]) -> End:
        unit = self.measures[0].unit
        values = tuple(plain(step * unit, unit, rounded) for step in steps)
        return values[0] if len(values) == 1 else values


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The answer to one question: rows of released values, with intervals and what they cost.

    Groups of declared keys are all there, whatever the data hold. Rows are sorted by the keys as they were
    selected, the first one first, declared values in their order; groups that a threshold let through too.

    Attributes
    ----------
    plan
        Price, noise and errors: the same as before the question was asked.
    unsafe_seeded
        Whether the noise came from a seeded generator.
    """

    plan: QuestionPlan
    outputs: tuple[AnswerColumn, ...]
    blocks: tuple[Block, ...]
    unsafe_seeded: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(output.name for output in self.outputs)

    @property
    def rows(self) -> tuple[tuple[Value, ...], ...]:
        """The released values, row by row."""
        return tuple(
            tuple(output.value(block, place) for output in self.outputs)
            for block in self.blocks
            for place in range(len(block.keys))
        )

    @property
    def guarantee(self) -> Guarantee:
        """What the answer cost."""
        return self.plan.guarantee

    def column(self, name: str) -> tuple[Value, ...]:
        """Return one column of values."""
        return tuple(self._values(self._output(name)))

    def interval(self, name: str, confidence: checks.Number) -> tuple[Interval, ...]:
        """Return (low, high) for every row: all true values of the column lie there with that probability.

        The intervals of quantiles were chosen with their values, for 95 %: they are given for anything less,
        and the declared range for anything more. Of several quantiles there are as many lows and highs.
        """
        level = checks.probability(confidence=confidence)
        return tuple(self._output(name).intervals(self.blocks, level))

    def to_pandas(self, confidence: checks.Number = _USUAL) -> Any:
        """Return a pandas frame with columns ``name_low`` and ``name_high`` beside each aggregate."""
        return data_frame(dict(self._with_intervals(confidence)))

    def _with_intervals(self, confidence: checks.Number) -> Iterator[tuple[str, list[Any]]]:
        for output in self.outputs:
            yield output.name, list(self.column(output.name))
            if isinstance(output.what, Aggregate):
                ends = self.interval(output.name, confidence)
                yield f"{output.name}_low", [low for low, _ in ends]
                yield f"{output.name}_high", [high for _, high in ends]

    def _values(self, output: AnswerColumn) -> Iterator[Value]:
        places = ((block, place) for block in self.blocks for place in range(len(block.keys)))
        return (output.value(block, place) for block, place in places)

    def _output(self, name: str) -> AnswerColumn:
        for output in self.outputs:
            if output.name == name:
                return output
        raise InvalidParameter(name="name", rule=f"one of {', '.join(self.columns)}", value=name)

    def __len__(self) -> int:
        return sum(len(block.keys) for block in self.blocks)

    def _cells(self) -> list[list[str]]:
        """Print the first rows, aggregates with their interval at 95 %."""
        columns = []
        for output in self.outputs:
            if isinstance(output.what, Aggregate):
                triples = zip(self._values(output), output.intervals(self.blocks, _USUAL), strict=True)
                shown = [_bracket(value, *ends) for value, ends in itertools.islice(triples, ROWS)]
            else:
                shown = [_show(value) for value in itertools.islice(self._values(output), ROWS)]
            columns.append([output.name, *shown])
        return [list(row) for row in zip(*columns, strict=True)]

    @property
    def _notes(self) -> list[str]:
        notes = more_rows(len(self))
        notes.append(
            f"[ ] holds all true values of a column at once with probability 95 %; {self.plan.price}"
        )
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


def _show(value: Value) -> str:
    return "(all)" if value is None else value_text(value)
