"""Reports about a function of one's own value: one bit, 1 the more often the larger the function is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.kernel import Below, Kernel, toss
from discreet.local.laws.numbers import SignKernel


@dataclass(frozen=True, slots=True)
class AnswerKernel(Kernel):
    """Report 1 with a probability that is linear in the weight of one's own value.

    From weight 0 to weight `steps` the odds of a 1 go from 1 : r to r : 1.
    """

    weights: tuple[int, ...]
    sign: SignKernel

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction, weights: tuple[int, ...], steps: int) -> AnswerKernel:
        """Return the table for the weights of all values and a budget."""
        del inputs
        return cls(weights, SignKernel.make(steps + 1, epsilon))

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """How many values are told apart."""
        return len(self.weights)

    @property
    def size(self) -> int:
        """Two."""
        return 2

    @property
    def ratio(self) -> Fraction:
        """The odds, where some weight is 0 and another is 1."""
        low, high = (self.sign.chance(weight) for weight in (min(self.weights), max(self.weights)))
        return max(high / low, (1 - low) / (1 - high))

    @property
    def contrast(self) -> Fraction:
        """How much more often 1 is reported from weight 1 than from weight 0."""
        return 1 / self.sign.reach

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield both reports."""
        yield from self.sign.law(self.weights[value])

    def draw(self, value: int, below: Below) -> int:
        """Draw a bit."""
        return int(toss(self.sign.chance(self.weights[value]), below))
