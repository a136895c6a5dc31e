"""Values on a declared grid: real numbers in, integers through the noise, grid values out.

Float addition leaks the low bits of the data, so noise is only ever added to integers. A grid says how
a value becomes an integer; the way back is post-processing.

Rounding to the nearest multiple of the unit keeps order and commutes with whole steps, so a value that
moves by at most m units moves its rounded value by at most ceil(m) units. In a vector every further
coordinate can round up a vanishing share of the move to one more unit.

Floats are read as the decimals a person wrote, as parameters are: 0.05 and -0.05 are exactly 0.1 apart.
A declared sensitivity must hold for the numbers read that way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.mechanisms.reading import NUMBERS, Wording, is_column, is_missing, labels, plain

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
        return math.ceil(sensitivity / self.unit) + size - 1

    def square_shift(self, sensitivity: Fraction, size: int) -> Fraction:
        """Return the square of the L2 sensitivity in units after rounding, for `size` coordinates.

        Where no grid is declared the square is a whole number; the float next below the root of one
        is read as that root, so that ``math.sqrt(3)`` means what it says.
        """
        if self.unit is None:
            return Fraction(math.floor(sensitivity * sensitivity * (1 + Fraction(1, 10**12))))
        steps = sensitivity / self.unit
        if size == 1:
            return Fraction(math.ceil(steps) ** 2)
        # Each coordinate moves by less than one unit more, so the vector by less than sqrt(size) more.
        root = Fraction(math.isqrt(size << 80) + 1, 1 << 40)
        return min((steps + root) ** 2, size * Fraction(math.ceil(steps)) ** 2)

    def to_units(self, value: Any, size: int, wording: Wording = NUMBERS) -> int | NDArray[np.int64]:
        """Turn a number, or `size` numbers, into integers. Total: what is missing or NaN counts as 0.

        Raises
        ------
        InvalidParameter
            For another number of values, or a float type where no grid was declared. It says neither how
            many values came nor what they were.
        """
        numbers = plain(value)
        if isinstance(numbers, np.ndarray):
            if numbers.shape != (size,):
                raise wording.wrong_shape(size)
            return self._array_to_units(numbers, wording)
        if isinstance(numbers, list | tuple):
            if len(numbers) != size:
                raise wording.wrong_shape(size)
            return self._list_to_units(numbers, wording)
        if size != 1 and isinstance(numbers, int | float | Fraction | Decimal | np.number):
            raise wording.wrong_shape(size)
        return self._scalar_to_units(numbers, wording)

    def by_label(
        self, value: Any, names: tuple[Hashable, ...], wording: Wording = NUMBERS
    ) -> NDArray[np.int64]:
        """Turn labelled numbers into integers in the order of declared names.

        A name without a number counts as 0, a number without a declared name is dropped, and numbers of one
        name are added up, so the result is a fixed function of the labelled numbers.
        """
        numbers = list(value.values()) if isinstance(value, Mapping) else plain(value)
        if is_column(numbers):
            raise wording.not_numbers(numbers)
        many = (
            self._list_to_units(numbers, wording)
            if isinstance(numbers, list)
            else self._array_to_units(numbers, wording)
        )
        found: dict[Any, int] = dict.fromkeys(names, 0)
        for label, units in zip(labels(value), many.tolist(), strict=True):
            if label in found:
                found[label] += units
        return np.array([max(-LIMIT, min(LIMIT, each)) for each in found.values()], dtype=np.int64)

    def from_units(self, units: int | NDArray[Any]) -> Any:
        """Turn integers into grid values: integers where the unit is 1, or whole for one number."""
        if self.unit is None or self.unit == 1:
            return units
        if isinstance(units, np.ndarray):
            return units.astype(np.float64) * self.unit.numerator / self.unit.denominator
        return units * self.unit.numerator if self.unit.denominator == 1 else float(units * self.unit)

    def _scalar_to_units(self, value: Any, wording: Wording) -> int:
        if isinstance(value, bool | np.bool_) or not isinstance(
            value, int | float | Fraction | Decimal | np.integer | np.floating
        ):
            raise wording.not_numbers(value)
        if self.unit is not None:
            return self._round(value)
        if not isinstance(value, int | np.integer):
            raise wording.not_integers(value)
        return int(value)

    def _list_to_units(self, values: Sequence[Any], wording: Wording) -> NDArray[np.int64]:
        # One by one: numpy would pick the type of the whole array by its largest value.
        units = [0 if is_missing(each) else self._scalar_to_units(each, wording) for each in values]
        return np.array([max(-LIMIT, min(LIMIT, each)) for each in units], dtype=np.int64)

    def _array_to_units(self, value: NDArray[Any], wording: Wording) -> NDArray[np.int64]:
        if value.dtype.kind not in "iuf":
            raise wording.not_numbers(value)
        if self.unit is None:
            if value.dtype.kind == "f":
                raise wording.not_integers(value)
            return np.asarray(np.clip(value, -LIMIT, LIMIT), dtype=np.int64)
        with np.errstate(over="ignore"):  # a warning would tell of a large value
            steps = np.nan_to_num(value.astype(np.float64), nan=0.0) / float(self.unit)
        whole = np.floor(steps + 0.5)
        units = np.clip(whole, -float(LIMIT), float(LIMIT)).astype(np.int64)
        # Float division may round across a boundary; those few cells are decided exactly. Beyond the
        # precision of a float every cell is doubtful.
        fine = 8 * max(float(np.finfo(value.dtype).eps), 2.0**-52) if value.dtype.kind == "f" else 2.0**-49
        inside = np.abs(steps) < 2 * LIMIT
        share = np.where(inside, steps, 0.0)
        doubtful = np.abs(share - np.floor(share) - 0.5) <= fine * (1 + np.abs(share))
        for place in np.flatnonzero(doubtful & inside):
            units[place] = self._round(value[place])
        return units

    def _round(self, value: Any) -> int:
        if isinstance(value, float | np.floating) and not math.isfinite(value):
            return 0 if math.isnan(value) else int(math.copysign(LIMIT, value))
        if isinstance(value, Decimal):
            value = self._tamed(value)
        return max(-LIMIT, min(LIMIT, math.floor(checks.exact(data=value) / self.step + _HALF)))

    def _tamed(self, value: Decimal) -> Decimal | int:
        """Return a number with the same units: a fraction made of 1E+999999 would take for ever."""
        far = math.ceil(LIMIT * self.step)
        if value.is_nan():
            return 0
        if value.copy_abs() >= far:
            return far if value > 0 else -far
        digits = len(str(math.ceil(2 / self.step)))
        return 0 if value.copy_abs() < Decimal((0, (1,), -digits)) else value


def total(function: Callable[[Any], Any], rows: Any, otherwise: Fraction) -> Fraction:
    """Evaluate a user's function on private rows so that only a finite number can come out.

    An exception, NaN, an infinity or anything that is not a number becomes `otherwise`: an error message
    would be an answer that nobody paid for.
    """
    try:
        value = function(rows)
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.item()
        return checks.exact(value=value)
    except Exception:  # whatever the function does wrong must look the same
        return otherwise
