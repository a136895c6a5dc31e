"""What everybody who follows experts shares: public parameters, and the rounds of a conversation.

At each round an expert is named, `act()`, and then the losses of all are learned, `observe(losses)`. Losses
are the private data, a vector a round; the names are what is published. Who changes what is said by the
neighbours: another vector at one round, or a round without losses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.mechanism import Conversation, Interactive, keep_silence
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import above, up
from discreet.core.sensitive import Sensitive
from discreet.learning.experts.losses import UNIT, Losses

_ACT, _OBSERVE, _PLAY = object(), object(), object()
_BLOCK = 1 << 18  # losses that are read at a time
_FLOATS = 16  # steps that the rounding of a bound's floats is allowed for


class Follower(ABC):
    """Names an expert at each round, and keeps what it learned: as private as the losses."""

    @abstractmethod
    def choose(self, rng: Rng) -> int:
        """Name an expert."""

    @abstractmethod
    def learn(self, steps: Integers) -> None:
        """Take in the losses of one round, in steps above the lower end."""


@frozen
class Experts(Interactive[Any, Any]):
    """Public parameters of whoever follows experts.

    Parameters
    ----------
    experts
        How many experts there are.
    epsilon, delta
        The budget of all names together.
    neighbours
        What is hidden: `Event()`, other losses of all experts at one round; or `EventPresence()`, whether a
        round had any. The number of rounds is public.
    losses
        The declared range of a loss: `UNIT` for [0, 1], `SIGNED` for [-1, 1].
    """

    experts: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    losses: Losses = public(checks.exactly, Losses, default=UNIT)

    def _complete(self) -> None:
        _ = self.spread  # refuses other neighbours

    @property
    def spread(self) -> int:
        """By how many steps the difference of two experts' losses so far moves between neighbours."""
        return self.losses.spread(self.neighbours)

    @property
    def last(self) -> int | None:
        """The number of rounds after which the conversation closes, where there is one."""
        return None

    @abstractmethod
    def _start(self, rng: Rng) -> Follower:
        """Return a follower that has seen no round."""

    def _begin(self, data: Sensitive[Any], rng: Rng) -> ExpertsConversation:
        return ExpertsConversation(self, data, rng)

    def open(self, data: Any = (), *, rng: Rng = SYSTEM) -> ExpertsConversation:
        """Start a conversation. All names it will ever say cost `guarantee`, once.

        Parameters
        ----------
        data
            Rounds that are there already: `ask(n)` names experts for the next n of them. Others are observed.
        rng
            The source of randomness.
        """
        checks.instance(Rng, rng=rng)
        with keep_silence():
            return self._begin(Sensitive.wrap(data), rng)


