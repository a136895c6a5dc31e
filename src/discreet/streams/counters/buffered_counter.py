"""The buffered counter: noise behind the square root of summation, with O(log T) numbers of memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import down, shorten_up, up
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.noise import AddNoise, DiscreteGaussian
from discreet.streams.conversation import CounterRun, StreamCounter
from discreet.streams.encoding import STRAY, Decoding, Encoding
from discreet.streams.exponential_sums import invert, make_encoder
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap

_FINE = 1 << 12  # rounding costs 1.5 / 2^12 of the encoded stream's length in noise
_GROUPS = 8  # groups of steps a power of two, each with the law of its last step


@frozen
class BufferedCounter(StreamCounter):
    """Publish the sum so far at every step, with the least noise known for (epsilon, delta).

    The stream is encoded by nearly the square root of summation, Gaussian noise is added to the encoded
    numbers, and the answers are decoded from these. A short sum of decaying powers stands for the root, so
    that a step takes O(log horizon) time and memory.

    Privacy: (epsilon, delta) for all answers together, for elements that depend on earlier answers too.
    [DMRST22], [DMPST24]
    Accuracy: variance(t) is within 1.002 of the exact square root's; error(beta) over all steps.
    Time: O(log horizon) a step, vectorised in `push_many`.

    Parameters
    ----------
    decay
        What an element's weight is multiplied with at every later step; 1 sums everything. With decay 0.9
        the answer is x_t + 0.9 x_(t-1) + 0.81 x_(t-2) + ...
    fineness
        How many units of the noise an element's unit is worth; by default so many that rounding is nothing.

    The others are those of every `StreamCounter`; delta must be positive.

    Examples
    --------
    >>> counter = BufferedCounter(horizon=365, epsilon=1, delta=1e-9, neighbours=Event())
    >>> round(counter.variance(365) ** 0.5, 2)
    16.19
    >>> with counter.open() as cases:
    ...     noisy = [cases.push(1) for _ in range(7)]
    """

    decay: Exact = public(checks.exact, default=1)
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
        if not 0 < self.decay <= 1:
            raise InvalidParameter(name="decay", rule="above 0 and at most 1", value=self.decay)
        if self.encoding.float_error > float(STRAY) / 6:
            raise InvalidParameter(
                name="horizon",
                rule="such that encoded sums stay far below 2**53 units",
                value=self.horizon,
                hint="Declare a coarser grid, a smaller range or a smaller fineness",
            )

    @property
    def encoding(self) -> Encoding:
        """How the stream is turned into the whole numbers that noise is added to."""
        largest = self.elements.largest
        fineness = self.fineness or math.ceil(_FINE * math.sqrt(self.horizon) / self.moved)
        return _make_encoding(self.horizon, self.decay, largest, fineness)

    @property
    def square_shift(self) -> Fraction:
        """The square of the encoded stream's L2 sensitivity, in units of the noise."""
        return self.encoding.square_shift(self.moved, self.events)

    @property
    def noise(self) -> DiscreteGaussian:
        """The noise of every encoded number."""
        return DiscreteGaussian(analytic_variance(self.square_shift, self.epsilon, self.delta))

    @property
    def loss(self) -> Loss:
        """The cost of all answers together."""
        return discrete_loss(self.square_shift, self.noise.variance)

    def _error_law(self, step: int) -> DecodedNoise:
        return self._laws([step])[0]

    def _error_laws(self) -> Iterable[tuple[int, DecodedNoise]]:
        ends = list(group_ends(self.horizon))
        counts = np.diff([0, *ends]).tolist()
        return zip(counts, self._laws(ends), strict=True)

    def law_between(self, begin: int, end: int) -> DecodedNoise:
        """Return a law that covers the noise in the difference of two answers."""
        first, last = self._laws([begin, end])
        decoder = invert(self.encoding.encoder, self.decay)
        scale = up(self.noise.variance / self.encoding.fineness**2)
        shared = 2 * scale * decoder.overlap(begin, end - begin) * (1 - 1e-9)
        return DecodedNoise(
            variance=max(first.variance + last.variance - shared, 1e-6 * last.variance),
            finest=last.finest,
            draws=end,
            off=first.off + last.off,
        )

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
        norms = invert(self.encoding.encoder, self.decay).square_norms(middles)
        total = float(norms @ np.diff(ends)) / last * (1 + 1e-9)
        unit = self.elements.bounds.unit
        return up(total * up(self.noise.variance / self.encoding.fineness**2) * up(unit * unit))

    def _laws(self, steps: list[int]) -> list[DecodedNoise]:
        encoding, decoder = self.encoding, invert(self.encoding.encoder, self.decay)
        variance, fine = self.noise.variance, encoding.fineness
        norms = decoder.square_norms(np.array(steps))
        # Decoding is linear: what rounding adds is at most STRAY times the sum of the coefficients, itself at
        # most sqrt(steps) times their norm; floats add at most 2^-50 of all that was ever summed.
        return [
            DecodedNoise(
                variance=up(variance / fine**2) * float(norm) * (1 + 1e-9),
                finest=down(variance),
                draws=step,
                off=up(STRAY) / fine * math.sqrt(step * float(norm)) + 2.0**-50 * step**2 * encoding.largest,
            )
            for step, norm in zip(steps, norms, strict=True)
        ]

    def _start(self) -> CounterRun:
        return BufferedRun(self)


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


