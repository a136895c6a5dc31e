"""Many people, few ways: whom to send which way, by private Frank-Wolfe steps on the potential.

What a player pays depends on the own type and on how many others use what the player uses. In each round
everybody answers the mean of what was published so far as is best for the own type, and the numbers of users
are published with Gaussian noise. Each player is told to do what was best in one of these rounds. So all that
anybody learns follows from noisy counts, the own type and lots of the own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers
from discreet.core.loss import Loss
from discreet.core.neighbours import Bidder
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, down, shorten_up, up
from discreet.games.common.game import Money, Outcome, require_published
from discreet.games.common.joint import Billboard
from discreet.games.common.reports import find_kind, find_types
from discreet.games.equilibria.network import Network
from discreet.games.equilibria.ways import Routes, Ways
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.mechanisms.subsample_aggregate import Partition
from discreet.noise.laws import DiscreteGaussian
from discreet.noise.primitives import AddNoise
from discreet.noise.selection import ExponentialChoice

LONGEST = 1 << 14
"""Rounds at most."""
_MOST_PLAYERS = 1 << 40


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is published: noisy numbers of users, and at which round everybody stops.

    Attributes
    ----------
    counts
        How many answered with each resource, a row a round, with noise.
    stop
        The mean of so many rounds is what is played.
    players
        How many players there are.
    """

    counts: tuple[tuple[int, ...], ...]
    stop: int
    players: int

    @property
    def shares(self) -> Floats:
        """The share of all players that uses each resource, nearly."""
        *_, last = self.walk(self.stop)
        return np.clip(last, 0.0, 1.0)

    def walk(self, rounds: int) -> Iterator[Floats]:
        """Yield the mean shares before each of some rounds, and after the last: later rounds weigh more."""
        mean = np.zeros(len(self.counts[0]))
        yield mean
        for turn, row in enumerate(self.counts[:rounds]):
            mean = step_towards(mean, turn, row, self.players)
            yield mean

    def __repr__(self) -> str:
        return f"Traffic({self.players} players on {len(self.counts[0])} resources, {self.stop} rounds)"


def step_towards(mean: Floats, turn: int, row: Sequence[int], players: int) -> Floats:
    """Return the mean shares after a round: everything that is played later follows from these floats."""
    step = 2 / (turn + 2)
    return (1 - step) * mean + step * (np.array(row, dtype=np.float64) / players)


def read_ways(**named: Ways) -> Ways:
    """Read ways of a kind that is known here: another one could do as it likes once data are there."""
    ((name, given),) = named.items()
    if type(given) not in (Routes, Network):
        rule, hint = "Routes or a Network", "Make one with Routes(...) or Network(...)"
        raise InvalidParameter(name=name, rule=rule, got=f"a {type(given).__name__}", hint=hint)
    return given