@frozen
class ExpertsForRounds(Experts):
    """Follows experts over a number of rounds that is known beforehand.

    Parameters
    ----------
    horizon
        The number of rounds, public.

    The others are those of every `Experts`.
    """

    horizon: int = public(checks.integer, 2)

    def _complete(self) -> None:
        Experts._complete(self)  # noqa: SLF001 - its own base
        if self.horizon * self.losses.steps >= 1 << 60:
            raise InvalidParameter(
                name="horizon",
                rule="such that all losses together are below 2**60 steps",
                value=self.horizon,
                hint="Declare losses of fewer steps",
            )

    @property
    def last(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    @abstractmethod
    def regret(self) -> float:
        """What the expected mean loss exceeds that of the best expert by at most.

        Means are over all rounds; losses count clipped to their range.
        """

    def _require_useful(self, bound: float) -> float:
        """Return a bound on a mean loss that is below the largest there is, rounded up."""
        return require_useful(
            above(bound, _FLOATS), trivial=up(self.losses.width), what="the regret", way_out=MORE
        )


def bound_hedge(rate: Fraction, losses: Losses, experts: int, rounds: int) -> float:
    """Return Theorem 11.1's bound on the mean regret, with the constants of Hoeffding's lemma.

    Parameters
    ----------
    rate
        The exponent of one step of loss.
    losses, experts, rounds
        Their range, how many experts there are and how many rounds.
    """
    width = up(losses.width)
    one = float(rate * losses.steps)  # the exponent of the whole range
    return width * (one / 8 + math.log(experts) / (one * rounds)) + losses.rounding


def cap_rate(losses: Losses, experts: int, rounds: int) -> Fraction:
    """Return the rate with the smallest bound: a larger one would cost more for less."""
    best = math.sqrt(8 * math.log(max(2, experts)) / rounds)
    return Fraction(best) / losses.steps


class ExpertsConversation(Conversation[Any]):
    """Names an expert, is told the losses of all, and so on from round to round."""

    def __init__(self, mechanism: Experts, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self._losses, self._experts, self._last = mechanism.losses, mechanism.experts, mechanism.last
        self._held = self._losses.hold_rounds(data.reveal(), self._experts)
        self._follower = mechanism._start(rng)  # noqa: SLF001 - its own mechanism
        self._waiting = False
        self._rounds = 0

    @property
    def rounds(self) -> int:
        """How many experts have been named."""
        return self._rounds

    def act(self) -> int:
        """Name the expert to follow at this round.

        Raises
        ------
        ConversationClosed
            After the last round. Nothing is drawn.
        InvalidParameter
            Where this round's expert was named already: a second name would cost a second time.
        """
        return self.ask(_ACT)  # type: ignore[no-any-return]

    def observe(self, losses: Any) -> None:
        """Take in what each expert lost at this round; None where it did not take place.

        Raises
        ------
        InvalidParameter
            Before this round's expert was named, and for what is no vector of losses.
        """
        self.ask(_OBSERVE, losses=losses)

    def play(self, losses: Any) -> Integers:
        """Name an expert for each of many rounds, each before its losses are looked at."""
        return self.ask(_PLAY, losses=losses)  # type: ignore[no-any-return]

    def _answer(self, query: Any, **public: Any) -> Any:
        if query is _ACT:
            return self._name()
        if query is _OBSERVE:
            return self._learn(self._losses.read_round(public["losses"], self._experts))
        if query is _PLAY:
            return self._play(self._losses.hold_rounds(public["losses"], self._experts))
        wanted = checks.integer(1, query=query)
        if wanted > len(self._held):
            rule = f"at most the number of rounds held that are left, {len(self._held)}"
            hint = "Go on with act() and observe(losses), or with play(losses)"
            raise InvalidParameter(name="query", rule=rule, value=query, hint=hint)
        rounds, self._held = self._held[:wanted], self._held[wanted:]
        return self._play(rounds)

    def _play(self, rounds: Any) -> Integers:
        if self._last is not None and len(rounds) > self._last - self._rounds:
            rule = f"at most as many rounds as are left, {self._last - self._rounds}"
            raise InvalidParameter(name="losses", rule=rule, got=f"{len(rounds)}")
        named = []
        block = max(1, _BLOCK // self._experts)
        for start in range(0, len(rounds), block):
            for steps in self._losses.read_rounds(rounds[start : start + block], self._experts):
                named.append(self._name())
                self._learn(steps)
        return np.array(named, dtype=np.int64)

    def _name(self) -> int:
        if self._waiting:
            raise _out_of_turn("act", "called once a round", "Tell this round's losses with observe(losses)")
        named = self._follower.choose(self._rng)
        self._waiting, self._rounds = True, self._rounds + 1
        return named

    def _learn(self, steps: Integers) -> None:
        if not self._waiting:
            raise _out_of_turn("observe", "called once after each act()", "Name an expert with act() first")
        self._waiting = False
        if self._rounds == self._last:
            self.close(f"all {self._last} rounds of its horizon are over")
        else:
            self._follower.learn(steps)


def _out_of_turn(name: str, rule: str, hint: str) -> InvalidParameter:
    return InvalidParameter(name=name, rule=rule, got="another call", hint=hint)
