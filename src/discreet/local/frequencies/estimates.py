"""What a collector learns from reports: counts without bias, how far they stray, and counts that add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks

if TYPE_CHECKING:
    from discreet.local.frequencies.oracle import FrequencyOracle

Floats = NDArray[np.float64]
_SHOWN = 8


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrequencyEstimate:
    """Estimated counts of all values of a domain.

    Attributes
    ----------
    oracle
        The protocol, with the number of people who reported.
    counts
        How many people hold each value: unbiased, so some are below 0.
    """

    oracle: FrequencyOracle
    counts: Floats

    @property
    def people(self) -> int:
        """How many reports there were."""
        return self.oracle.people

    @property
    def shares(self) -> Floats:
        """The same as shares of all people."""
        return self.counts / self.people

    @property
    def standard_errors(self) -> Floats:
        """The standard deviation of each count, with the estimated count in the place of the true one."""
        return self.oracle.deviations(self.counts)

    def error(self, beta: checks.Number) -> float:
        """Return what no count is off by, all at once, but for a probability beta."""
        return self.oracle.error(beta)

    def intervals(self, confidence: checks.Number) -> tuple[Floats, Floats]:
        """Return (low, high): all true counts lie there at once, with that probability."""
        off = self.error(1 - checks.probability(confidence=confidence))
        return np.clip(self.counts - off, 0, self.people), np.clip(self.counts + off, 0, self.people)

    def consistent(self) -> Floats:
        """Return the nearest counts that are not negative and add up to the number of people.

        They are no longer unbiased, and never further from the truth: the true counts are such counts too,
        and a projection moves no point away from any of those.
        """
        return project(self.counts, self.people)

    def top(self, count: int) -> list[tuple[str | int, float]]:
        """Return the values with the largest counts, the largest first."""
        order = np.argsort(-self.counts, kind="stable")[: checks.integer(1, count=count)]
        return [(self.oracle.values.name(int(place)), float(self.counts[place])) for place in order]

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r}: {count:.6g}" for name, count in self.top(_SHOWN))
        more = ", ..." if len(self) > _SHOWN else ""
        return (
            f"{{{shown}{more}}} ± {self.error(0.05):.4g} (95 %, all at once), "
            f"{self.people} reports, each {self.oracle.words}"
        )


def project(counts: Floats, total: float) -> Floats:
    """Return the nearest vector without negative entries whose sum is `total`."""
    ordered = np.sort(counts)[::-1]
    excess = np.cumsum(ordered) - total
    kept = int(np.flatnonzero(ordered * np.arange(1, counts.size + 1) > excess)[-1])
    nearest: Floats = np.maximum(counts - excess[kept] / (kept + 1), 0.0)
    return nearest
