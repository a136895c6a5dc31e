"""What hangs in the museum: mechanisms known to be broken, each beside the audit that must say so."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.core import checks
from discreet.core.card import Tiny
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Conversation, Mechanism, Promise
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.rng import Rng
from discreet.noise import AddNoise, DiscreteLaplace


class Shown(NamedTuple):
    """A broken mechanism and its repaired form, each with pairs of neighbours that show the difference."""

    broken: Callable[[], Tiny]
    right: Callable[[], Tiny]

    @classmethod
    def on(
        cls,
        pairs: Iterable[tuple[Any, Any]],
        broken: Callable[[], Any],
        right: Callable[[], Any],
        script: Callable[[Conversation[Any]], Hashable] | None = None,
    ) -> Shown:
        """Compare two mechanisms on the same pairs."""
        return cls(lambda: Tiny(broken(), pairs, script), lambda: Tiny(right(), pairs, script))


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One broken mechanism.

    Attributes
    ----------
    name
        Short name with hyphens.
    wrong
        What is wrong, in one sentence.
    source
        Where it was printed or shipped.
    shown
        The broken mechanism, and its repaired form, which must pass the same audit on the same pairs.
    audit
        The audit that must flag it: "exact", "replay" or "precision".
    """

    name: str
    wrong: str
    source: str
    shown: Shown
    audit: str = "exact"

    def broken(self) -> Tiny:
        """Make the broken mechanism with pairs of neighbours that show it."""
        return self.shown.broken()

    def right(self) -> Tiny:
        """Make the repaired form with the same pairs."""
        return self.shown.right()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, repr=False)
class Claimed(Promise):
    """Claims (epsilon, 0) and promises no accuracy. Never use one for a release."""

    epsilon: Fraction
    neighbours: Neighbours = ROWS

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.positive(epsilon=self.epsilon))

    @property
    def loss(self) -> Loss:
        """The claim, true or not."""
        return PureLoss(self.epsilon)

    def error(self, beta: checks.Number) -> float:
        """Promise nothing."""
        checks.probability(beta=beta)
        return math.inf

    def against(
        self,
        pairs: Iterable[tuple[Any, Any]],
        script: Callable[[Conversation[Any]], Hashable] | None = None,
        **repair: Any,
    ) -> Shown:
        """Show this one, and the one that is right once some parameters are others."""
        return Shown.on(pairs, lambda: self, lambda: replace(self, **repair), script)


@dataclass(frozen=True, slots=True, repr=False)
class Exhibited(Claimed, Mechanism[Any, Any]):
    """A broken one-shot mechanism."""

    def _add_noise(self, value: Any, rng: Rng, *, moved: int | Fraction = 1) -> Any:
        """Add Laplace noise that hides a move of so much at epsilon."""
        step = AddNoise(DiscreteLaplace(moved / self.epsilon), sensitivity=Fraction(moved))
        return rng.perform(step, value)
