"""The square-root counter: noise behind the exact square root of summation, or behind a band of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_up, up
from discreet.streams.conversation import CounterRun
from discreet.streams.counters.encoded_counter import EncodedCounter
from discreet.streams.encoding import STRAY
from discreet.streams.exponential_sums import Floats
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap

_LONGEST = 1 << 16
_BLOCK = 256
_MARGIN = 1 + 1e-9  # far above what floats of sums of so many positive terms are wrong by


@frozen
class SquareRootCounter(EncodedCounter):
    """Publish the sum so far at every step, by the factorisation that others come near to.

    The stream is encoded by the square root of summation, discrete Gaussian noise is added to the encoded
    numbers, and the answers are decoded from these. Every step looks at all steps before it: this is the
    reference that a `BufferedCounter` is measured by, which takes O(log horizon) a step.

    Privacy: (epsilon, delta) for all answers together, for elements that depend on earlier answers too.
    [HUU23], [FHU23], [DMRST22]
    Accuracy: variance(t) is known for every step; error(beta) over all steps, error(beta, step=t) at one.
    Time: O(t) at step t; all elements and all noisy numbers are kept.

    Parameters
    ----------
    bands
        How many coefficients of the root are used; by default all. Fewer hide an event by less noise, which
        answers far behind it remember for longer.
    fineness
        How many units of the noise an element's unit is worth; by default so many that rounding is nothing.

    The others are those of every `StreamCounter`; delta must be positive, and the horizon at most 65,536. The
    events of a user are covered as if all moved the same encoded numbers.

    Examples
    --------
    >>> counter = SquareRootCounter(horizon=365, epsilon=1, delta=1e-9, neighbours=Event())
    >>> round(counter.variance(365) ** 0.5, 2)
    16.18
    """

    bands: int | None = public(checks.integer, 1, default=None)

    def _require_encoder(self) -> None:
        if self.horizon > _LONGEST:
            raise InvalidParameter(
                name="horizon",
                rule=f"at most {_LONGEST}, since every step looks at all before it",
                value=self.horizon,
                hint="BufferedCounter errs by half a hundredth more at most, and takes any horizon",
            )

    @property
    def root(self) -> SquareRoot:
        """The coefficients of encoder and decoder."""
        return _make_root(self.horizon, self.bands)

    @property
    def square_shift(self) -> Fraction:
        """The square of the encoded stream's L2 sensitivity, with what rounding adds, in units."""
        exact = self.fine * self.moved * self.events * self.root.norm
        return shorten_up(Fraction(above(exact + 2 * up(STRAY) * math.sqrt(self.horizon))) ** 2, 12)

    def _float_error(self) -> float:
        return self.root.float_error(self.elements.largest)

    def _square_norms(self, steps: Any) -> Floats:
        at = np.asarray(steps)  # between two steps the mean: in the middles of groups
        norms = self.root.square_norms
        below, over = (norms[each.astype(np.int64) - 1] for each in (np.floor(at), np.ceil(at)))
        means: Floats = (below + over) / 2
        return means

    @property
    def mean_variance(self) -> float:
        """The mean of the variances of all answers."""
        unit = self.elements.bounds.unit
        mean = float(self.root.square_norms.mean()) * _MARGIN
        return up(mean * up(self.noise.variance / self.fine**2) * up(unit * unit))

    def _start(self) -> CounterRun:
        return SquareRootRun(self)


@dataclass(frozen=True, eq=False)
class SquareRoot:
    """A lower triangular Toeplitz matrix C, and B with B C = A, where A sums up.

    The floats of `encoder` are C, exactly: its rounding is no error but a matrix very close to the root.
    """

    encoder: Floats
    decoder: Floats

    @cached_property
    def norm(self) -> float:
        """The largest norm of a column of C."""
        return above(math.sqrt(float(self.encoder @ self.encoder)) * _MARGIN)

    @cached_property
    def latest_first(self) -> tuple[Floats, Floats]:
        """Encoder and decoder in the order in which elements come: the latest one meets the first."""
        return self.encoder[::-1].copy(), self.decoder[::-1].copy()

    @cached_property
    def square_norms(self) -> Floats:
        """The squared norms of the rows of B."""
        norms: Floats = np.cumsum(self.decoder**2)
        return norms

    def float_error(self, largest: int) -> float:
        """Return what products and sums of floats can add to an encoded number."""
        return (self.encoder.size + 2) * 2.0**-52 * float(self.encoder.sum()) * largest


