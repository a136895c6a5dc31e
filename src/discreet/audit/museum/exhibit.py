"""What hangs in the museum: mechanisms known to be broken, each beside the audit that must say so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.card import Tiny
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import ROWS, Neighbours


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
    audit
        The audit that must flag it: "exact", "replay" or "precision".
    broken
        Makes the broken mechanism with pairs of neighbours that show it.
    right
        Makes its repaired form, which must pass the same audit on the same pairs.
    """

    name: str
    wrong: str
    source: str
    audit: str
    broken: Callable[[], Tiny]
    right: Callable[[], Tiny]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Exhibited(Mechanism[Any, Any]):
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
