"""Values on a declared grid: real numbers in, integers through the noise, grid values out.

Float addition leaks the low bits of the data, so noise is only ever added to integers. A grid says how
a value becomes an integer; the way back is post-processing.

Rounding to the nearest multiple of the unit keeps order and commutes with whole steps, so a value that
moves by at most m units moves its rounded value by at most ceil(m) units. In a vector every further
coordinate can round up a vanishing share of the move to one more unit.

Numbers that belong together are added first and rounded once: a thousand entries that move by a thousandth
each would otherwise cross a thousand boundaries.

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
from discreet.core.errors import InvalidParameter
from discreet.core.sensitive import lend
from discreet.mechanisms.reading import (
    GRID_HINT,
    NUMBERS,
    Wording,
    is_column,
    labels,
    make_plain,
    make_plain_array,
    read_entry,
)

LIMIT = 1 << 62
"""Values are clamped to this many units either way, so no sum can wrap. Clamping adds no sensitivity."""

WIDEST = 900
"""Units lie between 2**-WIDEST and 2**WIDEST: there floats divide by them to their full precision, and what
is too large for a float is beyond LIMIT anyhow."""

_EXACT = 1 << 53  # integers below this are floats
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Grid:
    """Multiples of `unit`, or the integers themselves where `unit` is None."""

    unit: Fraction | None

    def __post_init__(self) -> None:
        unit = self.unit
        if unit is None or abs(unit.numerator.bit_length() - unit.denominator.bit_length()) < WIDEST:
            return
        raise InvalidParameter(
            name="grid",
            rule=f"between 2**-{WIDEST} and 2**{WIDEST}",
            got="another number",
            hint="Floats end there: count in larger or smaller units",
        )

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
        numbers = make_plain(value)
        if type(numbers) is np.ndarray:
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
        name are added up before they are rounded, so the result is a fixed function of the labelled numbers.
        """
        entries = list(value.values()) if isinstance(value, Mapping) else make_plain(value)
        if is_column(entries):
            raise wording.not_numbers(entries)
        alone = (
            self._list_to_units(entries, wording)
            if isinstance(entries, list)
            else self._array_to_units(entries, wording)
        )
        places: dict[Any, list[int]] = {name: [] for name in names}
        for place, label in enumerate(labels(value)):
            if label in places:
                places[label].append(place)
        units = (
            int(alone[held[0]]) if len(held) == 1 else self._nearest(*(read_entry(entries[p]) for p in held))
            for held in places.values()
        )
        return np.fromiter(units, dtype=np.int64, count=len(names))

    def from_units(self, units: int | NDArray[Any]) -> Any:
        """Turn integers into grid values: integers where the unit is 1, or whole for one number."""
        if self.unit is None or self.unit == 1:
            return units
        if isinstance(units, np.ndarray):
            top, bottom = self.unit.as_integer_ratio()
            short = max(top, bottom) < _EXACT  # then one division rounds once, as a person would write it
            return units.astype(np.float64) * top / bottom if short else units * float(self.unit)
        return units * self.unit.numerator if self.unit.denominator == 1 else float(units * self.unit)

    def _scalar_to_units(self, value: Any, wording: Wording) -> int:
        if checks.read_number(value) is None:
            raise wording.not_numbers(value)
        if self.unit is None and not isinstance(value, int | np.integer):
            raise wording.not_integers(value)
        number = read_entry(value)
        return self._nearest(number) if self.unit is not None else int(number)

    def _list_to_units(self, values: Sequence[Any], wording: Wording) -> NDArray[np.int64]:
        # One by one: numpy would pick the type of the whole array by its largest value.
        numbers = [read_entry(each) for each in values]
        if self.unit is None and any(each.denominator != 1 for each in numbers if isinstance(each, Fraction)):
            raise wording.not_integers(values)
        return np.array([self._nearest(each) for each in numbers], dtype=np.int64)

    def _array_to_units(self, value: NDArray[Any], wording: Wording) -> NDArray[np.int64]:
        if value.dtype.kind not in "iuf":
            raise wording.not_numbers(value)
        if self.unit is None:
            if value.dtype.kind == "f":
                raise wording.not_integers(value)
            return np.asarray(np.clip(value, -LIMIT, LIMIT), dtype=np.int64)
        with np.errstate(all="ignore"):  # a warning would tell of a value that is large, or none
            steps = value.astype(np.float64) / float(self.unit)
        steps[np.isnan(steps)] = 0.0
        whole = np.floor(steps + 0.5)
        units = np.clip(whole, -float(LIMIT), float(LIMIT)).astype(np.int64)
        # Float division may round across a boundary; those few cells are decided exactly. Beyond the
        # precision of a float every cell is doubtful.
        fine = 8 * max(float(np.finfo(value.dtype).eps), 2.0**-52) if value.dtype.kind == "f" else 2.0**-49
        inside = np.abs(steps) < 2 * LIMIT
        share = np.where(inside, steps, 0.0)
        doubtful = np.abs(share - np.floor(share) - 0.5) <= fine * (1 + np.abs(share))
        for place in np.flatnonzero(doubtful & inside):
            units[place] = self._nearest(read_entry(value[place]))
        return units

    def _nearest(self, *numbers: Fraction | float) -> int:
        """Return the sum of exact or infinite numbers in units. Opposite infinities make NaN, which is 0."""
        infinite = {number for number in numbers if isinstance(number, float)}
        if infinite:
            return int(math.copysign(LIMIT, infinite.pop())) if len(infinite) == 1 else 0
        return max(-LIMIT, min(LIMIT, math.floor(sum(numbers, Fraction(0)) / self.step + _HALF)))


