"""The perturbed counter: noise behind a root that falls a little faster, so that no end need be known."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.parameters import frozen, public
from discreet.streams.counters.exponential_counter import ExponentialCounter
from discreet.streams.exponential_sums import Decoder, ExponentialSum, invert, make_perturbed_encoder
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap

END = 1 << 26
"""Where a counter closes that was told no end."""

_LATEST = 1 << 30


@frozen
class PerturbedCounter(ExponentialCounter):
    """Publish the sum so far at every step, for (epsilon, delta) and a stream that ends nobody knows when.

    It is a `BufferedCounter` whose coefficients fall faster, by a power of a logarithm: their squares have a
    sum without any horizon, so that noise which is enough for the far end is not too much for the beginning.

    Privacy: (epsilon, delta) for all answers together, whenever the stream ends. [JF25]
    Accuracy: from step 16 to 2**26 the deviation at step t is at most 1.32 times that of the
    `BufferedCounter` with horizon t.
    Time: O(log horizon) a step, vectorised in `push_many`.

    Parameters
    ----------
    horizon
        Where it closes at the latest, at most 2**30. It is far away by default, and costs little.
    fineness
        How many units of the noise an element's unit is worth; by default so many that rounding is nothing.

    The others are those of every `StreamCounter`; delta must be positive.

    Examples
    --------
    >>> counter = PerturbedCounter(epsilon=1, delta=1e-9, neighbours=Event())
    >>> round(counter.variance(365) ** 0.5, 2)
    20.12
    >>> with counter.open() as cases:
    ...     noisy = [cases.push(1) for _ in range(7)]
    """

    horizon: int = public(checks.integer, 1, default=END)

    def _require_encoder(self) -> None:
        if self.horizon > _LATEST:
            raise InvalidParameter(
                name="horizon",
                rule=f"at most {_LATEST}, up to where floats decode answers",
                value=self.horizon,
                hint="EndlessCounter begins anew before",
            )

    @property
    def encoder(self) -> ExponentialSum:
        """The coefficients that the stream is encoded by."""
        return make_perturbed_encoder(self.horizon)

    @property
    def decoder(self) -> Decoder:
        """What answers are decoded by."""
        return invert(self.encoder, Fraction(1))


def _tiny() -> Iterator[Tiny]:
    # So coarse that all answers can be listed; rounding is then most of what the sensitivity counts.
    coarse: dict[str, Any] = {"horizon": 2, "epsilon": 12, "delta": Fraction(1, 50), "fineness": 1}
    two = PerturbedCounter(neighbours=Event(), **coarse)
    yield Tiny(two, list(Event().pairs((0, 1), 2)), script=push_all(2), tight=False)
    present = PerturbedCounter(neighbours=EventPresence(), **coarse)
    yield Tiny(present, [((1, None), (None, None))], script=push_all(2, at_once=True), tight=False)
    users = PerturbedCounter(neighbours=UserEvents(), cap=UserCap(2), **{**coarse, "epsilon": 14})
    both = [("a", 1), ("a", 1)], [None, None]
    yield Tiny(users, [both, both[::-1]], script=push_all(2), tight=False)


CARD = Card(
    title="Perturbed counter: a count at every step behind Gaussian noise, whenever the stream ends",
    theorem="(epsilon, delta)-differential privacy of all answers; 1.32 x the deviation of who knows the end",
    reference="[JF25], with buffers for its coefficients",
    example=lambda: (
        PerturbedCounter(epsilon=1, delta=1e-6, neighbours=Event(), horizon=1 << 20),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
