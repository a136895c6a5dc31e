"""A mediator for a crowd: advice that nobody gains by leaving, from what is published and the own type."""

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
from discreet.games.equilibria.anonymous import AnonymousGame
from discreet.games.equilibria.large import LargeGame
from discreet.games.equilibria.learning_types import LearningTypes, replay
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.mechanisms.subsample_aggregate import Partition
from discreet.noise.laws import DiscreteGaussian
from discreet.noise.primitives import AddNoise

AGAINST = ("actions", "rules")
LONGEST = 1 << 14
_MOST_PLAYERS = 1 << 40
_FINEST = 1 << 20
_PLANNED = 0.05  # the beta that the rate is best for


@dataclass(frozen=True, slots=True)
class Mediation:
    """What is published: how many do what in each round, in expectation and with noise.

    Attributes
    ----------
    counts
        A row a round, in units of chance: a number an action; of several crowds, one crowd after the other.
    whole, units
        What a crowd weighs, which is how many players there are where all count alike; and how many units
        are certainty.
    """

    counts: tuple[tuple[int, ...], ...]
    whole: int
    units: int

    @property
    def rounds(self) -> list[Floats]:
        """The shares of the crowd that do each action, round by round, nearly."""
        return [np.array(row, dtype=np.float64) / (self.whole * self.units) for row in self.counts]

    @property
    def shares(self) -> Floats:
        """Their mean."""
        return np.asarray(np.mean(self.rounds, axis=0))

    def __repr__(self) -> str:
        return f"Mediation({len(self.counts[0])} numbers a round, {len(self.counts)} rounds)"


def _read_game(**named: AnonymousGame) -> AnonymousGame:
    ((name, given),) = named.items()
    if type(given) not in (AnonymousGame, LargeGame):
        raise InvalidParameter(
            name=name, rule="an AnonymousGame or a LargeGame", got=f"a {type(given).__name__}"
        )
    return given