def require_units(units: Fraction | int, **named: Fraction | float) -> None:
    """Refuse a sensitivity that is no unit of the integers: real numbers need a grid."""
    ((name, value),) = named.items()
    if units < 1:
        raise InvalidParameter(name=name, rule=">= 1 for integers", value=value, hint=GRID_HINT)


@dataclass(frozen=True, slots=True)
class Bounds:
    """A declared range on a grid: numbers are rounded, then clamped to the grid values inside it.

    Prices and errors both come from here, so that a clamp that moves a number further than rounding would
    is paid for.
    """

    unit: Fraction
    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        low, high = self.ends
        if not low < high:
            raise InvalidParameter(
                name="upper", rule="such that two grid values lie between lower and upper", value=self.upper
            )

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last grid value inside, in units."""
        return math.ceil(self.lower / self.unit), math.floor(self.upper / self.unit)

    @property
    def width(self) -> int:
        """How many units a clamped number can move."""
        low, high = self.ends
        return high - low

    @property
    def rounding(self) -> Fraction:
        """The largest distance between a number inside the bounds and what becomes of it."""
        low, high = self.ends
        return max(self.unit / 2, low * self.unit - self.lower, self.upper - high * self.unit)

    def clamp(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move units to the nearest end where they lie outside."""
        return np.clip(units, *self.ends)

    def to_units(self, number: Fraction) -> int:
        """Round one number and clamp it."""
        low, high = self.ends
        return max(low, min(high, math.floor(number / self.unit + _HALF)))


def evaluate_finite(function: Callable[[Any], Any], rows: Any, otherwise: Fraction) -> Fraction:
    """Evaluate a stranger's function on a loan of private rows so that only a finite number can come out.

    An exception, NaN, an infinity or anything that is not a number becomes `otherwise`: an error message
    would be an answer that nobody paid for.
    """

    def evaluate() -> Fraction:
        value = function(lend(rows))
        if isinstance(value, np.ndarray) and value.size == 1:
            value = make_plain_array(value).item()
        return checks.exact(value=value)

    return shield(evaluate, otherwise)


def shield(evaluate: Callable[[], Fraction | int], otherwise: Fraction) -> Fraction:
    """Return what a computation with a stranger's function comes to, or `otherwise` if anything goes wrong.

    SystemExit, KeyboardInterrupt and whatever else can be raised would carry data outside just as well as an
    error, and so would a number with methods of its own: what comes back is a plain fraction.
    """
    try:
        number = evaluate()
        return Fraction(int(number.numerator), int(number.denominator))
    except BaseException:  # whatever the function does wrong must look the same
        return otherwise