class BufferedRun(CounterRun):
    """Decayed sums of the elements, which are private, and of the noisy numbers, which are not."""

    def __init__(self, counter: BufferedCounter) -> None:
        self._encoding = counter.encoding
        self._decoding = _make_decoding(self._encoding, counter.decay)
        root = shorten_up(Fraction(up(math.sqrt(up(counter.square_shift)))), 10)
        self._add = AddNoise(counter.noise, root, 2)
        self._private, self._published = self._encoding.begin(), self._decoding.begin()

    def step(self, units: int, rng: Rng) -> float:
        """Take one element."""
        number = int(rng.perform(self._add, self._encoding.take_one(self._private, units)))
        self.taken += 1
        return self._decoding.take_one(self._published, number)

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many."""
        numbers = rng.perform(self._add, self._encoding.take(self._private, units))
        self.taken += units.size
        return self._decoding.take(self._published, np.asarray(numbers))

    def write(self) -> dict[str, Any]:
        """Return the buffers."""
        encoder = self._encoding.encoder
        return {
            "private": list(self._private),
            "published": [value.hex() for value in self._published],
            "rates": list(encoder.rates),
            "weights": list(encoder.weights),
        }

    def read(self, written: dict[str, Any]) -> None:
        """Take on buffers that were written with the very same coefficients."""
        encoder = self._encoding.encoder
        if (written["rates"], written["weights"]) != (list(encoder.rates), list(encoder.weights)):
            raise InvalidParameter(
                name="checkpoint",
                rule="made with the same coefficients",
                got="others, from another machine or release",
                hint="Go on where it was made: sums of two encoders would not be covered by the guarantee",
            )
        self._private = list(written["private"])
        self._published = [float.fromhex(text) for text in written["published"]]


@lru_cache(maxsize=32)
def _make_encoding(horizon: int, decay: Fraction, largest: int, fineness: int) -> Encoding:
    return Encoding(make_encoder(horizon, decay), horizon, largest, fineness)


@lru_cache(maxsize=32)
def _make_decoding(encoding: Encoding, decay: Fraction) -> Decoding:
    return Decoding(invert(encoding.encoder, decay), encoding.fineness)


def group_ends(horizon: int) -> Iterator[int]:
    """Yield steps in growing distances, the last one the horizon."""
    step = 1
    while step < horizon:
        yield step
        step += max(1, step // _GROUPS)
    yield horizon


def _tiny() -> Iterator[Tiny]:
    # So coarse that all answers can be listed; rounding is then most of what the sensitivity counts, and how
    # near it comes on a fine grid is seen by adding up what neighbours really move by.
    coarse: dict[str, Any] = {"horizon": 2, "epsilon": 12, "delta": Fraction(1, 50), "fineness": 1}
    two = BufferedCounter(neighbours=Event(), **coarse)
    yield Tiny(two, list(Event().pairs((0, 1), 2)), script=push_all(2), tight=False)
    yield Tiny(two, list(Event().pairs((0, 1), 2))[:4], script=push_all(2, at_once=True), tight=False)
    present = BufferedCounter(neighbours=EventPresence(), decay=Fraction(1, 2), **coarse)
    yield Tiny(present, list(EventPresence().pairs((1,), 2)), script=push_all(2), tight=False)
    users = BufferedCounter(neighbours=UserEvents(), cap=UserCap(2), **coarse)
    both = [("a", 1), ("a", 1)], [None, None]
    yield Tiny(users, [both, both[::-1]], script=push_all(2), tight=False)


CARD = Card(
    title="Buffered counter: noise behind the square root of summation",
    theorem="(epsilon, delta)-differential privacy of all answers; variance within 1.002 of the root's",
    reference="[DMRST22]; [FHU23]; [DMPST24]",
    example=lambda: (
        BufferedCounter(horizon=1000, epsilon=1, delta=1e-6, neighbours=Event()),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
