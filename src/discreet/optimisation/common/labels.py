"""Public names and weights of vertices, sets and elements: plain values, whose comparing is nobody's code.

Private elements are looked up among the public ones. A name of a class of its own would be handed every
private element that it claims to be like.
"""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.parameters import Public
from discreet.mechanisms.reading import make_plain_array

Weights = Public[Iterable[checks.Number], tuple[Fraction, ...]]
MaybeWeights = Public[Iterable[checks.Number] | None, tuple[Fraction, ...] | None]
_DIGITS = 4
"""Binary digits of a score: inverses are right to one part in eight, and few differ."""

_PLAIN: frozenset[type] = frozenset(
    {
        *(str, bytes, int, bool, float, complex, type(None), Fraction, Decimal, uuid.UUID),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
        *(np.dtype(code).type for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?USMm"),
    }
)
_NUMBERS = (int, float, np.integer, np.floating)


def is_plain(label: Any) -> bool:
    """Tell whether a name is a plain value, or a tuple or a frozen set of such."""
    kind = type(label)
    return kind in _PLAIN or (kind in (tuple, frozenset) and all(map(is_plain, label)))


def bare_array(data: Any) -> Any:
    """Return an array as one of the class itself, with None for what a mask hides; anything else as it is."""
    if not isinstance(data, np.ndarray):
        return data
    if type(data) is not np.ma.MaskedArray or data.dtype.kind == "V":
        return make_plain_array(data)
    shown = np.ndarray.view(data, np.ndarray).astype(object)
    shown[np.ma.getmaskarray(data)] = None
    return shown


def read_labels(labels: Iterable[Hashable], name: str) -> tuple[Hashable, ...]:
    """Return public names, which must be plain values."""
    listed = tuple(labels)
    for label in listed:
        if not is_plain(label):
            raise InvalidParameter(
                name=name,
                rule="named by plain values: texts, numbers, dates, or tuples of them",
                got=f"a {type(label).__name__}",
                hint="Number them, or name them by what tells them apart",
            )
    return listed


def find_places(labels: Iterable[Any], places: Mapping[Hashable, int]) -> list[int]:
    """Return the numbers of private labels among the public ones.

    Each is looked up by itself, and what is not there counts nowhere: no record may decide how others are
    read, or whether there is an answer.
    """
    return [place for place in (_find_place(label, places) for label in labels) if place is not None]


def find_pair(pair: Any, places: Mapping[Hashable, int]) -> tuple[int, int] | None:
    """Return the numbers of the ends of a private edge; None for whatever is no edge between public ends."""
    try:
        if not isinstance(pair, tuple | list | set | frozenset | np.ndarray):
            return None
        u, v, *_ = pair
        ends = find_places((u, v), places)
        return (ends[0], ends[1]) if len(ends) == 2 else None
    except Exception:  # too few ends, or a class that lies: an error would speak of one record
        return None


def is_number_below(size: int, given: Any) -> bool:
    """Tell whether something private is one of the numbers 0, ..., size - 1, in whatever type of number."""
    if type(given) is bool or not (is_plain(given) and isinstance(given, _NUMBERS)):
        return False
    return bool(0 <= given < size and given == int(given))


def _find_place(label: Any, places: Mapping[Hashable, int]) -> int | None:
    try:
        return places.get(label) if is_plain(label) else None
    except Exception:  # some plain values have no hash, and some nest too deep
        return None


def require_count(size: int, **named: tuple[Fraction, ...]) -> None:
    """Refuse weights that are not one for each of `size` things."""
    ((name, weights),) = named.items()
    if len(weights) != size:
        raise InvalidParameter(name=name, rule=f"{size} numbers", value=len(weights))


def scores_of(weights: tuple[Fraction, ...]) -> tuple[int, ...]:
    """Return whole numbers about proportional to the inverses: a few digits and a power of two each.

    Any public scores are private; rounding them only costs accuracy, and makes the sampler fast.
    """
    least = max(weights)
    scale = 1 << _DIGITS
    scores = []
    for weight in weights:
        inverse = math.floor(least / weight * scale)
        shift = max(0, inverse.bit_length() - _DIGITS)
        scores.append(inverse >> shift << shift)
    return tuple(scores)


def classes_of(weights: tuple[Fraction, ...]) -> tuple[int, ...]:
    """Return j for every weight: it lies in (2^(j-1), 2^j] times the smallest."""
    least = min(weights)
    return tuple((math.ceil(weight / least) - 1).bit_length() for weight in weights)
