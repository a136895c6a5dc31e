"""How far off a table of randomized responses is: by its coins, and by the noise of an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.rounding import above, below, down, shorten_down
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.noise import Noise
from discreet.streams.noise_sums import NoiseSum, find_reach

SPLITS = tuple(Fraction(1, 1 << k) for k in range(1, 8))
"""Parts of the probability that are left to the noise; the best of them is taken."""


@dataclass(frozen=True, slots=True)
class Responses:
    """Cells that went through a randomized response several times.

    Attributes
    ----------
    people
        How many cells there are.
    categories
        How many values a cell has.
    epsilon
        The budget of one response.
    times
        How many there were, one after the other.
    """

    people: int
    categories: int
    epsilon: Fraction
    times: int

    @property
    def contrast(self) -> float:
        """By how much a value is more likely where it is true, rounded down."""
        once = RandomizedResponse(epsilon=self.epsilon, categories=self.categories)
        return below(below(once.keep - once.other, steps=8) ** self.times, steps=8)

    @property
    def together(self) -> RandomizedResponse:
        """The one response that says as much as all of them."""
        if self.times == 1:
            epsilon = self.epsilon
        else:
            # (1 + (k - 1) c) / (1 - c) is what e^epsilon is for a contrast c of k categories.
            rest = self.contrast
            epsilon = shorten_down(Fraction(math.log1p(self.categories * rest / (1 - rest))), 12)
        return RandomizedResponse(epsilon=epsilon, categories=self.categories, people=self.people)

    def error(self, missed: Fraction, noise: Noise, *, counts: int = 1) -> float:
        """Return what no estimated frequency is off by, but for a probability.

        Parameters
        ----------
        missed
            The probability.
        noise
            That of every published count of cells.
        counts
            How many are published.
        """
        together, contrast = self.together, self.contrast
        found = math.inf
        for part in SPLITS:
            reach = find_reach([(counts, NoiseSum(noise, 1))], down(missed * part))
            coins = together.frequency_error(missed * (1 - part))
            found = min(found, coins + above(reach / (self.people * contrast), steps=8))
        return above(found)
