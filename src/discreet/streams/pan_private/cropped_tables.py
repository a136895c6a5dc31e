"""Tables that see a user's comings up to a crop, and what several of them say together.

A user's counter begins anywhere from 0 to crop - 1, every place as likely, and goes round; when it comes
round, a bit is drawn as for a density. It comes round within a comings with probability min(a, crop) / crop,
and where it stands says nothing about a. So the bits estimate the mean of min(a, crop) over all users, and a
number of comings is at least k exactly where min(a, k) - min(a, k - 1) is one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction

import numpy as np

from discreet.core import checks
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import above, below, down, up
from discreet.mechanisms.randomized_response import Respond
from discreet.streams.noise_sums import NoiseSum, find_reach
from discreet.streams.pan_private.comings import add_up
from discreet.streams.pan_private.response_error import SPLITS
from discreet.streams.pan_private.user_table import Cells, TableRun, UserTable

MOST_CROP = 1 << 20
"""Larger ones say nothing about anybody: errors are of that order."""


@frozen
class CroppedTables(UserTable):
    """A sum of cropped means with whole coefficients, from one table for each crop."""

    @property
    @abstractmethod
    def crops(self) -> tuple[tuple[int, int], ...]:
        """The crops, each with the coefficient of its mean."""

    @property
    def epsilon_state(self) -> Fraction:
        """What one look at one of the tables costs: a look at the state is one at each of them."""
        return self.epsilon * self.share / len(self.crops)

    @property
    def weights(self) -> tuple[int, ...]:
        """What a bit of each table counts."""
        return tuple(crop * coefficient for crop, coefficient in self.crops)

    @property
    def moved(self) -> int:
        """One user has a bit in each table."""
        return sum(map(abs, self.weights))

    @property
    def contrast(self) -> float:
        """By how much the probability of a one differs between who came round and who did not."""
        return math.tanh(float(self.epsilon_state) / 2)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta no answer is off by more than alpha.

        Whoever came, however often: by Hoeffding's bound for the bits of all tables.
        """
        missed = checks.probability(beta=beta) / self.answers
        square = sum(weight**2 for weight in self.weights) * self.users
        found = math.inf
        for part in SPLITS:
            noise = find_reach([(1, NoiseSum(self.noise, 1))], down(missed * part))
            bits = above(math.sqrt(square * math.log(2 / down(missed * (1 - part))) / 2), steps=8)
            found = min(found, noise + bits)
        return up(above(found / (self.users * below(self.contrast, steps=8)), steps=8))

    def _start(self) -> TableRun:
        return CroppedRun(self)

    def _estimate(self, noisy: int, refreshes: int) -> float:
        del refreshes
        never = sum(self.weights) * self.users * (1 - self.contrast) / 2
        return float((noisy - never) / (self.users * self.contrast))


class CroppedRun(TableRun):
    """Two rows a table: where each user's counter stands, and each user's bit."""

    def __init__(self, tables: CroppedTables) -> None:
        self._crops = [crop for crop, _ in tables.crops]
        self._weights = tables.weights
        self.cells = np.zeros((len(self._crops), 2, tables.users), dtype=np.int32)
        self._respond = Respond(tables.epsilon_state, 2)

    def begin(self, rng: Rng) -> None:
        """Put every counter anywhere, and let every bit respond that it did not come round."""
        for crop, (places, bits) in zip(self._crops, self.cells, strict=True):
            if crop > 1:  # a response without a budget says every number as often
                self.redraw(places, Respond(Fraction(0), crop), rng)
            self.redraw(bits, self._respond, rng)

    def take(self, users: Cells, changes: Cells, rng: Rng) -> None:
        """Let counters go on, and draw the bits of those that come round."""
        who, came = add_up(users, np.maximum(changes, 0))
        for crop, (places, bits) in zip(self._crops, self.cells, strict=True):
            now = places[who] + came
            places[who] = now % crop
            round_ = who[now >= crop]
            drawn = np.ones(round_.size, dtype=np.int32)
            self.redraw(drawn, self._respond, rng)
            bits[round_] = drawn

    def count(self) -> int:
        """Return the weighted sum of the bits."""
        ones = self.cells[:, 1].sum(axis=1, dtype=np.int64).tolist()
        return sum(weight * one for weight, one in zip(self._weights, ones, strict=True))
