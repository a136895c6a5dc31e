"""Prices at which everybody gets what they want most and nearly everything is sold, found in private."""

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
from discreet.core.fixed import Floats, Integers
from discreet.core.loss import Loss
from discreet.core.neighbours import Bidder
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, down, shorten_up, up
from discreet.games.common.game import Money, Outcome, require_published
from discreet.games.common.joint import Billboard
from discreet.games.common.reports import find_kind, find_types
from discreet.games.markets.market import Market
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.mechanisms.subsample_aggregate import Partition
from discreet.noise.laws import DiscreteGaussian
from discreet.noise.primitives import AddNoise

LONGEST = 1 << 16
HIGHEST = 2.0
"""Prices end here: at twice what anything is worth, what is demanded too much costs more than it brings."""
_MOST_PLAYERS = 1 << 40
_PLANNED = 0.05  # the beta that the step is best for


@dataclass(frozen=True, slots=True)
class PriceList:
    """What is published: the noisy demand of each round, from which prices follow.

    Attributes
    ----------
    goods
        Their names.
    prices
        What each costs, for everybody.
    demands
        How many were wanted of each good, a row a round, with noise.
    """

    goods: tuple[Hashable, ...]
    prices: tuple[float, ...]
    demands: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        shown = ", ".join(f"{good}: {price:.3g}" for good, price in zip(self.goods, self.prices, strict=True))
        return f"PriceList({shown}, after {len(self.demands)} rounds)"


