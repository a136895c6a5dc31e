"""Environments with reactions: what people are, what can be decided, how they can take it. All is public.

Whoever is of type t reacts to an outcome as is best for t. Held to the report of another type, they react as
would have been best for that one, and the gap is what it costs them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers, fix_array
from discreet.games.common.utilities import read_unit
from discreet.optimisation.common.labels import read_labels

LARGEST = 1 << 25
"""Entries of the table of utilities at most."""
_SHARES = 1 << 20  # what the chances of a commitment are multiples of


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Environment:
    """Types, outcomes, reactions, and what each reaction to each outcome is worth for each type.

    Utilities lie between 0 and 1 and are rounded to the grid; what is promised is about the rounded ones.
    None, for all types, stands where nobody can react so to an outcome, and nobody is held to that.

    Attributes
    ----------
    types, outcomes, reactions
        Their names.
    unit
        What one unit of the utilities is worth.
    best
        What each outcome is worth for each type that reacts as is best for it, in units.
    reacts
        The number of that reaction; of equally good ones the first.
    gaps
        What type t loses at an outcome by reacting as type t', in units, as [t, t', outcome].
    """

    types: tuple[Hashable, ...]
    outcomes: tuple[Hashable, ...]
    reactions: tuple[Hashable, ...]
    unit: Fraction
    best: Integers
    reacts: Integers
    gaps: Integers
    _digest: bytes

    def __init__(
        self,
        *,
        types: Iterable[Hashable],
        outcomes: Iterable[Hashable],
        reactions: Iterable[Hashable],
        utilities: ArrayLike,
        grid: checks.Number,
    ) -> None:
        given = {"types": types, "outcomes": outcomes, "reactions": reactions}
        names = tuple(_read_names(name, labels) for name, labels in given.items())
        unit = read_unit(grid=grid)
        shape = tuple(map(len, names))
        if shape[0] * shape[1] * max(shape[0], shape[2]) > LARGEST:
            raise InvalidParameter(name="utilities", rule=f"at most {LARGEST} numbers", value=shape)
        table = _read_table(utilities, shape, unit)
        reacts = table.argmax(axis=2)
        best = np.take_along_axis(table, reacts[:, :, None], axis=2)[:, :, 0]
        # What type t has of the reaction that type t' chooses, for all t, t' and outcomes.
        held = table[np.arange(shape[0])[:, None, None], np.arange(shape[1]), reacts[None]]
        gaps = best[:, None, :] - held
        digest = hashlib.blake2b(f"{names!r} {unit} ".encode() + table.tobytes(), digest_size=16).digest()
        fixed = (*names, unit, fix_array(best), fix_array(reacts), fix_array(gaps), digest)
        for name, value in zip(Environment.__slots__, fixed, strict=True):
            object.__setattr__(self, name, value)

    def increase(self, chances: tuple[int, ...]) -> Fraction:
        """Return what any lie costs its teller at least, where everybody is held to the report.

        Parameters
        ----------
        chances
            A whole number an outcome: it is drawn with probability proportional to that.
        """
        if len(self.types) == 1:
            return Fraction(1)
        least = int(self._list_gaps(self.gaps @ np.array(chances, dtype=np.int64)).min())
        return Fraction(least, sum(chances)) * self.unit

    def find_alike(self) -> tuple[Hashable, Hashable] | None:
        """Return two types of which the first loses nothing anywhere by reacting as the second, or None."""
        alike = (self.gaps.max(axis=2) <= 0) & ~np.eye(len(self.types), dtype=bool)
        pairs = np.argwhere(alike)
        return (self.types[pairs[0][0]], self.types[pairs[0][1]]) if len(pairs) else None

    def _list_gaps(self, gaps: Any) -> Any:
        """Return the rows of gaps between different types."""
        return gaps[~np.eye(len(self.types), dtype=bool)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Environment) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        sizes = f"{len(self.types)} types, {len(self.outcomes)} outcomes, {len(self.reactions)} reactions"
        return f"<environment: {sizes}>"


@lru_cache(maxsize=64)
def find_commitment(environment: Environment) -> tuple[int, ...]:
    """Return how often to draw each outcome when reports are held, so that the least costly lie costs most.

    It is a linear program in floats; what its solution is worth is computed again from whole numbers.
    """
    outcomes = len(environment.outcomes)
    even = (1,) * outcomes
    if len(environment.types) == 1:
        return even
    gaps = np.unique(environment._list_gaps(environment.gaps), axis=0).astype(np.float64)  # noqa: SLF001
    scale = max(1.0, gaps.max())
    solved = linprog(
        np.append(np.zeros(outcomes), -1.0),
        A_ub=np.hstack([-gaps / scale, np.ones((len(gaps), 1))]),
        b_ub=np.zeros(len(gaps)),
        A_eq=np.append(np.ones(outcomes), 0.0)[None],
        b_eq=[1.0],
        bounds=[*[(0, 1)] * outcomes, (None, None)],
    )
    if solved.x is None:
        return even
    found = tuple(np.rint(np.clip(solved.x[:-1], 0, 1) * _SHARES).astype(int).tolist())
    return max(even, found, key=lambda chances: environment.increase(chances) if any(chances) else -1)


def _read_names(name: str, labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    names = read_labels(labels, name)
    if not names or len(set(names)) != len(names):
        raise InvalidParameter(name=name, rule="different names, at least one", value=names)
    return names


def _read_table(utilities: ArrayLike, shape: tuple[int, ...], unit: Fraction) -> Integers:
    """Return utilities in units; they are public, so what is wrong is refused."""
    try:
        given = np.array(utilities, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(name="utilities", rule="a table of numbers", got="something else") from None
    if given.shape != shape:
        rule = f"of shape {shape}: types, outcomes, reactions"
        raise InvalidParameter(name="utilities", rule=rule, value=given.shape)
    open_ = ~np.isnan(given)
    if not open_.any(axis=2).all() or (open_ != open_[:1]).any():
        rule = "for some reaction to each outcome, and None for all types alike"
        raise InvalidParameter(name="utilities", rule=rule, got="others")
    if not (given[open_].min() >= 0 and given[open_].max() <= 1):
        hint = "Shift and scale them; costs in [-1, 0] become utilities by adding 1"
        raise InvalidParameter(name="utilities", rule="between 0 and 1", got="others", hint=hint)
    # Below 0 is what cannot be done: no reaction is worse, so none that is chosen or imposed is one of these.
    return np.rint(np.where(open_, given / float(unit), -1)).astype(np.int64)
