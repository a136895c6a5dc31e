"""Public names of vertices, sets and elements: plain values, whose comparing and hashing is nobody's code.

Private elements are looked up among the public ones. A name of a class of its own would be handed every
private element that it claims to be like.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Hashable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.errors import InvalidParameter

_PLAIN: frozenset[type] = frozenset(
    {
        *(str, bytes, int, bool, float, complex, type(None), Fraction, Decimal, uuid.UUID),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
        *(np.dtype(code).type for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?USMm"),
    }
)


def is_plain(label: Any) -> bool:
    """Tell whether a name is a plain value, or a tuple or a frozen set of such."""
    kind = type(label)
    return kind in _PLAIN or (kind in (tuple, frozenset) and all(map(is_plain, label)))


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
