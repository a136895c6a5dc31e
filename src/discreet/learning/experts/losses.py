"""What experts lose at each round, declared before the first round.

Losses are private, and nothing about one may decide an exception. So every loss has a meaning: a number
beyond the declared range counts as its nearest end, and what is missing, NaN or no number as the lower one.
What is masked in an array, or missing in a column of whole numbers, is read as 0 before that.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Integers
from discreet.core.neighbours import Event, EventPresence, Neighbours
from discreet.core.parameters import checked, public
from discreet.core.rounding import up
from discreet.mechanisms.reading import make_plain

_FAR = Fraction(10**300)  # beyond every range, and still a float
FINEST = 1 << 24
"""The finest division of a range: floats of 32 bits still tell its steps apart."""


@checked
class Losses:
    """A range of losses, the same for all experts.

    Parameters
    ----------
    lower, upper
        The least and the most that an expert can lose at one round.
    steps
        Into how many equal steps the range is divided. Losses are rounded to the nearest; noise does not grow
        with their number.
    """

    lower: Fraction = public(checks.exact)
    upper: Fraction = public(checks.exact)
    steps: int = public(checks.integer, 1, FINEST, default=1 << 16)

    def _complete(self) -> None:
        if not self.lower < self.upper:
            raise InvalidParameter(name="upper", rule="above lower", value=self.upper)
        if max(abs(self.lower), abs(self.upper), 1 / self.width) > _FAR:
            raise InvalidParameter(
                name="lower", rule="within 1e300 of 0", got="a range that floats cannot tell"
            )

    @property
    def width(self) -> Fraction:
        """How far the range reaches."""
        return self.upper - self.lower

    @property
    def rounding(self) -> float:
        """How much more two rounded losses can be apart than the losses themselves."""
        return up(self.width / self.steps * (1 + Fraction(1, 10**6)))  # floats divide nearly exactly

    def spread(self, neighbours: Neighbours) -> int:
        """Return by how many steps the difference of two experts' sums moves between neighbours."""
        if type(neighbours) is Event:  # one expert's loss rises while the other's falls
            return 2 * self.steps
        if type(neighbours) is EventPresence:  # all sums fall, by different amounts
            return self.steps
        raise InvalidParameter(
            name="neighbours",
            rule="Event() or EventPresence(): an expert is named at every round, so their number is public",
            got=str(neighbours),
        )

    def read_round(self, losses: Any, experts: int) -> Integers:
        """Read the losses of one round as steps above the lower end; None is a round that did not take place.

        Raises
        ------
        InvalidParameter
            For another number of losses, or what is no container of losses by its type.
        """
        plain = make_plain(losses)
        if plain is None:
            return np.zeros(experts, dtype=np.int64)
        if _is_row(plain) and plain.shape == (experts,):
            return self._to_steps(plain)
        if isinstance(plain, list | tuple) and len(plain) == experts:
            return self._to_steps(_read_list(plain))
        raise _refuse(f"{experts} losses, or None")

    def hold_rounds(self, rounds: Any, experts: int) -> Any:
        """Return several rounds as a list, a tuple or an array of their own, by their type alone.

        Raises
        ------
        InvalidParameter
            For an array of another shape, or what is no container of rounds by its type.
        """
        plain = make_plain(rounds)
        if isinstance(plain, list | tuple):
            return tuple(plain)
        if type(plain) is np.ndarray and plain.dtype.kind in "biuf" and plain.shape[1:] == (experts,):
            return plain.copy()
        raise _refuse(f"rounds of {experts} losses")

    def read_rounds(self, rounds: Any, experts: int) -> Integers:
        """Read rounds that are held, a row for each. One of a list that is no round did not take place."""
        if isinstance(rounds, tuple):
            read = [self._to_steps(_read_listed(each, experts)) for each in rounds]
            return np.stack(read) if read else np.zeros((0, experts), dtype=np.int64)
        return self._to_steps(rounds)

    def _to_steps(self, values: Array) -> Integers:
        with np.errstate(all="ignore"):  # a warning would tell of a large loss
            scaled = np.asarray(values, dtype=np.float64)
            if self.lower:
                scaled = scaled - float(self.lower)
            scaled = scaled * float(self.steps / self.width)
            np.rint(scaled, out=scaled)
            np.fmax(scaled, 0.0, out=scaled)  # NaN too
            np.fmin(scaled, float(self.steps), out=scaled)
            return scaled.astype(np.int64)


UNIT = Losses(Fraction(0), Fraction(1))
"""Losses between 0 and 1."""
SIGNED = Losses(Fraction(-1), Fraction(1))
"""Losses between -1 and 1, which move twice as far."""


def _is_row(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biuf" and value.ndim == 1


def _read_listed(losses: Any, experts: int) -> Array:
    try:
        plain = make_plain(losses)
    except Exception:  # whatever is wrong with one round must look the same
        plain = None
    if _is_row(plain) and plain.shape == (experts,):
        return np.asarray(plain)
    if isinstance(plain, list | tuple) and len(plain) == experts:
        return _read_list(plain)
    return np.full(experts, np.nan)


def _read_list(losses: Any) -> Array:
    return np.array([_read_float(each) for each in losses], dtype=np.float64)


def _read_float(value: Any) -> float:
    if type(value) in (bool, np.bool_):
        return float(value)
    number = checks.read_number(value)
    if number is None:
        return math.nan
    return number if isinstance(number, float) else float(min(max(number, -_FAR), _FAR))


def _refuse(rule: str) -> InvalidParameter:
    hint = "Pass a list of numbers for each round, or an array with a row for each: frame.to_numpy()"
    return InvalidParameter(name="losses", rule=rule, got="something else", hint=hint)