@lru_cache(maxsize=8)
def _make_root(horizon: int, bands: int | None) -> SquareRoot:
    k = np.arange(1, horizon)
    root: Floats = np.cumprod(np.concatenate([[1.0], (2 * k - 1) / (2 * k)]))
    if bands is None or bands >= horizon:
        return SquareRoot(root, root)  # its square sums up
    from scipy import signal  # noqa: PLC0415  a server that starts again has no use for it yet

    # Coefficients that fall have all their zeros outside the unit circle: the inverse does not grow.
    inverse = signal.lfilter([1.0], root[:bands], np.eye(1, horizon)[0])
    return SquareRoot(root[:bands], np.cumsum(inverse))


class SquareRootRun(CounterRun):
    """All elements, which are private, and all noisy numbers, which are not."""

    def __init__(self, counter: SquareRootCounter) -> None:
        self._fine, self._root = counter.fine, counter.root
        self._add = counter._make_step()  # noqa: SLF001 - its own mechanism
        self._elements = np.zeros(counter.horizon)
        self._numbers = np.zeros(counter.horizon)

    def step(self, units: int, rng: Rng) -> float:
        """Take one element."""
        now, root = self.taken, self._root
        self._elements[now] = units
        encoded = round(self._fine * _look_back(root.latest_first[0], self._elements, now + 1))
        self._numbers[now] = rng.perform(self._add, encoded)
        self.taken = now + 1
        return _look_back(root.latest_first[1], self._numbers, now + 1) / self._fine

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many."""
        if not units.size:
            return units.astype(np.float64)
        now, end = self.taken, self.taken + units.size
        self._elements[now:end] = units
        encoded = np.rint(self._fine * _convolve(self._root.encoder, self._elements, now, end))
        self._numbers[now:end] = rng.perform(self._add, encoded.astype(np.int64))
        self.taken = end
        return _convolve(self._root.decoder, self._numbers, now, end) / self._fine

    def write(self) -> dict[str, Any]:
        """Return the elements and the noisy numbers."""
        taken = self.taken
        return {
            "elements": self._elements[:taken].astype(np.int64).tolist(),
            "numbers": self._numbers[:taken].astype(np.int64).tolist(),
        }

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was written."""
        self._elements[: len(written["elements"])] = written["elements"]
        self._numbers[: len(written["numbers"])] = written["numbers"]


def _look_back(reversed_: Floats, values: Floats, end: int) -> float:
    """Return one step of the values under a Toeplitz matrix, whose coefficients lie in reverse."""
    size = min(end, reversed_.size)
    return float(reversed_[reversed_.size - size :] @ values[end - size : end])


def _convolve(coefficients: Floats, values: Floats, begin: int, end: int) -> Floats:
    """Return the steps from `begin` to `end` of the values under a Toeplitz matrix, block by block."""
    first, last = begin // _BLOCK, -(-end // _BLOCK)
    columns = np.zeros(last * _BLOCK)
    columns[:end] = values[:end]
    columns = np.ascontiguousarray(columns.reshape(last, _BLOCK).T)
    padded = np.zeros((last + 1) * _BLOCK)
    padded[_BLOCK : _BLOCK + coefficients.size] = coefficients[: last * _BLOCK]
    found = np.zeros((_BLOCK, last))
    places = _BLOCK + np.subtract.outer(np.arange(_BLOCK), np.arange(_BLOCK))
    for lag in range(-(-(coefficients.size + _BLOCK) // _BLOCK) if last else 0):
        since = max(first, lag)
        if since >= last:
            break
        found[:, since:] += padded[places + lag * _BLOCK] @ columns[:, since - lag : last - lag]
    return found.T.ravel()[begin:end]


def _tiny() -> Iterator[Tiny]:
    # So coarse that all answers can be listed; rounding is then most of what the sensitivity counts.
    coarse: dict[str, Any] = {"horizon": 2, "epsilon": 6, "delta": Fraction(1, 50), "fineness": 1}
    two = SquareRootCounter(neighbours=Event(), **coarse)
    yield Tiny(two, list(Event().pairs((0, 1), 2)), script=push_all(2), tight=False)
    present = SquareRootCounter(neighbours=EventPresence(), bands=1, **coarse)
    alone = [((1, None), (None, None))]
    yield Tiny(present, alone, script=push_all(2, at_once=True), tight=False)
    users = SquareRootCounter(neighbours=UserEvents(), cap=UserCap(2), **coarse)
    both = [("a", 1), ("a", 1)], [None, None]
    yield Tiny(users, [both, both[::-1]], script=push_all(2), tight=False)


CARD = Card(
    title="Square-root counter: noise behind the exact square root of summation",
    theorem="(epsilon, delta)-differential privacy of all answers; the error that others are measured by",
    reference="[HUU23]; [FHU23]",
    example=lambda: (
        SquareRootCounter(horizon=1000, epsilon=1, delta=1e-6, neighbours=Event()),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
