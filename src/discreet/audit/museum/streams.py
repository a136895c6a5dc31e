"""Streams whose memory tells more than their answers do, or more than is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.museum.exhibit import Claimed, Exhibit, Shown
from discreet.core.card import Tiny
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.neighbours import Event, Neighbours, UserEvents
from discreet.core.rng import Primitive, Rng
from discreet.core.sensitive import Sensitive
from discreet.noise.coins import bernoulli
from discreet.streams.conversation import CounterRun
from discreet.streams.counters.tree_counter import TreeCounter
from discreet.streams.pan_private.looks import list_pairs, look_at, look_between, look_once
from discreet.streams.pan_private.pan_private_counter import PanPrivateCounter
from discreet.streams.pan_private.pan_private_density import PanPrivateDensity
from discreet.streams.pan_private.pan_private_tree import PanPrivateTree, PanPrivateTreeRun

_BITS: dict[str, Any] = {"horizon": 2, "epsilon": 40, "delta": 0, "neighbours": Event()}
_FEW: dict[str, Any] = {"horizon": 3, "epsilon": 40, "delta": 0, "neighbours": Event()}


@dataclass(frozen=True, slots=True)
class Toss(Primitive[int, int]):
    """Draw a bit that is one with probability 1/2, and 1/2 + bias where the user came."""

    bias: Fraction
    sensitivity = Fraction(1)

    def sample(self, value: int, rng: Rng) -> int:
        """Toss the coin."""
        return int(bernoulli(Fraction(1, 2) + value * self.bias, 1, rng)[0])

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield both outcomes."""
        one = Fraction(1, 2) + value * self.bias
        yield from ((1, one), (0, 1 - one))

    def distance(self, value: int, other: int) -> Fraction:
        """Return whether the user came once and not the other time."""
        return Fraction(abs(value - other))


@dataclass(frozen=True, slots=True, repr=False)
class PrintedDensity(Claimed, Interactive[Any, Any]):
    """One bit about one user: uniform, then biased by epsilon when the user comes; said to cost epsilon."""

    neighbours: Neighbours = field(default_factory=UserEvents)

    def _begin(self, data: Sensitive[Any], rng: Rng) -> Conversation[Any]:
        return PrintedTable(self, data, rng)


class PrintedTable(Conversation[Any]):
    """The bit, and the stream that was handed in."""

    def __init__(self, mechanism: PrintedDensity, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self._toss, self._held = Toss(mechanism.epsilon), tuple(data.reveal())
        self._bit = rng.perform(self._toss, 0)

    @property
    def state(self) -> Sensitive[dict[str, Any]]:
        """The bit."""
        return Sensitive({"cells": [self._bit]})

    def advance(self, count: int) -> None:
        """Take the next elements."""
        came, self._held = self._held[:count], self._held[count:]
        for _ in filter(None, came):
            self._bit = self._rng.perform(self._toss, 1)

    def _answer(self, query: Any, **public: Any) -> Any:
        raise NotImplementedError


class PrintedTree(PanPrivateTree):
    """Figure 12.1 as it is printed: blocks begin with noise, and are published as they are."""

    def _start(self) -> CounterRun:
        return PrintedTreeRun(self)


class PrintedTreeRun(PanPrivateTreeRun):
    """Every block begins with noise, blocks of one step too, and gets none at its end."""

    def step(self, units: int, rng: Rng) -> int:
        """Take one element."""
        now = self.taken + 1
        for level, size in enumerate(self._sizes):
            if self.taken % size == 0:
                self._open[level] = rng.perform(self._draw, 0)
            self._open[level] += units
        ended = max(level for level, size in enumerate(self._sizes) if now % size == 0)
        self._published[ended] += self._open[ended]
        self._published[:ended] = 0
        self._open[: ended + 1] = 0
        self.taken = now
        return int(self._published.sum())

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many, one after the other."""
        return np.array([self.step(int(unit), rng) for unit in units], dtype=np.int64)


_CAME = tuple(list_pairs(((0, 1),), 2))


def _show_twice() -> Shown:
    """Show a density that is looked into twice: promised for one look, and refreshed between two."""
    once = PanPrivateDensity(users=1, epsilon=6, neighbours=UserEvents())
    twice = PanPrivateDensity(users=1, epsilon=6, looks=2, neighbours=UserEvents())
    return Shown(
        lambda: Tiny(once, _CAME, look_between(2, (1, 2), (), refresh=False)),
        lambda: Tiny(twice, _CAME, look_between(2, (1, 2), ())),
    )


def _show_counter_twice() -> Shown:
    """Show the same of a counter."""
    pairs = (((0, 0), (0, 1)),)
    return Shown(
        lambda: Tiny(PanPrivateCounter(**_BITS), pairs, look_at(2, (1, 2))),
        lambda: Tiny(PanPrivateCounter(**_BITS, looks=2), pairs, look_at(2, (1, 2), refresh=True)),
    )


EXHIBITS = (
    Exhibit(
        name="counter-intruded",
        wrong="the answers of a tree counter are private, its memory is not: open blocks are exact",
        source="[DR14] Figure 12.1 with its state exposed, noise added at the end",
        shown=Shown.on(
            tuple(Event().pairs((0, 1), 2)),
            lambda: TreeCounter(**_BITS),
            lambda: PanPrivateCounter(**_BITS),
            look_once(2, 1),
        ),
    ),
    Exhibit(
        name="noisy-blocks-intruded",
        wrong="state and answers are private, each by itself; who saw a block's noise subtracts it later",
        source="[DR14] Figure 12.1 with its state exposed, as printed",
        shown=Shown.on(
            (((0, 0, 0), (0, 1, 0)),),
            lambda: PrintedTree(**_FEW),
            lambda: PanPrivateTree(**_FEW),
            look_once(3, 1),
        ),
    ),
    Exhibit(
        name="density-printed-bias",
        wrong="a bit that is one with probability 1/2 + epsilon costs -ln(1 - 2 epsilon), not epsilon",
        source="[DR14] section 12.2, pan-private density estimation",
        shown=Shown.on(
            _CAME,
            lambda: PrintedDensity(Fraction(1, 4)),
            lambda: PanPrivateDensity(users=1, epsilon=Fraction(1, 4), neighbours=UserEvents()),
            look_between(2, (2,), ()),
        ),
    ),
    Exhibit(
        name="density-intruded-twice",
        wrong="one look is covered; a bit that changed between two of them changed because its user came",
        source="a guarantee against one intrusion, [DR14] section 12.2.1, with two",
        shown=_show_twice(),
    ),
    Exhibit(
        name="pan-private-counter-intruded-twice",
        wrong="one look is covered; between two of them the noisy total moves by what came",
        source="[DR14] Theorem 12.5 with two intrusions",
        shown=_show_counter_twice(),
    ),
)
