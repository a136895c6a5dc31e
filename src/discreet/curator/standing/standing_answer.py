"""What a standing question has answered so far."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from discreet.core.shown import ROWS, data_frame, html_table, text_table, value_text


@dataclass(frozen=True, slots=True, repr=False)
class StandingAnswer:
    """The numbers of all periods that are over, as far as they were asked for.

    Attributes
    ----------
    name
        What the question is called.
    question
        The question in canonical form.
    is_running
        Whether each number is about all periods so far, not about its own.
    periods
        The first day of every period.
    values, errors
        The number of each, and how far off it may be in 95 of 100 cases: each by itself.
    together
        What none of all its numbers, those to come included, is off by more than, in 95 of 100 cases.
    left
        How many periods are still to come.
    """

    name: str
    question: str
    is_running: bool
    periods: tuple[datetime.date, ...]
    values: tuple[float, ...]
    errors: tuple[float, ...]
    together: float
    left: int

    def interval(self, place: int, *, together: bool = False) -> tuple[float, float]:
        """Return between what the true number of a period lies, at 95 %. No count is negative.

        Parameters
        ----------
        place
            Which of the periods, from 0 on.
        together
            Whether that is to hold for all periods of the question at once.
        """
        off = self.together if together else self.errors[place]
        return max(0.0, self.values[place] - off), max(0.0, self.values[place] + off)

    def to_pandas(self) -> Any:
        """Return a pandas frame with a row for every period."""
        ends = [self.interval(place) for place in range(len(self))]
        return data_frame(
            {
                "period": list(self.periods),
                "value": list(self.values),
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
            }
        )

    def __len__(self) -> int:
        return len(self.periods)

    def _cells(self) -> list[list[str]]:
        """Print the latest rows."""
        first = max(0, len(self) - ROWS)
        rows = [
            [str(self.periods[place]), f"{value_text(round(self.values[place], 1))} {self._ends(place)}"]
            for place in range(first, len(self))
        ]
        return [["period", "so far" if self.is_running else "count"], *rows]

    def _ends(self, place: int) -> str:
        low, high = self.interval(place)
        return f"[{low:.6g}, {high:.6g}]"

    @property
    def _notes(self) -> list[str]:
        earlier = [f"{len(self) - ROWS} earlier periods are not printed"] if len(self) > ROWS else []
        return [*earlier, f"intervals hold at 95 % each; {self.left} periods are still to come"]

    def __repr__(self) -> str:
        return text_table(self._cells(), self._notes)

    def _repr_html_(self) -> str:
        return html_table(self._cells(), self._notes)
