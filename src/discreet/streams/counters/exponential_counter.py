"""Counters whose encoder is a sum of decaying powers: as many buffers as powers are all their memory."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.streams.conversation import CounterRun
from discreet.streams.counters.encoded_counter import DecodedNoise, EncodedCounter
from discreet.streams.encoding import Decoding, Encoding
from discreet.streams.exponential_sums import Decoder, ExponentialSum, Floats


@frozen
class ExponentialCounter(EncodedCounter):
    """A counter behind an encoder of O(log horizon) decaying powers."""

    @property
    @abstractmethod
    def encoder(self) -> ExponentialSum:
        """The coefficients that the stream is encoded by."""

    @property
    @abstractmethod
    def decoder(self) -> Decoder:
        """What answers are decoded by: its product with the encoder is the sum that is published."""

    @property
    def encoding(self) -> Encoding:
        """How the stream is turned into the whole numbers that noise is added to."""
        return _make_encoding(self.encoder, self.horizon, self.elements.largest, self.fine)

    @property
    def square_shift(self) -> Fraction:
        """The square of the encoded stream's L2 sensitivity, in units of the noise."""
        return self.encoding.square_shift(self.moved, self.events)

    def _float_error(self) -> float:
        return _make_encoding(self.encoder, self.horizon, self.elements.largest, 1).float_error

    def _square_norms(self, steps: Any) -> Floats:
        return self.decoder.square_norms(steps)

    def law_between(self, begin: int, end: int) -> DecodedNoise:
        """Return a law that covers the noise in the difference of two answers."""
        first, last = self._laws([begin, end])
        scale = up(self.noise.variance / self.fine**2)
        shared = 2 * scale * self.decoder.overlap(begin, end - begin) * (1 - 1e-9)
        return DecodedNoise(
            variance=max(first.variance + last.variance - shared, 1e-6 * last.variance),
            finest=last.finest,
            draws=end,
            off=first.off + last.off,
        )

    def answer_rows(self, rows: NDArray[np.int64], rng: Rng) -> Floats:
        """Return the answers of counters like this one, each of a whole stream: a row of units."""
        encoded = self.encoding.take_rows(rows)
        numbers = np.asarray(rng.perform(self._make_step(), encoded.ravel()))
        return _make_decoding(self.decoder, self.fine).take_rows(numbers.reshape(rows.shape))

    def _start(self) -> CounterRun:
        return BufferedRun(self)


class BufferedRun(CounterRun):
    """Decayed sums of the elements, which are private, and of the noisy numbers, which are not."""

    def __init__(self, counter: ExponentialCounter) -> None:
        self._encoding = counter.encoding
        self._decoding = _make_decoding(counter.decoder, counter.fine)
        self._add = counter._make_step()  # noqa: SLF001 - its own mechanism
        self._private, self._published = self._encoding.begin(), self._decoding.begin()

    @property
    def _means(self) -> dict[str, Any]:
        """What decides what the buffers mean."""
        encoding = self._encoding
        return {
            "rates": list(encoding.encoder.rates),
            "weights": list(encoding.encoder.weights),
            "fine": encoding.fineness,
            "bits": encoding.bits,
        }

    def step(self, units: int, rng: Rng) -> float:
        """Take one element."""
        number = int(rng.perform(self._add, self._encoding.take_one(self._private, units)))
        self.taken += 1
        return self._decoding.take_one(self._published, number)

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many."""
        if not units.size:
            return units.astype(np.float64)
        numbers = rng.perform(self._add, self._encoding.take(self._private, units))
        self.taken += units.size
        return self._decoding.take(self._published, np.asarray(numbers))

    def write(self) -> dict[str, Any]:
        """Return the buffers."""
        return {
            "private": list(self._private),
            "published": [value.hex() for value in self._published],
            **self._means,
        }

    def read(self, written: dict[str, Any]) -> None:
        """Take on buffers that were written with the very same coefficients."""
        means = self._means
        if {name: written.get(name) for name in means} != means:
            raise InvalidParameter(
                name="checkpoint",
                rule="made with the same coefficients",
                got="others, from another machine or release",
                hint="Go on where it was made: sums of two encoders would not be covered by the guarantee",
            )
        self._private = list(written["private"])
        self._published = [float.fromhex(text) for text in written["published"]]


@lru_cache(maxsize=32)
def _make_encoding(encoder: ExponentialSum, horizon: int, largest: int, fineness: int) -> Encoding:
    return Encoding(encoder, horizon, largest, fineness)


@lru_cache(maxsize=32)
def _make_decoding(decoder: Decoder, fineness: int) -> Decoding:
    return Decoding(decoder, fineness)
