"""Groups whose keys nobody declared: they appear only where enough units share them.

Every group that is in the data gets noise on its number of units and is shown where the sum reaches a
threshold. A group that is not in the data is never shown. Take two neighbours, and call *new* the groups that
only one of them has: all its units are the one unit that came, so its count is 1 and it is shown with a small
probability p, and a unit has at most k groups. Unless a new group is shown, which happens with probability at
most 1 - (1 - p)^k whatever else comes out, the output is that of noise added to the counts of the groups that
both have. So the loss is that of the noise, and a failure mass of 1 - (1 - p)^k.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.bounds import each_of
from discreet.core.rng import Primitive, Rng
from discreet.data.schema.columns import Code
from discreet.noise import AddNoise
from discreet.noise.laws import Noise

Key = tuple[Code, ...]
Shown = tuple[tuple[Key, int], ...]


@dataclass(frozen=True, slots=True)
class KeysAbove(Primitive["Mapping[Key, int]", Shown]):
    """Given how many units each group has, show the groups whose noisy number reaches a threshold.

    They come sorted by key, with the noisy number. `sensitivity` is in the L1 norm (`norm=1`) or the L2 norm.
    """

    noise: Noise
    threshold: int
    sensitivity: Fraction
    norm: int = 1

    def sample(self, value: Mapping[Key, int], rng: Rng) -> Shown:
        """Add noise to every group that is there."""
        keys, counts = self._there(value)
        noisy = AddNoise(self.noise, self.sensitivity, self.norm).sample(counts, rng)
        return tuple(
            (key, int(n)) for key, n in zip(keys, np.ravel(noisy), strict=True) if n >= self.threshold
        )

    def law(self, value: Mapping[Key, int]) -> Iterator[tuple[Shown, Fraction]]:
        """Yield every set of shown groups with their numbers, inside the noise's window."""
        keys, counts = self._there(value)
        choices = []
        for key, count in zip(keys, counts.tolist(), strict=True):
            shown = [((key, count + z), self.noise.pmf(z)) for z in self.noise.window()]
            kept = [(pair, p) for pair, p in shown if pair[1] >= self.threshold]
            choices.append([(None, 1 - self.noise.tail(self.threshold - count)), *kept])
        for chosen in itertools.product(*choices):
            outcome = tuple(pair for pair, _ in chosen if pair is not None)
            yield outcome, math.prod((p for _, p in chosen), start=Fraction(1))

    def distance(self, value: Mapping[Key, int], other: Mapping[Key, int]) -> Fraction:
        """Return how far the numbers of units are apart; a group that is not there has none."""
        keys = sorted({*value, *other})
        first, second = (
            np.array([side.get(key, 0) for key in keys], dtype=np.int64) for side in (value, other)
        )
        return AddNoise(self.noise, self.sensitivity, self.norm).distance(first, second)

    @staticmethod
    def _there(value: Mapping[Key, int]) -> tuple[list[Key], np.ndarray[tuple[int], np.dtype[np.int64]]]:
        keys = sorted(key for key, count in value.items() if count > 0)
        return keys, np.array([value[key] for key in keys], dtype=np.int64)


def threshold(noise: Noise, *, groups: int, delta: Fraction) -> int:
    """Return the smallest threshold that some group of one unit reaches with probability at most delta.

    Parameters
    ----------
    noise
        What is added to each number of units.
    groups
        How many groups one unit can have.
    delta
        The failure mass to pay for it.
    """
    each = Fraction(each_of(groups, delta))
    # P[1 + X >= t] is half of P[|X| > t - 2].
    return noise.reach(min(2 * each, Fraction(1, 2))) + 2
