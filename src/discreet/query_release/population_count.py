"""Distributional privacy: two samples of one population are hard to tell apart, not only two neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, up
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.laplace import laplace_scale, laplace_step
from discreet.mechanisms.reading import WHOLE
from discreet.noise import DiscreteLaplace

_COUNTS = replace(WHOLE, shape_hint="Build the mechanism with counts=, the public number of predicates")


@dataclass(frozen=True, slots=True)
class SamplePromise:
    """(epsilon, beta)-distributional privacy for samples of `rows` rows. [Roth10] Section 3.7.

    Two samples are drawn, each on its own and without replacement, from any population. No output is more
    than e^epsilon times as likely on the one as on the other, but for a probability beta over the samples.
    """

    epsilon: Fraction
    beta: Fraction
    rows: int

    @property
    def implies_privacy(self) -> bool:
        """Whether it implies epsilon-differential privacy for changing one row.

        It does where beta < 1 / (rows + 1)^2. Two neighbours are two samples of the population of all their
        rows, met in this order with exactly that probability: a smaller beta cannot leave them out, and one
        that large can.
        """
        return self.beta * (self.rows + 1) ** 2 < 1

    def __str__(self) -> str:
        return (
            f"epsilon {float(self.epsilon):.6g} between two samples of {self.rows} rows of any population, "
            f"but for a probability {float(self.beta):.6g} over the samples"
        )


@frozen
class PopulationCount(Mechanism[Any, Any]):
    """Count the rows of a sample that satisfy predicates, such that the answers tell of the population only.

    Privacy: `promise` is (epsilon, missed)-distributional; `loss`, for changing one row, is far smaller.
    Accuracy: error(beta) is the exact quantile of the noise, about counts sqrt(rows) / epsilon, for all
    counts at once.
    Time: O(counts).

    Parameters
    ----------
    rows
        The public size of the sample.
    epsilon
        How far apart two samples may look.
    missed
        The probability that two samples are too different to be hidden.
    neighbours
        `Replace`: what the differential privacy that comes with it is about.
    counts
        How many predicates are counted; a list of counts is taken and released where it is not one.

    Examples
    --------
    >>> PopulationCount(rows=10_000, epsilon=1, missed=1e-9, neighbours=Replace("row")).shift
    462
    """

    rows: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    missed: Exact = public(checks.probability)
    neighbours: Neighbours = public(checks.instance, Replace)
    counts: int = public(checks.integer, 1, default=1)

    @property
    def shift(self) -> int:
        """How far any of the counts of two samples are apart, but for `missed`.

        Each count, drawn without replacement, has at most the moments exp(t^2 rows / 8) of Hoeffding's lemma
        around its mean, so their difference reaches x with probability at most 2 exp(-x^2 / rows).
        """
        square = math.ceil(self.rows * Fraction(_log_up(2 * self.counts / self.missed)))
        return min(self.rows, max(1, math.isqrt(square - 1)))  # one less than the root, rounded up

    @property
    def scale(self) -> Fraction:
        """The scale of the noise: what all counts may be apart together over epsilon, rounded up."""
        return laplace_scale(self.counts * self.shift, self.epsilon)

    @property
    def loss(self) -> Loss:
        """What changing one row can do: it moves every count by one at most."""
        one = DiscreteLaplaceLoss(1, self.scale)
        return one if self.counts == 1 else Composed(((one, self.counts),))

    @property
    def promise(self) -> SamplePromise:
        """What drawing another sample can do."""
        return SamplePromise(self.epsilon, self.missed, self.rows)

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest noise."""
        return up(Fraction(DiscreteLaplace(self.scale).reach(Fraction(each_of(self.counts, beta)))))

    def population_error(self, beta: checks.Number) -> float:
        """Return a bound on how far off rows times any of the population's shares is, but for beta."""
        half = checks.probability(beta=beta) / 2
        square = math.ceil(self.rows * Fraction(_log_up(2 * self.counts / half)) / 2)
        return above(self.error(half) + up(Fraction(math.isqrt(square - 1) + 1)))

    def _draw(self, data: Any, rng: Rng) -> Any:
        counts = np.asarray(Grid(None).to_units(data, self.counts, _COUNTS), dtype=object)
        # A count of this many rows lies in 0..rows; cutting off another number moves no two further apart.
        inside = np.array(
            [min(max(int(count), 0), self.rows) for count in counts.reshape(-1)], dtype=np.int64
        )
        step = laplace_step(self.counts * self.shift, self.epsilon)
        return int(rng.perform(step, inside.item())) if self.counts == 1 else rng.perform(step, inside)


def _log_up(x: Fraction) -> float:
    """Return a float >= log(x), for fractions far beyond the range of floats too."""
    log = math.log(x.numerator) - math.log(x.denominator)
    return log + 1e-14 * (1 + math.log(x.denominator) + math.log(x.numerator))


def mirrored_mod(value: int, modulus: int) -> int:
    """Return a number that goes up to modulus - 1 and down again as the value grows, a step at a time.

    The separating example of [Roth10] Definition 14: one row moves it by at most one, so noise of scale
    1 / epsilon makes it differentially private; but it tells little of the population and much of the sample.
    """
    m = checks.integer(1, modulus=modulus)
    rest = checks.integer(0, value=value) % (2 * m)
    return rest if rest < m else 2 * m - 1 - rest


def separation(*, rows: int, modulus: int, gap: int) -> Fraction:
    """Return the exact probability that the mirrored counts of two samples of fair coins are `gap` apart."""
    n = checks.integer(1, rows=rows)
    masses = [0] * checks.integer(1, modulus=modulus)
    for heads in range(n + 1):
        masses[mirrored_mod(heads, modulus)] += math.comb(n, heads)
    total = sum(
        one * other for a, one in enumerate(masses) for b, other in enumerate(masses) if abs(a - b) >= gap
    )
    return Fraction(total, 4**n)


def _tiny() -> Iterator[Tiny]:
    for rows, epsilon in ((1, 1), (4, 3), (9, 6)):
        mechanism = PopulationCount(
            rows=rows, epsilon=epsilon, missed=Fraction(1, 10), neighbours=Replace("row")
        )
        yield Tiny(mechanism, [(count, count + 1) for count in range(rows)])
    both = PopulationCount(rows=2, epsilon=8, missed=Fraction(1, 10), neighbours=Replace("row"), counts=2)
    yield Tiny(both, [((0, 0), (1, 1)), ((1, 1), (0, 2)), ((2, 1), (1, 1))])


CARD = Card(
    title="Distributional privacy: a count that tells of the population only",
    theorem="(epsilon, beta)-distributional privacy with noise sqrt(rows ln(2 / beta)) / epsilon",
    reference="[Roth10] Section 3.7, Theorems 12 and 13",
    example=lambda: (
        PopulationCount(rows=10_000, epsilon=1, missed=1e-9, neighbours=Replace("row")),
        4321,
    ),
    tiny=_tiny,
)
