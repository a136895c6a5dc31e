"""The buffered counter: noise behind the square root of summation, with O(log T) numbers of memory."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.parameters import Exact, frozen, public
from discreet.streams.counters.exponential_counter import ExponentialCounter
from discreet.streams.exponential_sums import Decoder, ExponentialSum, invert, make_encoder
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap

LEAST_DECAY = Fraction(1, 10**12)
"""Rates have 60 bits: far below this, powers that decay so fast are no longer told apart."""


@frozen
class BufferedCounter(ExponentialCounter):
    """Publish the sum so far at every step, with the least noise known for (epsilon, delta).

    The stream is encoded by nearly the square root of summation, Gaussian noise is added to the encoded
    numbers, and the answers are decoded from these. A short sum of decaying powers stands for the root, so
    that a step takes O(log horizon) time and memory.

    Privacy: (epsilon, delta) for all answers together, for elements that depend on earlier answers too.
    [DMRST22], [DMPST24]
    Accuracy: no variance(t) is above 1.014 times the exact square root's largest; error(beta) over all steps.
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
    16.27
    >>> with counter.open() as cases:
    ...     noisy = [cases.push(1) for _ in range(7)]
    """

    decay: Exact = public(checks.exact, default=1)

    def _require_encoder(self) -> None:
        if not LEAST_DECAY <= self.decay <= 1:
            rule = f"from {float(LEAST_DECAY):g}, where nothing of earlier elements is left, to 1"
            raise InvalidParameter(name="decay", rule=rule, value=self.decay)

    def _count_added(self, step: int) -> Fraction | int:
        return step if self.decay == 1 else min(Fraction(step), 1 / (1 - self.decay))

    @property
    def encoder(self) -> ExponentialSum:
        """The coefficients that the stream is encoded by."""
        return make_encoder(self.horizon, self.decay)

    @property
    def decoder(self) -> Decoder:
        """What answers are decoded by."""
        return invert(self.encoder, self.decay)


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
    theorem="(epsilon, delta)-differential privacy of all answers; variance within 1.014 of the root's",
    reference="[DMRST22]; [FHU23]; [DMPST24]",
    example=lambda: (
        BufferedCounter(horizon=1000, epsilon=1, delta=1e-6, neighbours=Event()),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
