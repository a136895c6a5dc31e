"""Hashed density: how many different users came, of any names, from fewer cells than there are users."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.neighbours import UserEvents, UserStream
from discreet.core.parameters import frozen, public
from discreet.core.rounding import above, down, up
from discreet.streams.pan_private.looks import list_pairs, look_between
from discreet.streams.pan_private.pan_private_density import DensityRun
from discreet.streams.pan_private.response_error import Responses
from discreet.streams.pan_private.user_table import MOST_USERS, Cells, TableRun, UserTable
from discreet.streams.user_cap import read_event

_PARTS = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))
"""Parts of the probability that are left to the hash; the best of them is taken."""


@frozen
class HashedDensity(UserTable):
    """Estimate which part of all users came at least once, from one cell for many users.

    Privacy: (epsilon, 0) for all that one user did, for all answers and every covered look at the state,
    together; whatever the hash, which is public. [DR14] Section 12.2; [DNPRY10].
    Accuracy: error(beta) over all answers, for a key that was drawn at random before the stream was chosen,
    and a hash that looks random; users who share a cell count once, for which answers make up on average.
    Time: O(1) an element; one byte a cell is kept.

    Its parameters are those of every `UserTable`, and three more. Users are whole numbers, text or bytes.

    Parameters
    ----------
    users
        How many users there can be at most: what the fraction is a fraction of.
    cells
        How many cells are kept.
    key
        A public random number: with `secrets.randbits(64)` nobody can choose users who share cells.
    looks
        How many looks at the state are covered: with a `refresh` after each of them but the last.

    Examples
    --------
    >>> density = HashedDensity(users=100_000, cells=20_000, key=7, epsilon=2, neighbours=UserStream())
    >>> round(density.error(0.05), 2)
    0.36
    """

    cells: int = public(checks.integer, 1, MOST_USERS)
    key: int = public(checks.integer, 0)
    looks: int = public(checks.integer, 1, default=1)

    @property
    def moved(self) -> int:
        """One cell is one or nothing."""
        return 1

    @property
    def decided(self) -> int:
        """By how many cells the number of those that say so differs where one user is hashed otherwise."""
        return 1  # one may fall empty, and one be filled: together that is one fewer or one more

    @property
    def shown(self) -> float:
        """Which part of the cells with a user says so."""
        return 1.0

    def _respond(self, times: int) -> Responses:
        return Responses(self.cells, 2, self.epsilon_state, times)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta no answer is off by more than alpha.

        Whoever came, however often; after as many refreshes as there may be.

        Raises
        ------
        NoBound
            Where there are too few cells: an empty one is then too rare to be told from noise.
        """
        missed = checks.probability(beta=beta) / self.answers
        responses = self._respond(self.looks)
        off = min(
            responses.error(missed * (1 - part), self.noise) + self._find_clashes(missed * part)
            for part in _PARTS
        )
        off = above(off / self.shown, steps=8)
        least = self._invert(max(0.0, self._fill(self.users) - off))  # both slopes are flattest at the end
        bound = above(1 - least / self.users, steps=8)
        return up(require_useful(bound, trivial=1, what="the density", way_out=f"{MORE}, or keep more cells"))

    def _find_clashes(self, missed: Fraction) -> float:
        """Return how far the part of cells that say so is from its mean: few of them hang on one user."""
        far = math.sqrt(self.users * math.log(2 / down(missed)) / 2)
        return above(self.decided * far / self.cells, steps=8)

    def _fill(self, users: float) -> float:
        """Return the mean part of cells with a user, of so many."""
        return -math.expm1(users * math.log1p(-1 / self.cells)) if self.cells > 1 else min(1.0, users)

    def _invert(self, filled: float) -> float:
        """Return how many users fill so large a part of the cells on average."""
        if self.cells == 1:
            return filled
        return math.log1p(-filled) / math.log1p(-1 / self.cells) if filled < 1 else float(self.users)

    def _read(self, elements: Any) -> tuple[Cells, Cells]:
        named = [name_user(element) for element in elements]
        places = [self._hash(name) % self.cells for name in named if name is not None]
        return np.array(places, dtype=np.int64), np.ones(len(places), dtype=np.int64)

    def _hash(self, name: bytes) -> int:
        key = self.key.to_bytes((self.key.bit_length() + 7) // 8, "little")
        mixed = hashlib.blake2b(name, digest_size=16, key=hashlib.sha256(key).digest())
        return int.from_bytes(mixed.digest(), "little")

    def _start(self) -> TableRun:
        return DensityRun(self.cells, self.epsilon_state)

    def _estimate(self, noisy: int, refreshes: int) -> float:
        contrast = self._respond(refreshes + 1).contrast
        return self._conclude((noisy / self.cells - (1 - contrast) / 2) / contrast)

    def _conclude(self, filled: float) -> float:
        """Return which part of the users came, where so large a part of the cells seems to have one."""
        most = self._fill(self.users)
        return self._invert(min(most, max(0.0, filled))) / self.users


def name_user(element: Any) -> bytes | None:
    """Return the name of a user as bytes, different for different users; None for what names none."""
    user = read_event(element)[0] if type(element) in (tuple, list) else read_event((element, 1))[0]
    if isinstance(user, int):  # printing one has a limit, and an exception beyond it
        return b"i" + user.to_bytes(user.bit_length() // 8 + 1, "little", signed=True)
    if isinstance(user, str):
        return b"s" + user.encode(errors="surrogatepass")
    return None if user is None else b"b" + user


def _tiny() -> Iterator[Tiny]:
    half = Fraction(1, 2)
    one = HashedDensity(users=3, cells=1, key=1, epsilon=6, share=half, neighbours=UserEvents())
    pairs = list(list_pairs((("a", 1), ("b", 1)), 2))
    for at in range(3):
        yield Tiny(one, pairs, look_between(2, (at,), (2,)), tight=at == 1, stepwise=False)
    two = HashedDensity(users=3, cells=2, key=2, epsilon=8, share=half, neighbours=UserEvents())
    yield Tiny(two, pairs[-2:], look_between(2, (1,), (2,)), tight=False, stepwise=False)


CARD = Card(
    title="Hashed density: how many different users came, from fewer cells than users",
    theorem="(epsilon, 0)-differential privacy of all answers and the state at one moment, user by user",
    reference="[DNPRY10] density estimation with hashing; [DR14] section 12.2",
    example=lambda: (
        HashedDensity(users=1000, cells=5000, key=20, epsilon=4, neighbours=UserStream()),
        tuple(f"10.0.0.{number % 200}" for number in range(1000)),
    ),
    tiny=_tiny,
)
