"""Dynamic density: how many users have a net count other than zero, from a sketch that may be seized."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import UserEvents, UserStream
from discreet.core.parameters import frozen, public
from discreet.streams.pan_private.comings import read_change
from discreet.streams.pan_private.hashed_density import HashedDensity, name_user
from discreet.streams.pan_private.looks import list_pairs, look_between
from discreet.streams.pan_private.modular_incidence import MOST_MODULUS, ModularRun
from discreet.streams.pan_private.response_error import Responses
from discreet.streams.pan_private.user_table import Cells, TableRun


def _read_prime(**named: object) -> int:
    number = checks.integer(2, MOST_MODULUS, **named)
    if any(number % factor == 0 for factor in range(2, int(number**0.5) + 1)):
        raise InvalidParameter(
            name="modulus", rule="a prime number", value=number, hint="For instance 2, 3, 5, 7"
        )
    return number


@frozen
class DynamicDensity(HashedDensity):
    """Estimate which part of all users has a net count other than zero, from one cell for many users.

    Privacy: (epsilon, 0) for all that one user did, for all answers and every covered look at the state,
    together; whatever the hash, which is public. [DR14] Section 12.2 asks for it, after [MMNW11].
    Accuracy: error(beta) over all answers, for a key that was drawn at random before the stream was chosen,
    and a hash that looks random. A net count that the modulus divides counts as zero.
    Time: O(1) an element; one number a cell is kept.

    Its parameters are those of `HashedDensity`, and one more. Elements are pairs (user, change).

    Parameters
    ----------
    modulus
        A prime: counts are kept modulo this number. Larger ones take fewer counts for zero, and err more.

    Examples
    --------
    >>> inside = DynamicDensity(
    ...     users=10_000, cells=20_000, key=7, modulus=3, epsilon=4, neighbours=UserStream()
    ... )
    >>> round(inside.error(0.05), 2)
    0.09
    >>> with inside.open() as doors:
    ...     doors.push_many([("anna", 1), ("ben", 1), ("anna", -1)])
    ...     estimate = doors.estimate()
    """

    modulus: int = public(_read_prime)

    @property
    def decided(self) -> int:
        """A user may be hashed from one cell to another, and let either of them become zero."""
        return 2

    @property
    def shown(self) -> float:
        """Which part of the cells with a user is not zero: weights are random, and so is their sum."""
        return 1 - 1 / self.modulus

    def _respond(self, times: int) -> Responses:
        return Responses(self.cells, self.modulus, self.epsilon_state, times)

    def _read(self, elements: Any) -> tuple[Cells, Cells]:
        found = [(name_user(element), read_change(element)) for element in elements]
        hashed = [(self._hash(name), change) for name, change in found if name is not None]
        places = [number % self.cells for number, _ in hashed]
        # A user's weight comes from the digits that did not choose the cell.
        weighed = [number // self.cells % self.modulus * change % self.modulus for number, change in hashed]
        return np.array(places, dtype=np.int64), np.array(weighed, dtype=np.int64)

    def _start(self) -> TableRun:
        return DynamicRun(self.cells, self.epsilon_state, self.modulus)

    def _estimate(self, noisy: int, refreshes: int) -> float:
        contrast = self._respond(refreshes + 1).contrast
        zero = (noisy / self.cells - (1 - contrast) / self.modulus) / contrast
        return self._conclude((1 - zero) / self.shown)


class DynamicRun(ModularRun):
    """Sums of weighted counts, one a cell, modulo a prime; and a response "none" from beforehand."""

    def count(self) -> int:
        """Return how many cells are zero."""
        return int(np.count_nonzero(self.cells == 0))


def _tiny() -> Iterator[Tiny]:
    half = Fraction(1, 2)
    pairs = list(list_pairs((("a", 1), ("b", 1), ("a", -1)), 2))
    for modulus in (2, 3):
        one = DynamicDensity(
            users=3, cells=1, key=3, modulus=modulus, epsilon=8, share=half, neighbours=UserEvents()
        )
        for at in range(3):
            yield Tiny(one, pairs, look_between(2, (at,), (2,)), tight=at == 1, stepwise=False)


CARD = Card(
    title="Dynamic density: how many users have a count that is not zero, where counts may be taken back",
    theorem="(epsilon, 0)-differential privacy of all answers and the state at one moment, user by user",
    reference="[DR14] section 12.2, fully dynamic data; [MMNW11]",
    example=lambda: (
        DynamicDensity(users=1000, cells=9000, key=20, modulus=3, epsilon=6, neighbours=UserStream()),
        tuple((f"10.0.0.{number % 200}", 1 - number % 3) for number in range(1000)),
    ),
    tiny=_tiny,
)