@frozen
class CongestionGame(Billboard):
    """Tell everybody a way, so that on average hardly anything is gained by taking another.

    A report is the name of a type; whoever reports none is counted nowhere and told nothing.

    Privacy: (epsilon, delta) for what is published, and jointly so for all that the others are told: one
    report moves one player's answer in each round. Gaussian noise, [BW18]; after [KPRRU15], [RR14].
    Truthfulness: whoever does what is best afterwards gains at most `truthfulness` by a lie. Who follows
    gives away `error(beta)` at most, on average over players. [DR14] Section 10.2.2, its rate corrected.
    Accuracy: the mean regret is above error(beta) with probability beta at most: O(1 / rounds) from the
    steps, and noise that averages out, about 1 / (players epsilon) however many rounds there are.
    Time: O(rounds) times what finding all types' cheapest ways takes.

    Parameters
    ----------
    ways
        `Routes` or a `Network`: what a player may be, and which ways are open to whom at what cost.
    players
        How many there are.
    rounds
        How often everybody answers. More are never worse but for time.
    epsilon, delta
        The budget of one equilibrium.
    neighbours
        `Bidder()`.

    Examples
    --------
    >>> roads = Routes(latencies=[[0, 1]] * 3, types=["any"], costs=[[0, 0, 0]])
    >>> game = CongestionGame(
    ...     ways=roads, players=100_000, rounds=400, epsilon=1, delta=1e-6, neighbours=Bidder()
    ... )
    >>> game.error(0.05) < 0.04
    True
    """

    ways: Ways = public(read_ways)
    players: int = public(checks.integer, 1, _MOST_PLAYERS)
    rounds: int = public(checks.integer, 1, LONGEST)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.probability)
    variance: Fraction = derived()

    def _complete(self) -> None:
        whole = Fraction(self.ways.square_shift * self.rounds)
        self._set(variance=analytic_variance(whole, self.epsilon, self.delta))

    @property
    def loss(self) -> Loss:
        """Gaussian: one report moves what one player does in each round, and nothing else."""
        return Composed(((discrete_loss(Fraction(self.ways.square_shift), self.variance), self.rounds),))

    @property
    def largeness(self) -> float:
        """How much one player's change of mind costs any other at most."""
        return above(self.ways.steepest / self.players)

    @property
    def truthfulness(self) -> float:
        """What a lie gains whoever does what is best afterwards, whatever was told.

        All the others do follows from what is published, whose laws are this far apart. Who follows instead
        gives away what following costs: `regret`, which is `error(beta)` at most on average.
        """
        return above(self.ways.span * self.guarantee.truthfulness)

    def error(self, beta: checks.Number) -> float:
        """Return what players lose on average by following, at most, against the best they could do alone.

        In expectation over lots; it is exceeded with probability beta at most, over the noise. Frank-Wolfe
        steps of 2 / (t + 2) with answers to shares that are off by the mean of the noise; the round to stop
        at is drawn from the second half in proportion to these steps, over which regrets telescope; and
        what lots and the own weight add.
        """
        b, steep, n = checks.probability(beta=beta), self.ways.steepest, self.players
        deviation = math.sqrt(up(self.variance)) / n
        reach = math.sqrt(2 * math.log(2 * len(self.ways.latencies) * (self.rounds + 1) / down(b)))
        behind, total, weight = 0.0, 0.0, 0.0
        for turn in range(self.rounds + 1):
            step = 2 / (turn + 2)
            off = deviation * math.sqrt(2 / 3 * (2 * turn + 1) / (turn * (turn + 1))) * reach if turn else 0.0
            grown = 2 * step * steep * off + step**2 * steep
            if turn == self._first:
                total = behind
            if turn >= self._first:
                total, weight = total + grown, weight + step
            behind = (1 - step) * behind + grown
        # Lots move what is followed by half a mean deviation, and what is best by the root of all variances:
        # root(1 - x) + root(x (1 - x)) / 2 < 9 / 8 at every share x.
        bound = above(total / weight + 9 / 8 * steep / math.sqrt(n) + 2 * steep / n, 64 * self.rounds)
        return require_useful(
            bound, trivial=up(self.ways.worst), what="the regret of so few players", way_out=MORE
        )

    @property
    def _first(self) -> int:
        """The first round that may be the last."""
        return (self.rounds + 1) // 2

    def _read(self, data: Any) -> Integers:
        return find_types(data, self.ways.types, self.players)

    def _decide(self, read: Integers, rng: Rng) -> Traffic:
        turns = range(self._first, self.rounds + 1)
        often = tuple(Fraction(1, turn + 2) for turn in turns)
        nothing = np.zeros(len(often), dtype=np.int64)
        stop = turns[int(rng.perform(ExponentialChoice(Fraction(1), Fraction(1), often), nothing))]
        counts = np.bincount(read[read >= 0], minlength=len(self.ways.types))
        shift = shorten_up(Fraction(above(math.sqrt(self.ways.square_shift))), 10)
        step = AddNoise(DiscreteGaussian(self.variance), shift, norm=2)
        rows: list[tuple[int, ...]] = []
        mean = np.zeros(len(self.ways.latencies))
        for turn in range(self.rounds):
            true = self.ways.count_users(self.ways.respond(self.ways.latencies.costs(mean)), counts)
            rows.append(tuple(np.asarray(rng.perform(step, true)).tolist()))
            mean = step_towards(mean, turn, rows[-1], self.players)
        return Traffic(tuple(rows), stop, self.players)

    def answers(self, decision: Traffic) -> list[Any]:
        """Return what was best for all types in each round: from what is published alone."""
        require_published(Traffic, decision=decision)
        walk = decision.walk(max(0, decision.stop - 1))
        return [self.ways.respond(self.ways.latencies.costs(mean)) for mean in walk]

    def _settle(
        self, read: Integers, decision: Traffic, rng: Rng
    ) -> tuple[Sequence[Money], Sequence[Hashable]]:
        """Nobody pays. Each is told what was best for the own type in one round, drawn for that player."""
        size = decision.stop * (decision.stop + 1) // 2
        lots = np.array(rng.perform(Partition(size), read.size))
        turns = np.searchsorted(np.cumsum(np.arange(1, decision.stop + 1)), lots, side="right")
        answers, told = self.answers(decision), {}
        for kind, turn in set(zip(read.tolist(), turns.tolist(), strict=True)):
            told[kind, turn] = None if kind < 0 else self.ways.name(answers[turn], kind)
        signals = [told[pair] for pair in zip(read.tolist(), turns.tolist(), strict=True)]
        return (Fraction(0),) * read.size, signals

    def regret(self, kind: Hashable, decision: Traffic) -> float:
        """Return what following costs a type beyond the best, as far as what was published tells."""
        place = self.ways.types.index(checks.one_of(self.ways.types, kind=kind))
        ways = [self.ways.name(one, place) for one in self.answers(decision)]
        costs = self.ways.latencies.costs(decision.shares)
        prices = [self.ways.price(costs, place, way) for way in ways]
        weights = np.arange(1, decision.stop + 1) / (decision.stop * (decision.stop + 1) / 2)
        return max(0.0, float(np.array(prices) @ weights - self.ways.cheapest(costs)[place]))

    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return minus what the best action costs, where all the others do as they are told."""
        others = [signal for place, signal in enumerate(outcome.signals) if place != player]
        costs = self.ways.latencies.costs((self._count_users(others) + 1) / self.players)
        return -float(self.ways.cheapest(costs)[find_kind(self.ways.types, kind)])

    def regrets(self, reports: Any, signals: Sequence[Any]) -> Floats:
        """Return what each player truly loses by following. **Not private**: for reports that are made up."""
        kinds, users = self._read(reports), self._count_users(signals)
        known: dict[tuple[int, Hashable], float] = {}
        pairs = list(zip(kinds.tolist(), signals, strict=True))
        for kind, action in set(pairs):
            if kind < 0:
                known[kind, action] = 0.0
                continue
            alone = np.ones(len(self.ways.latencies))
            alone[list(self.ways.uses(action))] = 0
            costs = self.ways.latencies.costs((users + alone) / self.players)
            best = float(self.ways.cheapest(costs)[kind])
            known[kind, action] = self.ways.price(costs, kind, action) - best
        return np.array([known[pair] for pair in pairs])

    def _count_users(self, signals: Sequence[Any]) -> Integers:
        tally: dict[Any, int] = {}
        for signal in signals:
            tally[signal] = tally.get(signal, 0) + 1
        users = np.zeros(len(self.ways.latencies), dtype=np.int64)
        for signal, many in tally.items():
            if signal is not None:
                users[list(self.ways.uses(signal))] += many
        return users


def _two_roads(costs: Sequence[Sequence[float | None]]) -> Routes:
    return Routes(latencies=[[0, 1], [0.25, 0.5]], types=("left", "right")[: len(costs)], costs=costs)


def _tiny() -> Iterator[Tiny]:
    public: dict[str, Any] = {"delta": Fraction(1, 100), "neighbours": Bidder()}
    roads = _two_roads([[0, 1], [1, 0]])
    one = CongestionGame(ways=roads, players=2, rounds=1, epsilon=6, **public)
    yield Tiny(one, list(Bidder().pairs((*roads.types, None), 2)))
    # In later rounds everybody answers what was published of the earlier ones. One may stay at home.
    home = Routes(latencies=[[0, 1]], routes=[[0], []], types=("goes", "stays"), costs=[[0, 0.5], [0.5, 0]])
    twice = CongestionGame(ways=home, players=3, rounds=2, epsilon=6, **public)
    yield Tiny(twice, list(Bidder().pairs(home.types, 3)))


def _example() -> tuple[CongestionGame, Any]:
    roads = Routes(
        latencies=[[0.1, 1], [0, 0.5, 1], [0.3]],
        types=("north", "south"),
        costs=[[0, 0.2, 0.1], [0.3, 0, None]],
    )
    game = CongestionGame(ways=roads, players=500, rounds=20, epsilon=1, delta=1e-6, neighbours=Bidder())
    return game, ["north" if player % 3 else "south" for player in range(500)]


CARD = Card(
    title="Congestion game: a private equilibrium of traffic",
    theorem="joint (epsilon, delta)-differential privacy; nearly an equilibrium, with O(1 / rounds) regret",
    reference="[KPRRU15]; [RR14]; [DR14] Section 10.2.2, with its rate corrected",
    example=_example,
    tiny=_tiny,
)
