"""Which way to follow experts regrets least, from public quantities alone."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import Neighbours
from discreet.learning.experts.approximate_leader import ApproximateLeader
from discreet.learning.experts.conversation import ExpertsForRounds
from discreet.learning.experts.lazy_majority import LazyMajority
from discreet.learning.experts.losses import UNIT, Losses
from discreet.learning.experts.weighted_majority import WeightedMajority


@dataclass(frozen=True, slots=True)
class ExpertsOutlook:
    """What one way to follow experts would do.

    Attributes
    ----------
    mechanism
        The mechanism, ready to be opened.
    regret
        The bound on its expected mean regret.
    """

    mechanism: ExpertsForRounds
    regret: float

    @property
    def name(self) -> str:
        """The mechanism's class."""
        return type(self.mechanism).__name__


@dataclass(frozen=True, slots=True)
class ExpertsPlan:
    """The ways that keep a budget and have a bound, the one with the smallest regret first."""

    predictions: tuple[ExpertsOutlook, ...]

    @property
    def best(self) -> ExpertsForRounds:
        """The mechanism with the smallest bound."""
        if not self.predictions:
            raise NoBound(
                what="the regret",
                why="no way to follow experts promises more than is true of any",
                way_out="Plan for more rounds, or pay a larger epsilon",
            )
        return self.predictions[0].mechanism

    def __str__(self) -> str:
        if not self.predictions:
            return "no way to follow experts has a bound on its regret"
        width = max(len(each.name) for each in self.predictions)
        return "\n".join(f"{each.name:{width}}  regret {each.regret:.4g}" for each in self.predictions)

    __repr__ = __str__


def plan_experts(
    experts: int,
    horizon: int,
    epsilon: checks.Number,
    delta: checks.Number,
    neighbours: Neighbours,
    *,
    losses: Losses = UNIT,
) -> ExpertsPlan:
    """Compare the regrets of every way to follow `experts` over `horizon` rounds on one budget.

    They are expectations, for losses that do not depend on names. `WeightedMajority` keeps its own for losses
    that do.

    Examples
    --------
    >>> from discreet.streams import Event
    >>> plan_experts(1000, 100_000, 1, 1e-6, Event())
    LazyMajority       regret 0.0212
    ApproximateLeader  regret 0.0914
    WeightedMajority   regret 0.09908
    """
    public: dict[str, Any] = {
        "experts": experts,
        "horizon": horizon,
        "epsilon": epsilon,
        "delta": delta,
        "neighbours": neighbours,
        "losses": losses,
    }
    ways: list[ExpertsForRounds] = [WeightedMajority(**public)]  # refuses what nobody could follow
    for kind in _OTHERS:
        with contextlib.suppress(InvalidParameter):  # the leader needs a positive delta
            ways.append(kind(**public))
    found = []
    for mechanism in ways:
        with contextlib.suppress(NoBound):
            found.append(ExpertsOutlook(mechanism, mechanism.regret))
    return ExpertsPlan(tuple(sorted(found, key=lambda each: each.regret)))


_OTHERS: tuple[type[ExpertsForRounds], ...] = (LazyMajority, ApproximateLeader)
