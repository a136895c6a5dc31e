"""Values on a declared grid: real numbers in, integers through the noise, grid values out.

Float addition leaks the low bits of the data, so noise is only ever added to integers. A grid says how
a value becomes an integer; the way back is post-processing.

Rounding to the nearest multiple of the unit keeps order and commutes with whole steps, so a value that
moves by at most m units moves its rounded value by at most ceil(m) units; a vector can lose one more
unit in every coordinate that moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter

LIMIT = 1 << 62
"""Values are clamped to this many units either way, so no sum can wrap. Clamping adds no sensitivity."""

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Grid:
    """Multiples of `unit`, or the integers themselves where `unit` is None."""

    unit: Fraction | None

    @property
    def step(self) -> Fraction:
        """The distance between two grid values."""
        return Fraction(1) if self.unit is None else self.unit

    @property
    def rounding(self) -> Fraction:
        """The largest distance between a value and its grid value."""
        return Fraction(0) if self.unit is None else self.unit / 2

    def shift(self, sensitivity: Fraction, size: int) -> int:
        """Return the L1 sensitivity in units after rounding, for `size` coordinates."""
        if self.unit is None:
            return math.floor(sensitivity)
        steps = sensitivity / self.unit
        return math.ceil(steps) if size == 1 else min(math.floor(steps) + size, size * math.ceil(steps))

    def to_units(self, value: Any, size: int) -> int | NDArray[np.int64]:
        """Turn a number, or an array of `size` numbers, into integers. Total: NaN counts as 0.

        Raises
        ------
        InvalidParameter
            For a wrong shape, or for a float type where no grid was declared: both are public facts.
        """
        if isinstance(value, np.ndarray | list | tuple):
            return self._array_to_units(np.asarray(value), size)
        if size != 1:
            raise InvalidParameter(name="data", rule=f"an array of {size} values", value=type(value).__name__)
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | Fraction | np.number):
            raise InvalidParameter(name="data", rule="a number", value=type(value).__name__)
        if self.unit is None:
            self._require_integers(isinstance(value, int | np.integer), type(value).__name__)
            return int(value)
        return self._round(value)

    def from_units(self, units: int | NDArray[np.int64]) -> Any:
        """Turn integers into grid values: integers where the unit is whole, floats otherwise."""
        if self.unit is None or self.unit == 1:
            return units
        if self.unit.denominator == 1 and not isinstance(units, np.ndarray):
            return units * self.unit.numerator
        if isinstance(units, np.ndarray):
            return units * float(self.unit)
        return float(units * self.unit)

    def _array_to_units(self, value: NDArray[Any], size: int) -> NDArray[np.int64]:
        if value.shape != (size,):
            raise InvalidParameter(name="data", rule=f"an array of shape ({size},)", value=value.shape)
        if value.dtype.kind not in "iuf":
            raise InvalidParameter(name="data", rule="an array of numbers", value=value.dtype.name)
        if self.unit is None:
            self._require_integers(value.dtype.kind in "iu", value.dtype.name)
            return np.asarray(np.clip(value, -LIMIT, LIMIT), dtype=np.int64)
        steps = np.nan_to_num(value.astype(np.float64), nan=0.0) / float(self.unit)
        whole = np.floor(steps + 0.5)
        units = np.clip(whole, -float(LIMIT), float(LIMIT)).astype(np.int64)
        # Float division may round across a boundary; those few cells are decided exactly.
        doubtful = np.abs(steps - np.floor(steps) - 0.5) <= 1e-12 * (1 + np.abs(steps))
        for place in np.flatnonzero(doubtful & (np.abs(steps) < 2.0**53)):
            units[place] = self._round(value[place])
        return units

    def _round(self, value: Any) -> int:
        number = value if isinstance(value, int | Fraction) else float(value)
        if isinstance(number, float) and not math.isfinite(number):
            return 0 if math.isnan(number) else int(math.copysign(LIMIT, number))
        return max(-LIMIT, min(LIMIT, math.floor(Fraction(number) / self.step + _HALF)))

    def _require_integers(self, are_integers: bool, kind: str) -> None:
        if not are_integers:
            raise InvalidParameter(
                name="data",
                rule="of an integer type where no grid is declared",
                value=kind,
                hint="Pass grid=, for instance grid=0.01, to release real numbers",
            )