@frozen
class CorrelatedEquilibrium(Billboard):
    """Tell everybody what to do, so that nobody of any type gains by doing otherwise instead.

    In each round every type has chances for its actions, which learn from what is published: how many do
    what, in expectation, with Gaussian noise. One round is drawn for all and kept secret, and everybody is
    told an action drawn from the chances of the own type in it. Whoever reports no type is counted nowhere.

    Privacy: (epsilon, delta) for what is published, and jointly so for all that the others are told. [KPRU14]
    Accuracy: with probability 1 - beta nobody, of any type, gains more than error(beta) by doing one action
    whatever was told (against "actions": a coarse correlated equilibrium), or by any rule that says what to
    do instead of what was told (against "rules": a correlated equilibrium). [DR14] Section 10.2.2, [BM07].
    Truthfulness: nobody gains more than `opting_out(beta)` by staying away. What lies gain has no bound
    beforehand, since another type's advice may tell of what the others do; `lying` has one afterwards.
    Time: O(rounds * types * actions^2), for rules times up to 60 actions more.

    Parameters
    ----------
    game
        An `AnonymousGame`, or a `LargeGame` in which it counts who does what: types, actions and payoffs.
    players
        How many there are.
    rounds
        How long types learn.
    against
        "actions" or "rules".
    epsilon, delta
        The budget of one equilibrium.
    units
        Chances are multiples of one over it.
    neighbours
        `Bidder()`.
    """

    game: AnonymousGame = public(_read_game)
    players: int = public(checks.integer, 1, _MOST_PLAYERS)
    rounds: int = public(checks.integer, 1, LONGEST)
    against: str = public(checks.one_of, AGAINST)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.probability)
    units: int = public(checks.integer, 1, _FINEST, default=_FINEST)
    variance: Fraction = derived()

    def _complete(self) -> None:
        self.game.whole(self.players)
        whole = Fraction(self._square_shift * self.rounds)
        self._set(variance=analytic_variance(whole, self.epsilon, self.delta))

    @property
    def _square_shift(self) -> int:
        """One type's chances for another's: the vectors of two distributions are sqrt(2) apart at most."""
        return 2 * self.units**2 * self.game.square_weight

    @property
    def loss(self) -> Loss:
        """Gaussian, once a round."""
        return Composed(((discrete_loss(Fraction(self._square_shift), self.variance), self.rounds),))

    @property
    def truthfulness(self) -> float:
        """1: what another type's advice may be good for shows in what is published alone: see `lying`."""
        return 1.0

    @property
    def largeness(self) -> float:
        """How much what one player does changes what an action is worth for another, at most."""
        return self.game.largeness(self.players)

    @property
    def rate(self) -> float:
        """How fast types learn: as is best for the bound on what is gained."""
        return math.sqrt(8 * self._depth / self.rounds) / self._range(_PLANNED)

    @property
    def _depth(self) -> float:
        """The logarithm that regrets grow with: once, or for the weights of every action."""
        size = len(self.game.actions)
        return max(1.0, math.log(size)) * (size if self.against == "rules" else 1)

    @property
    def _deviation(self) -> float:
        """The deviation of what one action seems to be worth more than another in one round, at most."""
        return above(self.game.contrast * math.sqrt(up(self.variance)) / (self._whole * self.units), 8)

    @property
    def _whole(self) -> int:
        return self.game.whole(self.players)

    @property
    def _learners(self) -> int:
        """How many learn: the types, for each crowd that is watched."""
        return self.game.crowds * len(self.game.types)

    def _range(self, beta: float) -> float:
        """Return by how much payoffs seem to differ: the root of the mean square over rounds, at most.

        The smaller of what no pair of actions exceeds in any round, and of what all the noise of a crowd
        comes to: the square of the length of a sub-Gaussian vector [HKZ12].
        """
        size, extra = len(self.game.actions), math.log(self.game.crowds / beta) / self.rounds
        pairs = self.rounds * self._learners * size**2
        each = min(2 * math.log(pairs / beta), size + 2 * math.sqrt(size * extra) + 2 * extra)
        return 1 + self._deviation * math.sqrt(each)

    def error(self, beta: checks.Number) -> float:
        """Return how much anybody could gain by not doing as told, at most, in expectation over lots.

        With probability 1 - beta over the noise, for all types at once: the regret against what payoffs
        seemed to be, the noise along what was played, which is a martingale, units, and the own weight.

        Raises
        ------
        NoBound
            Where that is more than payoffs are apart.
        """
        b = down(checks.probability(beta=beta)) / 2
        size, kinds, rules = len(self.game.actions), self._learners, self.against == "rules"
        wide = self._range(b)
        regret = self._learned(wide)
        choices = math.log(kinds) + (size if rules else 1) * math.log(size)
        noise = self._deviation * math.sqrt(2 * (choices - math.log(b)) / self.rounds)
        own = 2 * self.game.own_weight(self.players)
        bound = above(regret + noise + 2 * size * wide / self.units + own, 64)
        return require_useful(bound, trivial=1, what="the gain among so few players", way_out=MORE)

    def _learned(self, wide: float) -> float:
        size = len(self.game.actions)
        each = math.log(size) / self.rate + 1  # as if an even crowd had been seen once, whatever that cost
        copies = size if self.against == "rules" else 1
        return copies * each / self.rounds + self.rate * wide**2 / 8

    def opting_out(self, beta: checks.Number) -> float:
        """Return what is gained at most, in expectation, by reporting nothing and doing one action.

        By privacy the others do nearly the same; by the equilibrium no action beats what is told.
        """
        b = checks.probability(beta=beta)
        return min(1.0, above(self.error(b) + float(b) + self.guarantee.truthfulness, 8))

    def lying(self, mediation: Mediation, *, beta: checks.Number) -> float:
        """Return what any lie gains at most, whatever is made of its advice: from what is published alone.

        What it is on average over what may be published bounds the expected gain. Advice that is meant for
        another type may tell which round was drawn; if in all rounds much the same is done, it tells little.

        Parameters
        ----------
        mediation
            What was published.
        beta
            Noise makes it too small with this probability at most, which is counted.
        """
        b, size, kinds = down(checks.probability(beta=beta)), len(self.game.actions), len(self.game.types)
        played = np.array(self.chances(mediation)) / self.units
        worth = np.array([self.game.worth(shares) for shares in mediation.rounds])
        gains = [0.0]
        for row in range(self._learners):
            first = row - row % kinds  # of those who watch the same crowd
            told = played[:, first : first + kinds].reshape(self.rounds, -1)
            table = (told.T @ worth[:, row]).reshape(kinds, size, size)  # [lie, what is told, what is done]
            kept = (played[:, row] * worth[:, row]).sum()
            gains.append(float(table.max(axis=2).sum(axis=1).max() - kept) / self.rounds)
        choices = math.log(self._learners * kinds) + size * math.log(size)
        noise = self._deviation * math.sqrt(2 * (choices - math.log(b)) / self.rounds)
        own = 2 * self.game.own_weight(self.players)
        return min(1.0, above(max(gains) + noise + own + b + self.guarantee.truthfulness, 64))

    def _read(self, data: Any) -> Integers:
        return find_types(data, self.game.types, self.players)

    def _learner(self) -> LearningTypes:
        rules = self.against == "rules"
        return LearningTypes(self.game, rate=self.rate, rules=rules, units=self.units)

    def _decide(self, read: Integers, rng: Rng) -> tuple[Mediation, int]:
        people = self.game.count(read)
        (chosen,) = rng.perform(Partition(self.rounds), 1)
        shift = shorten_up(Fraction(above(math.sqrt(self._square_shift))), 10)
        step = AddNoise(DiscreteGaussian(self.variance), shift, norm=2)
        learning, rows = self._learner(), []
        for turn in range(self.rounds):
            true = self.game.collect(people, learning.weights())
            rows.append(tuple(np.asarray(rng.perform(step, true)).tolist()))
            if turn + 1 < self.rounds:
                learning.learn(np.array(rows[-1], dtype=np.float64) / (self._whole * self.units))
        return Mediation(tuple(rows), self._whole, self.units), int(chosen)

    def _publish(self, decision: tuple[Mediation, int]) -> Mediation:
        return decision[0]

    def chances(self, mediation: Mediation) -> list[Integers]:
        """Return every learner's chances in every round, in units: from what is published alone."""
        require_published(Mediation, mediation=mediation)
        if (len(mediation.counts), mediation.whole, mediation.units) != (
            self.rounds,
            self._whole,
            self.units,
        ):
            raise InvalidParameter(name="mediation", rule="what this game published", got="another game's")
        return replay(self._learner(), mediation.rounds[:-1])

    def _settle(
        self, read: Integers, decision: tuple[Mediation, int], rng: Rng
    ) -> tuple[Sequence[Money], Sequence[Hashable]]:
        """Nobody pays. Each is told an action, by a lot that is drawn for that player."""
        mediation, chosen = decision
        ends = np.cumsum(self.chances(mediation)[chosen], axis=1)
        lots = np.array(rng.perform(Partition(self.units), read.size))
        told = (lots[:, None] >= ends[self.game.find_rows(read)]).sum(axis=1)
        pairs = zip(read.tolist(), told.tolist(), strict=True)
        return (Fraction(0),) * read.size, [self.game.actions[a] if kind >= 0 else None for kind, a in pairs]

    def gain(self, reports: Any, mediation: Mediation) -> float:
        """Return what the best deviation of any type truly gains. **Not private**: for made-up reports."""
        kinds, size = self._read(reports), len(self.game.actions)
        people, table = self.game.count(kinds), np.zeros((self._learners, size, size))
        for weights in self.chances(mediation):
            worth = self.game.worth(self.game.collect(people, weights) / (self._whole * self.units))
            played = weights / self.units / self.rounds
            table += played[:, :, None] * worth[:, None]  # what action b brings where a was told
        kept = np.trace(table, axis1=1, axis2=2)
        changed = table.max(axis=2).sum(axis=1) if self.against == "rules" else table.sum(axis=1).max(axis=1)
        gains = (changed - kept)[self.game.find_rows(kinds)[kinds >= 0]]
        return float(gains.max()) if gains.size else 0.0

    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return what doing as told is worth, where all do; who is told nothing does what seems best."""
        known = np.zeros(self.players, dtype=np.int64)
        known[player] = find_kind(self.game.types, kind)
        row, actions = int(self.game.find_rows(known)[player]), self.game.actions
        done = [-1 if signal is None else actions.index(signal) for signal in outcome.signals]
        worth = self.game.worth(self.game.gather(np.array(done, dtype=np.int64)) / self._whole)[row]
        seems = self.game.worth(outcome.decision.shares)[row]
        return float(worth[seems.argmax() if done[player] < 0 else done[player]])


def make_beach() -> AnonymousGame:
    """Return the game of [DR14] Section 10.2.2: to the beach or to the mountains, where the others go."""
    payoffs = np.array([[[1, 0], [0, 0.5]], [[0.5, 0], [0, 1]]])
    return AnonymousGame(types=("beach", "mountain"), actions=("beach", "mountain"), payoffs=payoffs)


def _tiny() -> Iterator[Tiny]:
    given: dict[str, Any] = {"delta": Fraction(1, 100), "neighbours": Bidder(), "players": 2, "rounds": 1}
    for against in AGAINST:
        game = CorrelatedEquilibrium(game=make_beach(), against=against, epsilon=6, units=1, **given)
        yield Tiny(game, list(Bidder().pairs(("beach", "mountain", None), 2)))


def _example() -> tuple[CorrelatedEquilibrium, Any]:
    game = CorrelatedEquilibrium(
        game=make_beach(),
        players=400,
        rounds=30,
        against="rules",
        epsilon=2,
        delta=1e-6,
        neighbours=Bidder(),
    )
    return game, ["mountain" if player % 5 > 1 else "beach" for player in range(400)]


CARD = Card(
    title="Correlated equilibrium of an anonymous game",
    theorem="joint (epsilon, delta)-differential privacy; nobody gains error(beta) by not doing as told",
    reference="[KPRU14]; [DR14] Section 10.2.2; [BM07] for rules",
    example=_example,
    tiny=_tiny,
)
