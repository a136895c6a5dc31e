"""The burn-down chart: what was left of a budget over time, as shapes that a page draws.

It follows from the plain values of a registry alone, so that whoever has an export can draw it again. A page
gives the shapes their colours, by class; nothing of it is script or style.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.server.registry.decimals import read_time, write_percent_down, write_time

WIDTH, HEIGHT = 720, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 14, 16, 40
_DAY = 86_400
_FARTHEST = 3  # a forecast is drawn up to so many times what was seen

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ChartLabel:
    """Words at a place."""

    x: float
    y: float
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class BurnDownChart:
    """Shapes, in a frame of `WIDTH` by `HEIGHT`.

    Attributes
    ----------
    words
        What it shows, for those who do not see it.
    heights
        Where the lines of the grid are.
    labels
        Words along both axes, and what is left now.
    left, forecast
        What was left, step by step, and where that leads; no points where it leads nowhere.
    now
        Where it is.
    """

    words: str
    heights: tuple[float, ...]
    labels: tuple[ChartLabel, ...]
    left: tuple[Place, ...]
    forecast: tuple[Place, ...]
    now: Place
    width: int = WIDTH
    height: int = HEIGHT
    edges: tuple[int, int] = (_LEFT, WIDTH - _RIGHT)


def draw_chart(told: dict[str, Any]) -> BurnDownChart | None:
    """Return the chart of a registry; None where there is nothing to draw."""
    course = [(read_time(one["time"]), float(one["left"])) for one in told["course"]]
    if not course:
        return None
    (first, _), (now, part) = course[0], course[-1]
    seen = max(now - first, _DAY)
    is_over = told["burn"] is None or told["burn"]["ends"] is None or told["retired"] is not None or not part
    ends = None if is_over else read_time(told["burn"]["ends"])
    last = first + seen if ends is None else min(max(ends, first + seen), now + _FARTHEST * seen)
    frame = _Frame(first, last)
    return BurnDownChart(
        words=f"What was left of the budget for questions, from {_day(first)} to {_day(now)}: {part:.1%}",
        heights=tuple(frame.place(first, part)[1] for part in _PARTS),
        labels=(*frame.list_labels(), frame.label_now(now, part)),
        left=frame.step(course),
        forecast=() if ends is None else frame.aim(now, part, ends),
        now=frame.place(now, part),
    )


_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)


class _Frame:
    """Where moments and parts are drawn."""

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last

    def place(self, time: float, part: float) -> Place:
        across = (time - self._first) / (self._last - self._first)
        x = _LEFT + across * (WIDTH - _LEFT - _RIGHT)
        return round(x, 1), round(_TOP + (1 - part) * (HEIGHT - _TOP - _BOTTOM), 1)

    def step(self, course: Iterable[tuple[int, float]]) -> tuple[Place, ...]:
        """Return a course as it was: it stays until it falls."""
        path: list[Place] = []
        for x, y in (self.place(*one) for one in course):
            if path and path[-1][1] != y:
                path.append((x, path[-1][1]))
            path.append((x, y))
        return tuple(path)

    def aim(self, now: int, part: float, ends: int) -> tuple[Place, ...]:
        """Return the straight line to the end, or as much of it as there is room for."""
        if ends <= self._last:
            return self.place(now, part), self.place(ends, 0.0)
        rest = part * (ends - self._last) / (ends - now)
        return self.place(now, part), self.place(self._last, rest)

    def label_now(self, now: int, part: float) -> ChartLabel:
        """Return what is left, beside the place where it is, above the line that leads from there."""
        (x, y), is_early = self.place(now, part), 2 * (now - self._first) < self._last - self._first
        words = f"{write_percent_down(Fraction(part))} left"
        return ChartLabel(
            x + 10 if is_early else x - 10, max(y - 8, 12.0), "start" if is_early else "end", words
        )

    def list_labels(self) -> tuple[ChartLabel, ...]:
        labels = []
        for part in _PARTS:
            x, y = self.place(self._first, part)
            labels.append(ChartLabel(x - 8, y + 4, "end", f"{part:.0%}"))
        for across, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
            time = int(self._first + across * (self._last - self._first))
            if anchor == "middle" and _day(time) in (_day(self._first), _day(int(self._last))):
                continue  # the day is told at its edge
            x, y = self.place(time, 0.0)
            labels.append(ChartLabel(x, y + 28, anchor, _day(time)))
        return tuple(labels)


def _day(seconds: int) -> str:
    day = datetime.date.fromisoformat(write_time(seconds)[:10])
    return f"{day.day} {day:%b %Y}"
