"""What an analyst gets back: values with error bars, where they came from, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self

from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter, NoBound
from discreet.core.shown import ROWS, data_frame, html_table, more_rows, text_table, value_text
from discreet.curator.amounts import Amounts
from discreet.curator.history import Quote
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.limits import require_shown
from discreet.data.plan.nodes import Plan
from discreet.data.pricing.answer import Answer
from discreet.data.pricing.presented import PresentedTable, ReleasedNumbers
from discreet.data.pricing.question_plan import ColumnError

Kind = Literal["free", "measured", "stale", "priced"]
Interval = tuple[Any, Any]

CONFIDENCE = Fraction(95, 100)
"""What the intervals of every reply hold with."""

_WORDS: dict[Kind, str] = {
    "free": "answered from the shared hypothesis at no cost",
    "measured": "measured, and learnt by the shared hypothesis: paid for when the curator opened",
    "stale": "answered from the hypothesis without a check: no error is proved",
    "priced": "answered by itself",
}


@dataclass(frozen=True, slots=True)
class SentReply:
    """What a reply from another process says of the numbers that stayed there.

    Attributes
    ----------
    keys
        The columns that rows are grouped by.
    groups
        How many groups were released, shown or not.
    together
        The intervals that hold for all counts of all questions at once; None of a priced question.
    """

    keys: tuple[str, ...]
    groups: int
    together: Mapping[str, tuple[Interval, ...]] | None


@dataclass(frozen=True, slots=True, repr=False)
class Reply:
    """A table of answers. Public once it is given.

    Attributes
    ----------
    columns, rows
        Names, and values row by row; None for a key that its grouping set leaves out.
    intervals
        For every column of numbers, (low, high) a row, at 95 %. Where the shared hypothesis answered, each
        true value lies there by itself, which is calibrated on made-up tables; where the question was
        answered by itself, all true values of the column at once, which is proved.
    kind
        "free", "measured" or "stale" where the shared hypothesis answered, "priced" where the question was
        answered by itself.
    cost
        What the budget was charged for this question.
    repeated
        Whether it was given before: then these are the same numbers, at no further cost.
    answer
        What the numbers of a priced question came from.
    shown
        The released numbers behind the table: the same ones can be shown in another form.
    proved
        Where the shared hypothesis answered: the same numbers with intervals that hold for all counts of all
        questions at once with probability 95 %, which is proved.
    receipt
        What proves later that the charge was made; None where nothing was charged, where the budget dies with
        the process, and under a promise between analysts: the place of a row tells how many others asked.
    caps
        How much of one unit counts, in words: numbers and intervals are about that, not about all rows.
    sent
        Of a reply that came from another process: what it says of the numbers that stayed there.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    intervals: Mapping[str, tuple[Interval, ...]]
    kind: Kind
    cost: Amounts
    repeated: bool = False
    answer: Answer | None = None
    shown: PresentedTable | None = None
    proved: ReleasedNumbers | None = None
    receipt: Receipt | None = None
    caps: tuple[str, ...] = ()
    sent: SentReply | None = None

    @classmethod
    def of(cls, answer: Answer, cost: Mapping[str, Fraction]) -> Self:
        """Make the reply of a question that was answered by itself."""
        made = cls.of_table(answer.shown, "priced")
        return replace(made, cost=Amounts(cost), answer=answer, caps=answer.plan.caps)

    @classmethod
    def of_table(cls, shown: PresentedTable, kind: Kind, *, proved: ReleasedNumbers | None = None) -> Self:
        """Make the reply that shows released numbers; `proved` are the same with other intervals."""
        intervals = {name: tuple(shown.intervals(name, CONFIDENCE)) for name in shown.numbers}
        rows = tuple(shown.rows())
        return cls(shown.columns, rows, intervals, kind, Amounts(), shown=shown, proved=proved)

    def repeat(self, question: Plan) -> Self:
        """Return the same numbers as a question asks for them, marked as repeated.

        Raises
        ------
        Refused
            Where they are to be shown in a form that takes too much work.
        """
        if self.shown is None:
            raise InternalError("a reply that was put together is not repeated")
        before = self.shown.question
        if [one.what for one in question.outputs] == [one.what for one in before.outputs] and (
            (question.after, question.branches) == (before.after, before.branches)
        ):
            return self._rename(tuple(output.name for output in question.outputs))
        require_shown(question, groups=self.groups)
        answer = None if self.answer is None else self.answer.present(question)
        shown = self.shown.present(question) if answer is None else answer.shown
        made = self.of_table(shown, self.kind, proved=self.proved)
        return replace(made, repeated=True, answer=answer, caps=self.caps)

    def copy(self) -> Self:
        """Return a copy of its own, marked as repeated: who has this one may write in it."""
        return self._rename(self.columns)

    def again(self) -> Self:
        """Return a copy of its own that says the same: the reply to a request that comes a second time."""
        return replace(self, intervals=dict(self.intervals), cost=Amounts(self.cost))

    def _rename(self, columns: tuple[str, ...]) -> Self:
        names = dict(zip(self.columns, columns, strict=True))
        intervals = {names[name]: ends for name, ends in self.intervals.items()}
        return replace(
            self, columns=columns, intervals=intervals, repeated=True, cost=Amounts(), receipt=None
        )

    @property
    def together(self) -> dict[str, tuple[Interval, ...]]:
        """The intervals that hold for all counts of all questions at once; none of a priced question."""
        return {name: self._together(name) for name in self.intervals} if self.is_proved else {}

    @property
    def is_proved(self) -> bool:
        """Whether it has intervals that hold for all counts of all questions at once."""
        return self.proved is not None or (self.sent is not None and self.sent.together is not None)

    def _together(self, name: str) -> tuple[Interval, ...]:
        if self.sent is not None and self.sent.together is not None:
            return self.sent.together[name]
        if self.shown is None or self.proved is None:
            raise InternalError("only the hypothesis has two intervals")
        # The numbers behind a reply may go by other names.
        place = self._place(name)
        table = replace(self.shown, released=self.proved)
        return tuple(table.intervals(table.columns[place], CONFIDENCE))

    @property
    def groups(self) -> int:
        """How many groups were released, shown or not."""
        if self.sent is not None:
            return self.sent.groups
        return len(self) if self.shown is None else len(self.shown.released)

    def column(self, name: str) -> tuple[Any, ...]:
        """Return one column of values."""
        place = self._place(name)
        return tuple(row[place] for row in self.rows)

    def interval(
        self, name: str, confidence: checks.Number, *, together: bool = False
    ) -> tuple[Interval, ...]:
        """Return (low, high) for every row: the true value of the column lies there with that probability.

        What the shared hypothesis answers, or another process sent, is known at 95 %: that is given for
        anything less.

        Parameters
        ----------
        name, confidence
            The column, and the probability.
        together
            Whether intervals of the shared hypothesis shall hold for all counts of all questions at once,
            which is proved, and not only each by itself, which is calibrated. Intervals of a question that
            was answered by itself always hold for all its rows at once.

        Raises
        ------
        NoBound
            Where more than 95 % is asked for, and only that is known.
        """
        level, place = checks.probability(confidence=confidence), self._place(name)
        if name not in self.intervals:
            raise InvalidParameter(name="name", rule="a column of numbers", value=name)
        if self.answer is not None:
            return self.answer.interval(self.answer.columns[place], level)
        if level <= CONFIDENCE:
            return self._together(name) if together and self.is_proved else self.intervals[name]
        sent = self.sent is not None and self.kind == "priced"
        raise NoBound(
            what=f"an interval at {float(level):g}",
            why=f"{'what was sent has its' if sent else 'the shared hypothesis knows its'} "
            f"{'intervals' if sent else 'errors'} at {float(CONFIDENCE):g}",
            way_out="Ask for that" + ("" if sent else ", or buy an answer of its own with fresh=True"),
        )

    def quote(self) -> Quote:
        """Return what asking the same again would cost, and its errors: those that it has."""
        return Quote("repeated", _errors(self.intervals), together=_errors(self.together))

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise InvalidParameter(name="name", rule=f"one of {', '.join(self.columns)}", value=name)
        return self.columns.index(name)

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
    def _names(self) -> tuple[str, ...]:
        """What the columns were called where their numbers were released."""
        return self.columns if self.shown is None else self.shown.columns

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that rows are grouped by."""
        if self.sent is not None:
            return self.sent.keys
        shown = () if self.shown is None else self.shown.keys
        return tuple(name for name, old in zip(self.columns, self._names, strict=True) if old in shown)

    @property
    def _cells(self) -> list[list[str]]:
        cells = [list(self.columns)]
        for place, row in enumerate(self.rows[:ROWS]):
            shown = []
            for name, value in zip(self.columns, row, strict=True):
                ends = self.intervals.get(name)
                bar = "" if ends is None else f" [{_print(ends[place][0])}, {_print(ends[place][1])}]"
                shown.append(_print(value, "(all)" if name in self.keys else "NULL") + bar)
            cells.append(shown)
        return cells

    @property
    def _notes(self) -> list[str]:
        words = "given before, at no further cost" if self.repeated else f"charged {self.cost.paid}"
        sure = "[ ] holds all true values of a column at once with probability 95 %"
        if self.is_proved:
            sure = "[ ] holds 95 of 100 true values, each by itself (calibrated; together=True: all, proved)"
        notes = [*more_rows(len(self)), f"{sure}; {_WORDS[self.kind]}; {words}"]
        return notes + ([f"true values are of what counts: {'; '.join(self.caps)}"] if self.caps else [])

    def __repr__(self) -> str:
        return text_table(self._cells, self._notes)

    def _repr_html_(self) -> str:
        return html_table(self._cells, self._notes)


def _errors(intervals: Mapping[str, tuple[Interval, ...]]) -> tuple[ColumnError, ...]:
    """Return the half width of the widest interval of every column."""
    columns = []
    for name, ends in intervals.items():
        wide = [high - low for low, high in ends if isinstance(low, int | float)]
        half = float(max(wide)) / 2 if wide else None
        words = "the same numbers as before" + ("" if half is None else f", within {half:.6g} at 95 %")
        columns.append(ColumnError(name, half, words))
    return tuple(columns)


def _print(value: Any, empty: str = "NULL") -> str:
    return empty if value is None else value_text(value)
