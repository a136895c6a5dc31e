"""What a collector learns from parities: shares of all combinations of a few attributes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers, fix_array
from discreet.core.rounding import above, below, up
from discreet.local.frequencies.estimates import project
from discreet.local.laws.parities import ParityKernel, list_sets

if TYPE_CHECKING:
    from discreet.local.statistics.fourier_marginals import FourierMarginals

_TURN = np.array([[1.0, 1.0], [1.0, -1.0]])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MarginalEstimate:
    """Estimated parities, and all that follows from them.

    Attributes
    ----------
    survey
        The protocol, with the number of people who reported.
    means
        For each set of attributes, the mean of 1 where its parity is even and -1 where it is odd.
    counts
        How many people reported about each set.
    """

    survey: FourierMarginals
    means: Floats
    counts: Integers

    @property
    def people(self) -> int:
        """How many reports there were."""
        return self.survey.people

    def parity(self, names: Iterable[str]) -> float:
        """Return the share of people who have the second value of an odd number of these attributes."""
        (place,) = self._locate(self._read_axes(names))[-1:]
        return (1 - float(self.means[place])) / 2

    def marginal(self, names: Iterable[str], *, consistent: bool = False) -> Floats:
        """Return the share of each combination of values of a few attributes, in the universe's order.

        A cell is the mean of the parities of all subsets, each with the sign that its values give: [Roth10]
        equation 6.1 the other way round. That makes no error larger, where the printed direction multiplies
        errors by (3**width - 1) / 2.

        Parameters
        ----------
        names
            The attributes.
        consistent
            Whether to return the nearest shares that are not negative and add up to 1.
        """
        axes = self._read_axes(names)
        parities = np.concatenate([[1.0], self.means[self._locate(axes)]])
        table = parities.reshape((2,) * len(axes))
        for axis in range(len(axes)):
            table = np.moveaxis(np.tensordot(_TURN, table, axes=(1, axis)), 0, axis) / 2
        found: Floats = project(table.reshape(-1), 1.0).reshape(table.shape) if consistent else table
        return found

    def share(self, conditions: Any) -> float:
        """Return the share of people of whom all conditions hold, each a value of an attribute."""
        if not isinstance(conditions, Mapping) or not conditions:
            raise InvalidParameter(name="conditions", rule="a value for each of some attributes", got="none")
        universe = self.survey.universe
        axes = self._read_axes(conditions)
        place = tuple(universe.code(axis, conditions[universe.names[axis]]) for axis in axes)
        return float(self.marginal(conditions)[place])

    def standard_error(self, names: Iterable[str]) -> float:
        """Return the largest standard deviation of the cells of a marginal."""
        axes = self._read_axes(names)
        counts = np.maximum(self.counts[self._locate(axes)], 1)
        spread = np.sqrt((1 / counts).sum()) / float(self.survey.parities.contrast)
        return float(spread / 2 ** len(axes))

    def error(self, beta: checks.Number) -> float:
        """Return what no cell of any marginal is off by, all at once, but for a probability beta.

        It is about what has no bias: `consistent` cells, closer all together, may each be off by twice that.
        """
        risk = below(float(checks.probability(beta=beta))) / self.survey.sets
        return bound_cells(self.survey.parities, self.counts, risk)

    def __repr__(self) -> str:
        survey, off = self.survey, f"{self.error(0.05):.4g} (95 %, all at once)"
        what = f"marginals of up to {survey.width} of {len(survey.universe.shape)} attributes"
        return f"<{what} ± {off}, {self.people} reports, each {survey.words}>"

    def _read_axes(self, names: Iterable[str]) -> tuple[int, ...]:
        axes = self.survey.universe.axes(names)
        if not 1 <= len(axes) <= self.survey.width:
            rule = f"from 1 to {self.survey.width} attributes"
            raise InvalidParameter(name="names", rule=rule, value=len(axes))
        return axes

    def _locate(self, axes: tuple[int, ...]) -> list[int]:
        """Return the places of all subsets but the empty one, in the order of the cells of a table."""
        known = _find_places(len(self.survey.universe.shape), self.survey.width)
        cells = itertools.islice(itertools.product((0, 1), repeat=len(axes)), 1, None)
        return [known[sum(1 << axis for axis, on in zip(axes, cell, strict=True) if on)] for cell in cells]


def bound_cells(kernel: ParityKernel, counts: Integers, risk: float) -> float:
    """Return what no cell strays by where sets have so many reports, each but for a probability `risk`."""
    parities = up(1 / kernel.contrast) * np.sqrt(2 * math.log(2 / risk) / np.maximum(counts, 1))
    return above(float(np.where(counts, parities, 1.0).max()) * (1 - 2.0**-kernel.together), steps=16)


@lru_cache(maxsize=16)
def list_masks(length: int, width: int) -> Integers:
    """Return all sets of up to `width` places, as bits."""
    return fix_array(np.fromiter(list_sets(length, width), dtype=np.int64))


@lru_cache(maxsize=16)
def _find_places(length: int, width: int) -> dict[int, int]:
    return {int(mask): place for place, mask in enumerate(list_masks(length, width))}