@frozen
class WalrasianEquilibrium(Billboard):
    """Post a price for every good, and tell everybody what to buy at these prices.

    In each round everybody names the favourite bundle at the prices so far, the demand is published with
    Gaussian noise, and prices move with what is wanted beyond the supply. The mean prices are posted, and
    each player is told the favourite of one round, drawn for that player. Any valuations will do: with as
    many buyers as this takes, lots stand in for what gross substitutes are needed for with few.

    Privacy: (epsilon, delta) for prices and demands, and jointly so for all that the others are told and pay.
    Truthfulness: whoever buys what is best at the posted prices gains at most `truthfulness` by a lie.
    Accuracy: in expectation over lots and with probability 1 - beta over the noise, all of these are at most
    players * error(beta): what players give away by following, all together; what is wanted beyond the
    supply; what unsold goods would cost; what the welfare is below the largest there is. After [HHRW16].
    Time: O(rounds * types * bundles * goods).

    Parameters
    ----------
    market
        Goods, bundles, types and values.
    players
        How many there are.
    rounds
        How often prices move. More are never worse but for time.
    epsilon, delta
        The budget of one equilibrium.
    neighbours
        `Bidder()`.
    """

    market: Market = public(checks.exactly, Market)
    players: int = public(checks.integer, 1, _MOST_PLAYERS)
    rounds: int = public(checks.integer, 1, LONGEST)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.probability)
    variance: Fraction = derived()

    def _complete(self) -> None:
        whole = Fraction(self.market.square_shift * self.rounds)
        self._set(variance=analytic_variance(whole, self.epsilon, self.delta))

    @property
    def loss(self) -> Loss:
        """Gaussian, once a round: one report changes one player's bundle."""
        return Composed(((discrete_loss(Fraction(self.market.square_shift), self.variance), self.rounds),))

    @property
    def truthfulness(self) -> float:
        """How far apart prices can be in law: nothing is worth more than 1 for anybody."""
        return self.guarantee.truthfulness

    @property
    def step(self) -> float:
        """How far prices move for a player's worth of demand, as is best for the error."""
        return HIGHEST * math.sqrt(len(self.market.goods) / (2 * self.rounds * self._square(_PLANNED)))

    def _reach(self, beta: float, many: int) -> float:
        """Return what so many noises of one round stay within, as a share of all players."""
        return math.sqrt(up(self.variance) * 2 * math.log(2 * many / beta)) / self.players

    def _square(self, beta: float) -> float:
        """Return half the mean square of how far prices move in a round, without the step, at most.

        Wishes beyond the supply, and all the noise: the square of a long sub-Gaussian vector [HKZ12].
        """
        supply, size = self._supply / self.players, len(self.market.goods)
        drift = float((np.maximum(supply, self._largest - supply) ** 2).sum())
        extra = math.log(1 / beta) / self.rounds
        noise = up(self.variance) * (size + 2 * math.sqrt(size * extra) + 2 * extra) / self.players**2
        return (math.sqrt(drift) + math.sqrt(noise)) ** 2 / 2

    def error(self, beta: checks.Number) -> float:
        """Return how far from an equilibrium this is at most, for each player.

        Prices descend on the dual, so that they regret little against any fixed ones up to 2; noise adds a
        martingale along the prices that were, and its sum along those they are compared with.

        Raises
        ------
        NoBound
            Where that is more than anything is worth.
        """
        b = down(checks.probability(beta=beta)) / 3
        size, goods = len(self.market.goods), HIGHEST * math.sqrt(len(self.market.goods))
        regret = goods**2 / (2 * self.step * self.rounds) + self.step * self._square(b)
        along = goods * math.sqrt(up(self.variance) * 2 * math.log(1 / b) / self.rounds) / self.players
        fixed = HIGHEST * size * self._reach(b, size) / math.sqrt(self.rounds)
        bound = above(regret + along + fixed, 64)
        return require_useful(bound, trivial=1, what="the equilibrium of so few players", way_out=MORE)

    def overshoot(self, beta: checks.Number) -> tuple[int, ...]:
        """Return how many of each good players may be told to buy beyond the supply: keep so many behind.

        With probability 1 - beta it is no more: what is wanted beyond the supply on average, and lots.
        """
        b = checks.probability(beta=beta) / 2
        wanted = self.players * self.error(b)
        lots = math.sqrt(self.players * math.log(len(self.market.goods) / down(b)) / 2)
        return tuple(math.ceil(wanted + above(int(most) * lots, 8)) for most in self._largest)

    @property
    def _largest(self) -> Integers:
        """The most of each good that anybody can want."""
        return np.asarray(self.market.contents.max(axis=0))

    @property
    def _supply(self) -> Floats:
        """What there is of each good; where there is more than all could take, what all could take."""
        most = (each * self.players for each in self._largest.tolist())
        return np.array([min(pair) for pair in zip(self.market.supply, most, strict=True)], dtype=np.float64)

    def _read(self, data: Any) -> Integers:
        return find_types(data, self.market.types, self.players)

    def _count(self, kinds: Integers) -> Integers:
        """Return how many there are of each type; of no type, none."""
        return np.bincount(kinds[kinds >= 0], minlength=len(self.market.types))

    def _move(self, prices: Floats, demand: Sequence[int]) -> Floats:
        short = np.array(demand, dtype=np.float64) - self._supply
        return np.clip(prices + self.step * short / self.players, 0.0, HIGHEST)

    def _decide(self, read: Integers, rng: Rng) -> PriceList:
        people = self._count(read)
        shift = shorten_up(Fraction(above(math.sqrt(self.market.square_shift))), 10)
        noisy = AddNoise(DiscreteGaussian(self.variance), shift, norm=2)
        prices, total = np.zeros(len(self.market.goods)), np.zeros(len(self.market.goods))
        rows: list[tuple[int, ...]] = []
        for _ in range(self.rounds):
            wanted = people @ self.market.contents[self.market.choose(prices)]
            rows.append(tuple(np.asarray(rng.perform(noisy, wanted)).tolist()))
            total += prices
            prices = self._move(prices, rows[-1])
        return PriceList(self.market.goods, tuple((total / self.rounds).tolist()), tuple(rows))

    def favourites(self, decision: PriceList) -> list[Integers]:
        """Return every type's favourite bundle in each round: from what is published alone."""
        require_published(PriceList, decision=decision)
        prices, found = np.zeros(len(self.market.goods)), []
        for row in decision.demands:
            found.append(self.market.choose(prices))
            prices = self._move(prices, row)
        return found

    def _settle(
        self, read: Integers, decision: PriceList, rng: Rng
    ) -> tuple[Sequence[Money], Sequence[tuple[tuple[Hashable, int], ...]]]:
        """Each is told the favourite of a round of the own, and pays the posted prices of what is in it."""
        lots = np.array(rng.perform(Partition(self.rounds), read.size), dtype=np.int64)
        favourites = np.array(self.favourites(decision))
        chosen = np.where(read < 0, 0, favourites[lots, np.maximum(read, 0)])
        costs = (self.market.contents @ np.array(decision.prices)).tolist()
        return [costs[one] for one in chosen.tolist()], [self.market.bundles[one] for one in chosen.tolist()]

    def regret(self, kind: Hashable, decision: PriceList) -> float:
        """Return what following gives away for a type, in expectation: from what is published alone."""
        place = self.market.types.index(checks.one_of(self.market.types, kind=kind))
        told = [int(row[place]) for row in self.favourites(decision)]
        worth = self.market.values[place] - self.market.contents @ np.array(decision.prices)
        return max(0.0, float(worth.max() - worth[told].mean()))

    def gap(self, reports: Any, decision: PriceList) -> float:
        """Return the largest of what `error` bounds, a player. **Not private**: for made-up reports."""
        people, favourites = self._count(self._read(reports)), self.favourites(decision)
        prices, supply = np.array(decision.prices), self._supply
        wanted, welfare = np.zeros(len(supply)), 0.0
        for row in favourites:
            wanted += people @ self.market.contents[row] / self.rounds
            welfare += float(people @ self.market.values[np.arange(len(people)), row]) / self.rounds
        best = float(people @ self.market.surplus(prices))
        given_away = best - (welfare - float(prices @ wanted))
        excess = float(np.maximum(wanted - supply, 0).sum())
        missed = best + float(prices @ supply) - welfare  # at least what the best welfare is above
        return max(given_away, excess, float(prices @ (supply - wanted)), missed) / self.players

    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return what the best bundle is worth at the posted prices, less these."""
        del player
        prices = np.array(outcome.decision.prices)
        return float(self.market.surplus(prices)[find_kind(self.market.types, kind)])


def _tiny() -> Iterator[Tiny]:
    given: dict[str, Any] = {"epsilon": 6, "delta": Fraction(1, 100), "neighbours": Bidder()}
    bread = Market(supply={"bread": 1}, bundles=[{"bread": 1}], types=("hungry", "full"), values=[[1], [0]])
    one = WalrasianEquilibrium(market=bread, players=2, rounds=2, **given)
    yield Tiny(one, list(Bidder().pairs((*bread.types, None), 2)))


def _example() -> tuple[WalrasianEquilibrium, Any]:
    stall = Market(
        supply={"apples": 120, "pears": 90},
        bundles=[{"apples": 1}, {"pears": 1}, {"apples": 1, "pears": 1}],
        types=("sweet", "sour", "both"),
        values=[[0.9, 0.4, 0.9], [0.3, 0.8, 0.8], [0.4, 0.4, 1]],
    )
    game = WalrasianEquilibrium(
        market=stall, players=300, rounds=40, epsilon=2, delta=1e-6, neighbours=Bidder()
    )
    return game, [("sweet", "sour", "both")[player % 3] for player in range(300)]


CARD = Card(
    title="Walrasian prices and who buys what",
    theorem="joint (epsilon, delta)-differential privacy; error(beta) from equilibrium and best welfare",
    reference="[HHRW16], [HHRRW14]; [DR14] Section 13.2",
    example=_example,
    tiny=_tiny,
)
