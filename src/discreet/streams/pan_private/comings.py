"""Who came, and how often: read from elements about which no exception may speak."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.mechanisms.reading import type_name

Whole = NDArray[np.int64]

MOST_AT_ONCE = 1 << 31
"""Larger changes count as this many, so that sums of them stay within 64-bit words."""


def read_comings(elements: Any, users: int) -> tuple[Whole, Whole]:
    """Return users and changes. What names no declared user is left out, and what is no number changes by 0.

    Parameters
    ----------
    elements
        A plain list, tuple or one-dimensional array: users, or pairs (user, change).
    users
        How many are declared; a user is a number from 0 to users - 1.

    Raises
    ------
    InvalidParameter
        For an array that holds no whole numbers by its type.
    """
    if isinstance(elements, np.ndarray):
        if elements.dtype.kind not in "iu":
            raise InvalidParameter(
                name="elements",
                rule="users, as whole numbers, or pairs (user, change)",
                got=f"an array of {type_name(elements)}",
                hint="Pass a list, or an array of integers",
            )
        known = elements[(elements >= 0) & (elements < users)].astype(np.int64)
        return known, np.ones(known.size, dtype=np.int64)
    found = [pair for pair in map(_read_one, elements) if 0 <= pair[0] < users]
    who = np.fromiter((user for user, _ in found), dtype=np.int64, count=len(found))
    return who, np.fromiter((change for _, change in found), dtype=np.int64, count=len(found))


def add_up(users: Whole, changes: Whole) -> tuple[Whole, Whole]:
    """Return every user that came once, and what the changes of each come to."""
    if users.size == 1:
        return users, changes
    who, places = np.unique(users, return_inverse=True)
    came = np.zeros(who.size, dtype=np.int64)
    np.add.at(came, places, changes)
    return who, came


def _read_one(element: Any) -> tuple[int, int]:
    """Return user and change; user -1 for what names none."""
    if type(element) is int:
        return element, 1
    if type(element) in (tuple, list):
        return (_read_whole(element[0]) if len(element) == 2 else -1), read_change(element)
    return _read_whole(element), 1


def read_change(element: Any) -> int:
    """Return how often a user came: once where an element says nothing, never where it says no number."""
    if type(element) not in (tuple, list):
        return 1
    change = _read_whole(element[1], otherwise=0) if len(element) == 2 else 0
    return max(-MOST_AT_ONCE, min(MOST_AT_ONCE, change))


def _read_whole(value: Any, otherwise: int = -1) -> int:
    """Return a whole number, of whichever plain type."""
    number = checks.read_number(value)
    whole = isinstance(number, Fraction) and number.denominator == 1
    return int(number) if whole else otherwise  # type: ignore[arg-type]
