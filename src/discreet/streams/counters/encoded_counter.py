"""What counters share that encode their stream, add Gaussian noise to it, and decode answers from that."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.parameters import frozen, public
from discreet.core.rounding import down, shorten_up, up
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.noise import AddNoise, DiscreteGaussian
from discreet.streams.conversation import StreamCounter
from discreet.streams.encoding import STRAY
from discreet.streams.exponential_sums import Floats

_FINE = 1 << 12  # rounding costs 1.5 / 2^12 of the encoded stream's length in noise
_COARSE = 1 << 4  # and a tenth of it, where floats hold no finer numbers
_WIDEST = 1 << 56  # the deviation up to which no noise of an array is cut off at 64 bits
_GROUPS = 8  # groups of steps a power of two, each with the law of its last step


@frozen
class EncodedCounter(StreamCounter):
    """A counter for a positive delta: an encoder of the stream, discrete Gaussian noise, and a decoder.

    `fineness` is how many units of the noise an element's unit is worth.
    """

    fineness: int | None = public(checks.integer, 1, default=None)

    def _complete(self) -> None:
        StreamCounter._complete(self)  # noqa: SLF001 - its own base
        if self.delta == 0:
            raise InvalidParameter(
                name="delta",
                rule="positive for Gaussian noise",
                value=self.delta,
                hint="WideTreeCounter counts with delta=0",
            )
        self._require_encoder()
        if self._finest < (self.fineness or self._rounding_to(_COARSE)):
            raise InvalidParameter(
                name="elements",
                rule="such that encoded sums stay far below 2**53 units",
                value=self.elements,
                hint="Declare a coarser grid, a smaller range, fewer steps or a smaller fineness",
            )
        if self.noise.variance > _WIDEST**2:
            raise InvalidParameter(
                name="epsilon",
                rule="large enough, with delta, for noise of at most 2**56 units",
                value=self.epsilon,
                hint="Take a larger epsilon or delta, or a smaller fineness",
            )

    @abstractmethod
    def _require_encoder(self) -> None:
        """Refuse parameters that no encoder is known for."""

    @abstractmethod
    def _float_error(self) -> float:
        """Return what floats can add to an encoded number, where a unit of an element is one of the noise."""

    @property
    @abstractmethod
    def square_shift(self) -> Fraction:
        """The square of the encoded stream's L2 sensitivity, in units of the noise."""

    @abstractmethod
    def _square_norms(self, steps: Any) -> Floats:
        """Return the sum of the first `steps` squared coefficients of the decoder, for each of them."""

    @property
    def fine(self) -> int:
        """How many units of the noise an element's unit is worth: as many as make rounding nothing."""
        return self.fineness or min(self._rounding_to(_FINE), self._finest)

    @property
    def _finest(self) -> int:
        """The most units that floats tell apart."""
        return math.floor(float(STRAY) / 6 / self._float_error())

    def _rounding_to(self, part: int) -> int:
        return math.ceil(part * math.sqrt(self.horizon) / self.moved)

    @property
    def noise(self) -> DiscreteGaussian:
        """The noise of every encoded number."""
        return DiscreteGaussian(analytic_variance(self.square_shift, self.epsilon, self.delta))

    @property
    def loss(self) -> Loss:
        """The cost of all answers together."""
        return discrete_loss(self.square_shift, self.noise.variance)

    def _make_step(self) -> AddNoise:
        """Return how the encoded numbers of any steps become noisy."""
        length = shorten_up(Fraction(up(math.sqrt(up(self.square_shift)))), 10)
        return AddNoise(self.noise, length, 2)

    @property
    def mean_variance(self) -> float:
        """The mean of the variances of all answers."""
        return self.average_up_to(self.horizon)

    def average_up_to(self, last: int) -> float:
        """Return the mean of the variances of the first answers: those in the middles of groups of steps.

        It is no more than that, because variances are concave: squared coefficients of the decoder
        fall from the second on.
        """
        ends = np.array([0, *group_ends(last)])
        middles = (ends[:-1] + 1 + ends[1:]) / 2
        total = float(self._square_norms(middles) @ np.diff(ends)) / last * (1 + 1e-9)
        unit = self.elements.bounds.unit
        return up(total * up(self.noise.variance / self.fine**2) * up(unit * unit))

    def _error_law(self, step: int) -> DecodedNoise:
        return self._laws([step])[0]

    def _error_laws(self) -> Iterable[tuple[int, DecodedNoise]]:
        ends = list(group_ends(self.horizon))
        counts = np.diff([0, *ends]).tolist()
        return zip(counts, self._laws(ends), strict=True)

    def _laws(self, steps: list[int]) -> list[DecodedNoise]:
        variance, fine = self.noise.variance, self.fine
        # Decoding is linear: what rounding adds is at most STRAY times the sum of the coefficients, itself at
        # most sqrt(steps) times their norm; floats add at most 2^-50 of all that was ever summed.
        floats = 2.0**-50 * self.elements.largest
        return [
            DecodedNoise(
                variance=up(variance / fine**2) * float(norm) * (1 + 1e-9),
                finest=down(variance),
                draws=step,
                off=up(STRAY) / fine * math.sqrt(step * float(norm)) + floats * step**2,
            )
            for step, norm in zip(steps, self._square_norms(np.array(steps)), strict=True)
        ]


@dataclass(frozen=True, slots=True)
class DecodedNoise:
    """The law of a weighted sum of discrete Gaussian noises, in units of the elements.

    A discrete Gaussian of variance v and a continuous one of variance s have together a density of at most
    1 + r times that of a continuous one of variance v + s, where r = 2 q / (1 - q), q = exp(-2 pi^2 w) and
    1 / w = 1 / v + 1 / s (Poisson's formula). So with a small s the tail of the sum and of what was added is
    that of a normal variable. What was added takes no more than h of its deviations away with a probability
    of Phi(h), whatever the sum is: so the tail of the sum alone is at most that of both, as much nearer, over
    Phi(h). And it is never above a sub-Gaussian one [CKS20].
    """

    variance: float
    finest: float
    """The variance of one draw, in units of the noise."""
    draws: int
    off: float
    """What rounding can add."""

    def __add__(self, other: DecodedNoise) -> DecodedNoise:
        """Return a law that covers the sum of two that are independent."""
        return DecodedNoise(
            variance=self.variance + other.variance,
            finest=min(self.finest, other.finest),
            draws=self.draws + other.draws,
            off=self.off + other.off,
        )

    def beyond(self, alpha: int) -> float:
        """Return a bound on the probability that an answer is off by more than alpha."""
        left = alpha - self.off
        if left <= 0:
            return 1.0
        found = 2 * math.exp(-(left**2) / (2 * self.variance))
        for smooth in (0.5, 1.0, 2.0, 4.0):
            q = math.exp(-2 * math.pi**2 * self.finest * smooth / (self.finest + smooth))
            spread = math.sqrt(2 * self.variance * (1 + smooth / self.finest))
            added = math.sqrt(self.variance * smooth / self.finest)
            more = math.exp(min(700.0, self.draws * 2 * q / (1 - q)))
            for hidden in (1.0, 2.0, 3.0, 4.5, 6.0):
                beyond = math.erfc(max(0.0, left - hidden * added) / spread)
                found = min(found, more * beyond / (0.5 * math.erfc(-hidden / math.sqrt(2))))
        return min(1.0, found * (1 + 1e-9))


def group_ends(horizon: int) -> Iterator[int]:
    """Yield steps in growing distances, the last one the horizon."""
    step = 1
    while step < horizon:
        yield step
        step += max(1, step // _GROUPS)
    yield horizon
