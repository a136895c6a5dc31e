"""Pan-private density: which part of a declared universe came, from a table that may be seized."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.neighbours import UserEvents, UserStream
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.mechanisms.randomized_response import Respond
from discreet.streams.pan_private.looks import list_pairs, look_between
from discreet.streams.pan_private.response_error import Responses
from discreet.streams.pan_private.user_table import Cells, TableRun, UserTable


@frozen
class PanPrivateDensity(UserTable):
    """Estimate which part of all users came at least once, and keep nothing that gives a user away.

    Privacy: (epsilon, 0) for all that one user did, for all answers and every covered look at the state,
    together. [DR14] Section 12.2, with the probabilities of randomized response.
    Accuracy: error(beta) over all answers; answers are unbiased, so they may leave [0, 1].
    Time: O(1) an element; one byte a user is kept.

    Its parameters are those of every `UserTable`, and `looks`.

    Parameters
    ----------
    looks
        How many looks at the state are covered: with a `refresh` after each of them but the last.

    Examples
    --------
    >>> density = PanPrivateDensity(users=10_000, epsilon=1, neighbours=UserStream())
    >>> round(density.error(0.05), 3)
    0.033
    >>> with density.open() as visitors:
    ...     visitors.push_many([3, 14, 15, 92, 3])
    ...     estimate = visitors.estimate()
    """

    looks: int = public(checks.integer, 1, default=1)

    @property
    def moved(self) -> int:
        """One cell is one or nothing."""
        return 1

    @property
    def contrast(self) -> float:
        """By how much the probability of a one differs between who came and who did not, before a refresh."""
        return math.tanh(float(self.epsilon_state) / 2)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta no answer is off by more than alpha.

        Whoever came, however often; after as many refreshes as there may be.
        """
        missed = checks.probability(beta=beta) / self.answers
        responses = Responses(self.users, 2, self.epsilon_state, self.looks)
        return up(responses.error(missed, self.noise))

    def _start(self) -> TableRun:
        return DensityRun(self.users, self.epsilon_state)

    def _estimate(self, noisy: int, refreshes: int) -> float:
        contrast = self.contrast ** (refreshes + 1)
        return (noisy / self.users - (1 - contrast) / 2) / contrast


class DensityRun(TableRun):
    """One bit a user: a response "no" that was drawn beforehand, or a "yes" from the last coming.

    A refresh lets every cell respond about itself. Who comes after r of them gets what a "yes" would be by
    then: one that went through r further responses.
    """

    def __init__(self, cells: int, epsilon: Fraction) -> None:
        self.cells = np.zeros(cells, dtype=np.uint8)
        self._respond = Respond(epsilon, 2)
        self._refreshes = 0

    def begin(self, rng: Rng) -> None:
        """Let everybody respond that they did not come."""
        self.redraw(self.cells, self._respond, rng)

    def take(self, users: Cells, changes: Cells, rng: Rng) -> None:
        """Draw the cells of those who came, whether or not they came before: nobody remembers."""
        del changes
        self.draw(np.unique(users), rng)

    def draw(self, places: Cells, rng: Rng) -> None:
        """Put a fresh "yes" into some cells."""
        drawn = np.ones(places.size, dtype=np.uint8)
        for _ in range(self._refreshes + 1 if places.size else 0):
            self.redraw(drawn, self._respond, rng)
        self.cells[places] = drawn

    def count(self) -> int:
        """Return the number of ones."""
        return int(self.cells.sum(dtype=np.int64))

    def refresh(self, rng: Rng) -> None:
        """Let every cell respond about itself."""
        self.redraw(self.cells, self._respond, rng)
        self._refreshes += 1

    def take_on(self, cells: Any, refreshes: int) -> None:
        """Go on with cells that were written down."""
        super().take_on(cells, refreshes)
        self._refreshes = refreshes


def _tiny() -> Iterator[Tiny]:
    one = PanPrivateDensity(users=1, epsilon=6, share=Fraction(1, 2), neighbours=UserEvents())
    pairs = list(list_pairs(((0, 1),), 2))
    for at in range(3):
        yield Tiny(one, pairs, look_between(2, (at,), (2,)), tight=at == 1, stepwise=False)
    two = PanPrivateDensity(users=2, epsilon=8, share=Fraction(1, 2), neighbours=UserEvents())
    yield Tiny(two, list(list_pairs(((0, 1), (1, 1)), 2)), look_between(2, (1,), (2,)), stepwise=False)
    again = PanPrivateDensity(users=1, epsilon=4, looks=2, neighbours=UserEvents())
    yield Tiny(again, pairs, look_between(2, (1, 2), ()), tight=False, stepwise=False)
    length = PanPrivateDensity(users=2, epsilon=8, share=Fraction(1, 2), neighbours=UserStream())
    unequal = [((0, 1, 0), (1,)), ((1, 1), ())]
    yield Tiny(length, unequal, look_between(9, (9,), (9,)), tight=False, stepwise=False)


CARD = Card(
    title="Pan-private density: how many different users came, from a memory that may be seized",
    theorem="(epsilon, 0)-differential privacy of all answers and the state at one moment, user by user",
    reference="[DR14] section 12.2, pan-private density estimation",
    example=lambda: (
        PanPrivateDensity(users=1000, epsilon=2, neighbours=UserStream()),
        tuple(number * 7 % 400 for number in range(1000)),
    ),
    tiny=_tiny,
)
