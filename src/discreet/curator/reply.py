"""What an analyst gets back: values with error bars, where they came from, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self

from discreet.core.errors import InvalidParameter
from discreet.core.shown import ROWS, data_frame, html_table, more_rows, text_table, value_text
from discreet.data.plan.nodes import Aggregate
from discreet.data.pricing.answer import Answer

Kind = Literal["free", "measured", "stale", "priced"]
Interval = tuple[Any, Any]

_WORDS: dict[Kind, str] = {
    "free": "answered from the shared hypothesis at no cost",
    "measured": "measured, and learnt by the shared hypothesis: paid for when the curator opened",
    "stale": "answered from the hypothesis without a check: its error is not known",
    "priced": "answered by itself",
}


@dataclass(frozen=True, slots=True, repr=False)
class Reply:
    """A table of answers. Public once it is given.

    Attributes
    ----------
    columns, rows
        Names, and values row by row; None for a key that its grouping set leaves out.
    intervals
        For every column of numbers, (low, high) a row: all true values of the column lie there with
        probability 95 %.
    kind
        "free", "measured" or "stale" where the shared hypothesis answered, "priced" where the question was
        answered by itself.
    cost
        What the budget was charged for this question.
    repeated
        Whether it was given before: then these are the same numbers, at no further cost.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    intervals: Mapping[str, tuple[Interval, ...]]
    kind: Kind
    cost: Mapping[str, Fraction]
    repeated: bool = False

    @classmethod
    def of(cls, answer: Answer, cost: Mapping[str, Fraction]) -> Self:
        """Make the reply of a question that was answered by itself."""
        numbers = [output.name for output in answer.outputs if isinstance(output.what, Aggregate)]
        intervals = {name: answer.interval(name, Fraction(95, 100)) for name in numbers}
        return cls(answer.columns, answer.rows, intervals, "priced", cost)

    def again(self, columns: tuple[str, ...]) -> Self:
        """Return a copy with the same numbers under other names, marked as repeated."""
        names = dict(zip(self.columns, columns, strict=True))
        intervals = {names[name]: ends for name, ends in self.intervals.items()}
        return replace(self, columns=columns, intervals=intervals, repeated=True, cost={})

    def column(self, name: str) -> tuple[Any, ...]:
        """Return one column of values."""
        if name not in self.columns:
            raise InvalidParameter(name="name", rule=f"one of {', '.join(self.columns)}", value=name)
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def to_pandas(self) -> Any:
        """Return a pandas frame with columns ``name_low`` and ``name_high`` beside each number."""
        frame: dict[str, Sequence[Any]] = {}
        for name in self.columns:
            frame[name] = self.column(name)
            if name in self.intervals:
                frame[f"{name}_low"] = [low for low, _ in self.intervals[name]]
                frame[f"{name}_high"] = [high for _, high in self.intervals[name]]
        return data_frame(frame)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def _cells(self) -> list[list[str]]:
        cells = [list(self.columns)]
        for place, row in enumerate(self.rows[:ROWS]):
            shown = []
            for name, value in zip(self.columns, row, strict=True):
                ends = self.intervals.get(name)
                bar = "" if ends is None else f" [{_shown(ends[place][0])}, {_shown(ends[place][1])}]"
                shown.append(_shown(value) + bar)
            cells.append(shown)
        return cells

    @property
    def _notes(self) -> list[str]:
        paid = ", ".join(f"{name} {float(amount):.3g}" for name, amount in self.cost.items() if amount)
        words = "given before, at no further cost" if self.repeated else f"charged {paid or 'nothing'}"
        sure = "[ ] holds all true values of a column at once with probability 95 %"
        return [*more_rows(len(self)), f"{sure}; {_WORDS[self.kind]}; {words}"]

    def __repr__(self) -> str:
        return text_table(self._cells, self._notes)

    def _repr_html_(self) -> str:
        return html_table(self._cells, self._notes)


def _shown(value: Any) -> str:
    return "(all)" if value is None else value_text(value)
