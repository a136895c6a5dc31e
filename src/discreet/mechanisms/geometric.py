"""The two-sided geometric mechanism: the Laplace mechanism where the answers are whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.rounding import above, shorten_up, up
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.reading import WHOLE
from discreet.noise import DiscreteLaplace
from discreet.noise.tails import laplace_variance


class Geometric(Laplace):
    """Add two-sided geometric noise to a count, or to `size` counts with a joint L1 sensitivity.

    Privacy: (epsilon, 0). [DR14] Theorem 3.6, on the integers.
    Accuracy: error(beta) is the exact quantile of the largest of `size` noises; pmf and variance are known.
    Time: O(size).

    The noise is z with probability (1 - r) / (1 + r) r^|z|, where r = exp(-epsilon / sensitivity).

    Parameters
    ----------
    sensitivity
        The largest L1 distance between the counts of neighbours, a whole number.
    epsilon
        The budget of one release.
    size
        How many counts one release holds. It is public.
    neighbours
        The change the sensitivity was computed for.

    Examples
    --------
    >>> round(Geometric(sensitivity=1, epsilon=1).variance, 4)
    1.8413
    """

    __slots__ = ()
    wording = WHOLE

    def __init__(
        self,
        *,
        sensitivity: int,
        epsilon: checks.Number,
        size: int = 1,
        neighbours: Neighbours = ROWS,
    ) -> None:
        whole = checks.integer(1, sensitivity=sensitivity)
        super().__init__(sensitivity=whole, epsilon=epsilon, size=size, neighbours=neighbours)

    @classmethod
    def for_ratio(cls, ratio: checks.Number, *, sensitivity: int, **public: Any) -> Self:
        """Return the mechanism for the classical parameter: each further unit is `ratio` times as likely.

        The epsilon is -sensitivity * log(ratio), rounded up by less than a part in 10**12.
        """
        alpha = checks.probability(ratio=ratio)
        rate = above(math.log(alpha.denominator) - math.log(alpha.numerator), steps=8)
        whole = checks.integer(1, sensitivity=sensitivity)
        return cls(epsilon=shorten_up(whole * Fraction(rate), 15), sensitivity=whole, **public)

    @property
    def ratio(self) -> float:
        """How much less likely each further unit of noise is, rounded up."""
        return above(math.exp(-up(1 / self.scale)), steps=3)

    @property
    def variance(self) -> float:
        """The variance of the noise on one count, rounded up: 2 ratio / (1 - ratio)^2."""
        return above(laplace_variance(self.scale), steps=8)

    def pmf(self, noise: int) -> Fraction:
        """Return the probability of one value of the noise, within 2**-100."""
        return DiscreteLaplace(self.scale).pmf(noise)


def _tiny() -> Iterator[Tiny]:
    yield Tiny(Geometric(sensitivity=1, epsilon=1), [(a, b) for a in range(3) for b in (a - 1, a + 1)])
    yield Tiny(Geometric(sensitivity=3, epsilon=3), [(0, b) for b in range(-3, 4) if b])


CARD = Card(
    title="Two-sided geometric mechanism for counts",
    theorem="(epsilon, 0)-differential privacy with integer noise of a known law",
    reference="[DR14] Theorem 3.6",
    example=lambda: (Geometric(sensitivity=1, epsilon=0.5), 1234),
    tiny=_tiny,
)
