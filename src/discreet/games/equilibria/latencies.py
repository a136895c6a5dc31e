"""How long things take the more use them: polynomials of the share of all, with no coefficient below 0."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, fix_array

STEEPEST = 12
"""The largest power."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Latencies:
    """What a unit of each resource costs its users, as a function of the share of all players who use it.

    Attributes
    ----------
    table
        A row of coefficients a resource: of 1, of the share, of its square, ...
    slopes
        The largest slope of each on [0, 1], the one at 1: how much it costs all if one player joins, times
        the players.
    """

    table: Floats
    slopes: Floats
    _digest: bytes

    @classmethod
    def read(cls, **named: Iterable[Iterable[checks.Number]]) -> Self:
        """Read rows of coefficients, of any lengths."""
        ((name, given),) = named.items()
        rows = [checks.each(checks.non_negative, **{name: row}) for row in checks.several(**{name: given})]
        powers = max((len(row) for row in rows), default=0)
        if not rows or not 1 <= powers <= STEEPEST + 1:
            rule = f"a row of coefficients a resource, at most {STEEPEST + 1} of them"
            raise InvalidParameter(name=name, rule=rule, value=powers)
        table = np.zeros((len(rows), powers))
        for place, row in enumerate(rows):
            table[place, : len(row)] = [float(coefficient) for coefficient in row]
        if not bool((table.sum(axis=1) < 1e100).all()):
            raise InvalidParameter(name=name, rule="coefficients below 1e100", got="larger ones")
        digest = hashlib.blake2b(repr(table.shape).encode() + table.tobytes(), digest_size=16).digest()
        return cls(fix_array(table), fix_array(table @ np.arange(powers)), digest)

    def costs(self, shares: Floats) -> Floats:
        """Return what each resource costs at shares, which are cut off at 0 and 1."""
        x, found = np.clip(shares, 0.0, 1.0), np.zeros(len(self.table))
        for coefficients in self.table.T[::-1]:
            found = found * x + coefficients
        return found

    def __len__(self) -> int:
        return len(self.table)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Latencies) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"<latencies of {len(self)} resources>"
