"""Modular incidence: how many users came how often, modulo a number, from counters that may be seized."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.neighbours import UserEvents, UserStream
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.mechanisms.randomized_response import Respond
from discreet.streams.pan_private.comings import add_up
from discreet.streams.pan_private.looks import list_pairs, look_between
from discreet.streams.pan_private.response_error import Responses
from discreet.streams.pan_private.user_table import Cells, TableRun, UserTable

MOST_MODULUS = 1 << 16
"""Larger ones say nothing about anybody: their error is of that order."""


@dataclass(frozen=True, slots=True)
class Incidences:
    """Which part of all users came 0, 1, 2, ... times, modulo a number; without bias, so it may leave [0, 1].

    Attributes
    ----------
    fractions
        The part of those whose number of comings leaves each rest.
    """

    fractions: tuple[float, ...]

    def exactly(self, times: int) -> float:
        """Return the part of those who came `times` times, if nobody came as often as the modulus."""
        return self.fractions[checks.index(len(self.fractions), times=times)]

    def at_least(self, times: int) -> float:
        """Return the part of those who came `times` times or more, if nobody came as often as the modulus."""
        return sum(self.fractions[checks.index(len(self.fractions), times=times) :])

    def cropped_mean(self, crop: int) -> float:
        """Return the mean of min(crop, times), if nobody came as often as the modulus."""
        most = checks.integer(1, crop=crop)
        return sum(min(most, times) * part for times, part in enumerate(self.fractions))


@frozen
class ModularIncidence(UserTable):
    """Estimate how many users came how often, modulo a number; comings may be taken back.

    Privacy: (epsilon, 0) for all that one user did, for all answers and every covered look at the state,
    together. [DNPRY10].
    Accuracy: error(beta) for all rests and all answers at once; answers are unbiased.
    Time: O(1) an element; one number a user is kept.

    Its parameters are those of every `UserTable`, and two more.

    Parameters
    ----------
    modulus
        Comings are counted modulo this number: choose it above what almost everybody reaches, for a user who
        comes that often counts as one who did not come. Errors grow with it.
    looks
        How many looks at the state are covered: with a `refresh` after each of them but the last.

    Examples
    --------
    >>> times = ModularIncidence(users=100_000, modulus=4, epsilon=2, neighbours=UserStream())
    >>> round(times.error(0.05), 3)
    0.007
    >>> with times.open() as visitors:
    ...     visitors.push_many([3, 14, (15, 2), 3, (14, -1)])
    ...     estimate = visitors.estimate()
    >>> estimate.exactly(2) == estimate.fractions[2]
    True
    """

    modulus: int = public(checks.integer, 2, MOST_MODULUS)
    looks: int = public(checks.integer, 1, default=1)

    @property
    def moved(self) -> int:
        """One user is in one count fewer and in another one."""
        return 2

    def error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta no part in any answer is off by more than alpha.

        Whoever came, however often; after as many refreshes as there may be.
        """
        missed = checks.probability(beta=beta) / self.answers
        return up(self._respond(self.looks).error(missed, self.noise, counts=self.modulus))

    def _respond(self, times: int) -> Responses:
        return Responses(self.users, self.modulus, self.epsilon_state, times)

    def _start(self) -> TableRun:
        return ModularRun(self.users, self.epsilon_state, self.modulus)

    def _estimate(self, noisy: NDArray[np.int64], refreshes: int) -> Incidences:
        contrast = self._respond(refreshes + 1).contrast
        seen = np.asarray(noisy) / self.users
        return Incidences(tuple(((seen - (1 - contrast) / self.modulus) / contrast).tolist()))


class ModularRun(TableRun):
    """One number a user: comings and a response "none" that was drawn beforehand, modulo a number.

    A refresh adds another such response.
    """

    def __init__(self, cells: int, epsilon: Fraction, modulus: int) -> None:
        self.cells = np.zeros(cells, dtype=np.int32)
        self._respond = Respond(epsilon, modulus)
        self._modulus = modulus

    def begin(self, rng: Rng) -> None:
        """Let everybody respond that they did not come."""
        self.redraw(self.cells, self._respond, rng)

    def take(self, users: Cells, changes: Cells, rng: Rng) -> None:
        """Count, round and round: no coin is needed."""
        del rng
        who, came = add_up(users, changes % self._modulus)
        self.cells[who] = (self.cells[who] + came) % self._modulus

    def count(self) -> int | NDArray[np.int64]:
        """Return how many cells hold each number."""
        return np.bincount(self.cells, minlength=self._modulus).astype(np.int64)

    def refresh(self, rng: Rng) -> None:
        """Let every cell respond about itself, which adds noise of the same law."""
        self.redraw(self.cells, self._respond, rng)


def _tiny() -> Iterator[Tiny]:
    pairs = list(list_pairs(((0, 1),), 2))
    # Answers, and all moments of a look, are in tests/exact/streams/test_pan_private_tables.py.
    three = ModularIncidence(users=2, modulus=3, epsilon=2, neighbours=UserEvents())
    taken_back = [(((0, -1), (1, 1)), (None, (1, 1))), (((0, 2), (0, -1)), (None, None))]
    yield Tiny(three, taken_back, look_between(2, (2,), ()), stepwise=False)
    again = ModularIncidence(users=1, modulus=3, epsilon=2, looks=2, neighbours=UserEvents())
    yield Tiny(again, pairs, look_between(2, (1, 2), ()), stepwise=False)


CARD = Card(
    title="Modular incidence: how many users came how often, from counters that may be seized",
    theorem="(epsilon, 0)-differential privacy of all answers and the state at one moment, user by user",
    reference="[DNPRY10] modular incidence counters; [DR14] section 12.2",
    example=lambda: (
        ModularIncidence(users=1000, modulus=3, epsilon=2, neighbours=UserStream()),
        tuple(number * 7 % 400 for number in range(1000)),
    ),
    tiny=_tiny,
)
