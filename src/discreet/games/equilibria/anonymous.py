"""What is public of an anonymous game: types, actions, and what each is worth against any crowd."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Fixed, Floats, Integers, fix_array
from discreet.core.rounding import above
from discreet.games.common.reports import read_kinds

LARGEST = 1 << 22
"""Payoffs at most."""
_COMPARED = 256


class AnonymousGame(Fixed):
    """A game in which it counts how many do what, and not who: the payoff is linear in the crowd's shares.

    Parameters
    ----------
    types
        What a player may be.
    actions
        What a player may do.
    payoffs
        For each type and action a row: what it is worth where everybody does the first action, the second,
        ... Between 0 and 1. Against a mixed crowd it is the mean of these.

    Attributes
    ----------
    contrast
        How far apart two actions' rows of one type are in L2 at most: what noise is multiplied by.
    """

    __slots__ = ("_digest", "actions", "contrast", "payoffs", "types")

    def __init__(self, *, types: Iterable[Hashable], actions: Iterable[Hashable], payoffs: ArrayLike) -> None:
        self.types: tuple[Hashable, ...] = read_kinds(types=types)
        self.actions: tuple[Hashable, ...] = read_kinds(actions=actions)
        shape = (len(self.types), len(self.actions), len(self.actions))
        try:
            table = np.array(payoffs, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter(name="payoffs", rule="a table of numbers", got="something else") from None
        if table.shape != shape or table.size > LARGEST:
            rule = f"of shape {shape}: types, actions, actions of the crowd; at most {LARGEST} numbers"
            raise InvalidParameter(name="payoffs", rule=rule, value=table.shape)
        if not (table.min() >= 0 and table.max() <= 1):
            raise InvalidParameter(name="payoffs", rule="between 0 and 1", got="others", hint="Scale them")
        self.payoffs: Floats = fix_array(table)
        self.contrast: float = _find_contrast(table)
        text = repr((self.types, self.actions)).encode()
        self._digest: bytes = hashlib.blake2b(text + self.payoffs.tobytes(), digest_size=16).digest()

    @property
    def spread(self) -> float:
        """By how much a crowd can change what an action is worth at most."""
        return float((self.payoffs.max(axis=2) - self.payoffs.min(axis=2)).max())

    @property
    def crowds(self) -> int:
        """How many crowds matter: all look at the same."""
        return 1

    @property
    def square_weight(self) -> int:
        """The square of what one player weighs in all crowds together, in L2."""
        return 1

    def whole(self, players: int) -> int:
        """Return what so many players weigh together."""
        return players

    def own_weight(self, players: int) -> float:
        """Return the share that a player has in the crowd."""
        return above(1 / players)

    def largeness(self, players: int) -> float:
        """Return how much what one player does changes what an action is worth for another at most."""
        return above(self.spread / players)

    def find_rows(self, kinds: Integers) -> Integers:
        """Return which learner is each player's: one a type. No type stands as the first."""
        return np.maximum(kinds, 0)

    def count(self, kinds: Integers) -> Integers | Floats:
        """Return how many there are of each type; of no type, none."""
        return np.bincount(kinds[kinds >= 0], minlength=len(self.types))

    def collect(self, people: Integers | Floats, chances: Integers) -> Integers:
        """Return how many do each action in expectation, in units of chance."""
        return np.asarray(people @ chances)

    def gather(self, done: Integers) -> Integers:
        """Return how many do each action, where each player does one of them, or none: -1."""
        return np.bincount(done[done >= 0], minlength=len(self.actions))

    def worth(self, shares: Floats) -> Floats:
        """Return what each action is worth for each type against a crowd, as [type, action]."""
        return np.asarray(self.payoffs @ shares)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnonymousGame) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __deepcopy__(self, memo: object) -> AnonymousGame:
        return self

    def __repr__(self) -> str:
        return f"<anonymous game: {len(self.types)} types, {len(self.actions)} actions>"


def _find_contrast(payoffs: Floats) -> float:
    """Return how far apart in L2 two actions' rows are at most; of very many actions, how far they can be."""
    size = payoffs.shape[1]
    if size > _COMPARED:
        return above(math.sqrt(size))
    squares = (payoffs**2).sum(axis=2)
    apart = squares[:, :, None] + squares[:, None] - 2 * (payoffs @ payoffs.transpose(0, 2, 1))
    return above(math.sqrt(min(size, float(apart.max()) + 1e-12 * size)))
