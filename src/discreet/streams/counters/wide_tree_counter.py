"""The wide tree counter: blocks of blocks, whose noise is shared out evenly over the steps inside them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.losses.noise import DiscreteLaplaceLoss
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.mechanisms.grid import LIMIT
from discreet.mechanisms.laplace import laplace_scale
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.streams.blocks import sum_quotients
from discreet.streams.conversation import CounterRun, StreamCounter
from discreet.streams.noise_sums import noise_variance
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap
from discreet.streams.weighted_sums import Floats, TailBound, WeightedSum, choose_points, log_moment

_WIDEST = 1 << 48  # the scale up to which noises stay far within 64-bit words
_REACH = 1 << 12  # scales, times the root of how many: sums of noises are larger with probability e^-1000
_RADICES = range(2, 65)
_GROUPS = 64


@frozen
class WideTreeCounter(StreamCounter):
    """Publish the sum so far at every step, with the least noise known for pure privacy.

    Time is cut into blocks of blocks, and every block's sum is protected by noise of its own. An answer takes
    the blocks that have ended and the share of those that are open which belongs to the past.

    Privacy: epsilon for all answers together, for elements that depend on earlier answers too. [APST25]
    Accuracy: variance(t) is known for every step; error(beta) over all steps, error(beta, step=t) at one.
    Time: O(1) a step on average; a few dozen numbers are kept.

    Parameters
    ----------
    radices
        How many blocks of each size make one of the next, from the smallest on; by default those with the
        smallest mean variance. The steps that are left over are the number of the largest blocks.

    The others are those of every `StreamCounter`; delta must be 0.

    Examples
    --------
    >>> counter = WideTreeCounter(horizon=365, epsilon=1, delta=0, neighbours=Event())
    >>> counter.lengths, counter.error(0.05, step=256)
    ((1, 10, 100), 23.0)
    >>> with counter.open() as visits:
    ...     noisy = [visits.push(1) for _ in range(7)]
    """

    radices: tuple[int, ...] | None = public(checks.each, checks.integer, 2, default=None)

    def _complete(self) -> None:
        StreamCounter._complete(self)  # noqa: SLF001 - its own base
        if self.delta != 0:
            raise InvalidParameter(
                name="delta",
                rule="0 for geometric noise",
                value=self.delta,
                hint="BufferedCounter errs less where delta is positive",
            )
        if math.prod(self.shape) >= LIMIT >> 1:
            raise InvalidParameter(
                name="radices",
                rule="such that the largest blocks have fewer than 2**61 steps",
                value=self.radices,
                hint="Leave them out for those with the least noise",
            )
        if self.noise.scale > _WIDEST:
            raise InvalidParameter(
                name="epsilon",
                rule="large enough for noise of at most 2**48 units of the grid",
                value=self.epsilon,
                hint="Declare a coarser grid, or take a larger epsilon",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """How many blocks of each size make one of the next."""
        return choose_radices(self.horizon) if self.radices is None else self.radices

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many steps a block of each size takes."""
        return (1, *np.cumprod(self.shape).tolist())

    @property
    def total_shift(self) -> int:
        """The L1 sensitivity of all blocks together, in units: a step is in one of each size."""
        return len(self.lengths) * self.events * self.moved

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise of one block, in units."""
        return DiscreteLaplace(laplace_scale(self.total_shift, self.epsilon))

    @property
    def loss(self) -> Loss:
        """The cost of all answers: of noise on every block that neighbours differ in."""
        return DiscreteLaplaceLoss(self.total_shift, self.noise.scale)

    def count_noises(self, steps: Any) -> Any:
        """Return the variance of the answers of steps, as a number of noises.

        With p[j] blocks of size j that ended inside the open one of size j + 1, and g[j] the part of the open
        block of size j that is past, it is the sum of p[j] + g[j]^2 less that of k[j] g[j + 1]^2.
        """
        total: Any = 0.0
        times, lengths = np.asarray(steps), self.lengths
        for size, (length, radix) in enumerate(zip(lengths, (*self.shape, None), strict=True)):
            ended = times // length if radix is None else times // length % radix
            total = total + ended - (self.shape[size - 1] - 1 if size else 0) * (times % length / length) ** 2
        return total

    @property
    def mean_variance(self) -> float:
        """The mean of the variances of all answers."""
        return self.average_up_to(self.horizon)

    def average_up_to(self, last: int) -> float:
        """Return the mean of the variances of the first answers."""
        total = Fraction(0)
        for size, (length, radix) in enumerate(zip(self.lengths, (*self.shape, None), strict=True)):
            around = last + 1 if radix is None else length * radix
            rounds, rest = divmod(last + 1, around)
            total += rounds * sum_quotients(around, length) + sum_quotients(rest, length)
            if size:
                rounds, rest = divmod(last + 1, length)
                squares = rounds * _sum_squares(length) + _sum_squares(rest)
                total -= Fraction((self.shape[size - 1] - 1) * squares, length**2)
        unit = self.elements.bounds.unit
        return up(up(total / last) * noise_variance(self.noise) * up(unit * unit))

    def _error_law(self, step: int) -> WeightedSum:
        return self.law_between(0, step)

    def law_between(self, begin: int, end: int) -> WeightedSum:
        """Return the law of the noise in the difference of two answers; the one before the first is 0."""
        one, times, weights = noise_variance(self.noise), [], []
        before, after = self._weigh(begin), self._weigh(end)
        for size in range(len(self.lengths)):
            runs = [(*run, sign) for sign, each in ((-1, before), (1, after)) for run in each[size]]
            edges = sorted({edge for first, last, *_ in runs for edge in (first, last)})
            for low, high in itertools.pairwise(edges):
                weight = sum(sign * w for first, last, w, sign in runs if first <= low < last)
                if weight:
                    times.append(high - low)
                    weights.append(weight)
        if not times:
            times, weights = [1], [0.0]
        return WeightedSum((one,) * len(times), tuple(times), tuple(weights))

    def _weigh(self, step: int) -> list[list[tuple[int, int, float]]]:
        """Return for each size which blocks' noises are in the answer of a step: first, last + 1, weight."""
        *below, top = self.lengths
        found = []
        for length, radix in zip(below, self.shape, strict=True):
            first, past = step // (length * radix) * radix, step % (length * radix)
            here, share = first + past // length, past / (length * radix)
            runs = ((first, here, 1 - share), (here, here + 1, past % length / length - share))
            found.append([*runs, (here + 1, first + radix, -share)])
        found.append([(0, step // top, 1.0), (step // top, step // top + 1, step % top / top)])
        return [[run for run in runs if run[0] < run[1]] for runs in found]

    def _error_laws(self) -> Iterable[tuple[int, TailBound]]:
        return self.bound_tails(choose_points(noise_variance(self.noise)))

    def bound_tails(self, points: Floats) -> Iterator[tuple[int, TailBound]]:
        """Bound the laws of the steps inside each of the largest blocks.

        While one of the blocks inside it is open, logarithms of moments are convex in how much of a block is
        past: so they are largest where one ends, for every size.
        """
        one, top = noise_variance(self.noise), self.lengths[-1]
        inside, wide = np.zeros_like(points), 0.0
        for place, radix in enumerate(reversed(self.shape)):
            ended = np.arange(radix + 1)
            # The open one of the largest blocks is weighed like the parts of it that are to come.
            back = radix - ended + (place == 0)
            moments = log_moment(one, np.multiply.outer(ended / radix, points))
            inside += (ended[:, None] * moments[::-1] + back[:, None] * moments).max(axis=0)
            share = ended / radix
            wide += float((ended * (1 - share) ** 2 + back * share**2).max())
        blocks = -(-self.horizon // top)
        ends = sorted({blocks * group // _GROUPS for group in range(1, _GROUPS + 1)} - {0})
        for begun, end in itertools.pairwise([0, *ends]):
            past = end - 1 if self.shape else end
            count = min(end * top, self.horizon) - begun * top
            yield count, TailBound((past + wide) * one, points, past * log_moment(one, points) + inside)

    def answer_rows(self, rows: NDArray[np.int64], rng: Rng) -> Floats:
        """Return the answers of counters like this one, each of a whole stream: a row of units.

        They are one counter of all rows, each filled up to whole blocks of the largest size: what these have
        published when they end is subtracted from the answers about the next row.
        """
        count, width = rows.shape
        whole = -(-width // self.lengths[-1]) * self.lengths[-1]
        filled = np.zeros((count, whole), dtype=np.int64)
        filled[:, :width] = rows
        run = WideRun(self, count * whole)
        parts = run.count_parts(filled.ravel(), rng).reshape(count, whole)
        parts[1:] -= parts[:-1, -1:].copy()
        return np.asarray(parts[:, :width] / self.lengths[-1], dtype=np.float64)

    def _start(self) -> CounterRun:
        return WideRun(self, self.horizon)


class WideRun(CounterRun):
    """The sum so far, its noise, and the noises of the blocks inside those that are open.

    Noise is kept in parts of a unit, as many as the largest block has steps. A step adds the noise of its own
    and an even share of what is wrong with every larger block: the block's noise less those inside it. So the
    noises of a block's parts come to its own when it ends, and are drawn when it begins: answers need all of
    them from then on.
    """

    def __init__(self, counter: WideTreeCounter, steps: int) -> None:
        self._lengths, self._radices = counter.lengths, counter.shape
        self._parts = self._lengths[-1]
        self._draw = AddNoise(counter.noise, Fraction(counter.moved), 1)
        noises = 1 + math.isqrt(steps // self._parts)
        reach = steps * counter.elements.largest + _REACH * noises * math.ceil(counter.noise.scale)
        self._kind: Any = np.int64 if self._parts * reach < LIMIT else object
        self._total = self._noise = 0
        self._inside: list[list[int]] = [[0] * radix for radix in self._radices]
        self._shares = [0] * len(self._lengths)

    def step(self, units: int, rng: Rng) -> float:
        """Take one element."""
        now = self.taken
        if not self._radices:
            own = int(rng.perform(self._draw, 0))
        else:
            place = now % self._radices[0]
            if not place:
                self._begin_blocks(now, rng)
            own = self._inside[0][place]
        self._noise += own * self._parts + sum(self._shares)
        self._total += units
        self.taken = now + 1
        return (self._total * self._parts + self._noise) / self._parts

    def _begin_blocks(self, now: int, rng: Rng) -> None:
        """Draw the noises inside every block that begins, and share out what they leave of its own."""
        for size in range(len(self._radices), 0, -1):
            length = self._lengths[size]
            if now % length:
                continue
            if size == len(self._radices):
                own = int(rng.perform(self._draw, 0))
            else:
                own = self._inside[size][now // length % self._radices[size]]
            drawn = rng.perform(self._draw, np.zeros(self._radices[size - 1], dtype=np.int64))
            self._inside[size - 1] = np.asarray(drawn).tolist()
            self._shares[size] = (own - sum(self._inside[size - 1])) * (self._parts // length)

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many."""
        if not units.size:
            return units.astype(np.float64)
        return np.asarray(self.count_parts(units, rng) / self._parts, dtype=np.float64)

    def count_parts(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many, size after size, from the largest, all noises of one together. Answers are in parts."""
        now, end = self.taken, self.taken + units.size
        added = np.zeros(units.size, dtype=self._kind)
        own = self._draw_new(-(-end // self._parts) + -now // self._parts, rng)
        for size in range(len(self._radices), 0, -1):
            own = self._take_blocks(size, own, added, now, rng)
        noises = self._noise + np.cumsum(added + own[: units.size] * self._parts)
        sums = self._total + np.cumsum(units, dtype=self._kind)
        self._total, self._noise, self.taken = int(sums[-1]), int(noises[-1]), end
        return np.asarray(sums * self._parts + noises)

    def _take_blocks(
        self, size: int, own: NDArray[Any], added: NDArray[Any], now: int, rng: Rng
    ) -> NDArray[Any]:
        """Add the shares of all blocks of a size to the steps; return the noises of parts that begin."""
        length, radix = self._lengths[size], self._radices[size - 1]
        first, end = -(-now // length), now + added.size
        new = max(0, -(-end // length) - first)
        drawn = self._draw_new(new * radix, rng).reshape(new, radix)
        shares = (own[:new] - drawn.sum(axis=1)) * (self._parts // length)
        open_now = first * length - now
        added[:open_now] += self._shares[size]
        places = np.arange(now + open_now, end) // length - first
        added[open_now:] += shares[places]
        begin = -(-now // self._lengths[size - 1]) % radix if now % length else 0
        left = self._inside[size - 1][begin:] if begin else []
        if new:
            self._inside[size - 1], self._shares[size] = drawn[-1].tolist(), int(shares[-1])
        return np.concatenate([np.array(left, dtype=self._kind), drawn.ravel()])

    def _draw_new(self, count: int, rng: Rng) -> NDArray[Any]:
        if not count:
            return np.zeros(0, dtype=self._kind)
        return np.asarray(rng.perform(self._draw, np.zeros(count, dtype=np.int64)), dtype=self._kind)

    def write(self) -> dict[str, Any]:
        """Return the sum, its noise and the noises that answers hold already."""
        return {
            "total": self._total,
            "noise": self._noise,
            "inside": [list(noises) for noises in self._inside],
            "shares": list(self._shares),
        }

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was written."""
        self._total, self._noise = written["total"], written["noise"]
        self._inside = [list(noises) for noises in written["inside"]]
        self._shares = list(written["shares"])


@lru_cache(maxsize=256)
def choose_radices(horizon: int) -> tuple[int, ...]:
    """Return the radices with about the smallest mean variance.

    With h sizes the scale of a noise is h, and of n blocks that make one of the next size an answer holds
    about (n - 1) / 6 noises in the mean, but half of the largest.
    """

    def cost(radices: tuple[int, ...]) -> float:
        wide = horizon / math.prod(radices) / 2 + sum(radix - 1 for radix in radices) / 6
        return (len(radices) + 1) ** 2 * wide

    tried = [()] + [
        (radix + 1,) * more + (radix,) * (sizes - more)
        for sizes in range(1, 12)
        for radix in _RADICES
        if radix**sizes <= horizon <= _GROUPS * (radix + 1) ** sizes
        for more in range(sizes)
    ]
    return min(tried, key=cost)


def _sum_squares(count: int) -> int:
    """Return the sum of t * t over t < count."""
    return (count - 1) * count * (2 * count - 1) // 6


def _tiny() -> Iterator[Tiny]:
    # Two steps in one block: each answer holds the noise of all three.
    two = WideTreeCounter(horizon=2, epsilon=16, delta=0, neighbours=Event(), radices=(2,))
    yield Tiny(two, list(Event().pairs((0, 1), 2)), script=push_all(2), stepwise=False)
    yield Tiny(two, list(Event().pairs((0, 1), 2))[:2], script=push_all(2, at_once=True), stepwise=False)
    flat = WideTreeCounter(horizon=2, epsilon=4, delta=0, neighbours=EventPresence())
    yield Tiny(flat, list(EventPresence().pairs((1,), 2)), script=push_all(2), stepwise=False)
    users = WideTreeCounter(
        horizon=2, epsilon=32, delta=0, neighbours=UserEvents(), cap=UserCap(2), radices=(2,)
    )
    both = [("a", 1), ("a", 1)], [None, None]
    yield Tiny(users, [both, both[::-1]], script=push_all(2), tight=False, stepwise=False)


CARD = Card(
    title="Wide tree counter: a count at every step, with the least noise for pure privacy",
    theorem="epsilon-differential privacy of all answers; a ninth of the plain tree's variance",
    reference="[APST25], improved: noises of open blocks are shared out evenly",
    example=lambda: (
        WideTreeCounter(horizon=1000, epsilon=1, delta=0, neighbours=Event()),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
