"""Local reports that tell more than they say."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.audit.museum.exhibit import Exhibit, Exhibited
from discreet.core.neighbours import LocalReport
from discreet.core.rng import Rng
from discreet.local.laws.responses.direct import DirectKernel
from discreet.local.steps import DrawReports

_PAIRS = ((0, 1), (1, 0))
_FAR = ((0, 3), (3, 0))


@dataclass(frozen=True, slots=True, repr=False)
class DailyReports(Exhibited):
    """A value that stays the same, reported on several days; `kept` draws once and repeats what was drawn."""

    days: int = 3
    kept: bool = False

    def _draw(self, data: int, rng: Rng) -> Any:
        step = DrawReports(DirectKernel.make(2, self.epsilon))
        if self.kept:
            return (rng.perform(step, data),) * self.days
        return tuple(rng.perform(step, data) for _ in range(self.days))


@dataclass(frozen=True, slots=True, repr=False)
class LocalNumber(Exhibited):
    """A number between 0 and 1 with noise for that range; `clipped` makes sure that it is one."""

    clipped: bool = False

    def _draw(self, data: int, rng: Rng) -> Any:
        return self._add_noise(min(max(data, 0), 1) if self.clipped else data, rng)


EXHIBITS = (
    Exhibit(
        name="report-fresh-every-day",
        wrong="the same value is reported every day with fresh noise, at the price of one report",
        source="[EPK14] Section 2 warns of it; telemetry that draws anew at each upload",
        shown=DailyReports(Fraction(1), LocalReport()).against(_PAIRS, kept=True),
    ),
    Exhibit(
        name="mean-unclipped",
        wrong="noise for a declared range is added to a number that nobody clipped to it",
        source="means of telemetry whose bounds are a comment",
        shown=LocalNumber(Fraction(1), LocalReport()).against(_FAR, clipped=True),
    ),
)
