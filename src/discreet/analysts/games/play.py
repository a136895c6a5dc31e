"""The game that both offline mechanisms play, and what they share: public parameters, rounds, leftovers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np

from discreet.accounting.calibrate import largest, zcdp_rho
from discreet.accounting.composition import Composed
from discreet.analysts.games import calibration as game_calibration
from discreet.analysts.games.bregman_choice import Standing
from discreet.analysts.games.calibration import LEFTOVER_SHARE, GameSizes, Rates
from discreet.analysts.games.cells import CellChoice, Hits
from discreet.analysts.games.loss import GameLoss
from discreet.analysts.games.scores import GameTable
from discreet.analysts.promises import Delivery, LearnsTogether, Leftover, QueriesAndData
from discreet.analysts.tiny import BUDGET, COIN, COINS, TWO, example_data, tiny_data
from discreet.core import checks
from discreet.core.bounds import require_useful
from discreet.core.card import Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.loss import Loss, PureLoss, ZCDPLoss
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.query_release.synopses.synopsis import Weights
from discreet.sparse.numeric_sparse import NumericSparse

_LARGEST = 1 << 62  # scores are 64-bit integers, up to rounds * rows
_MOST_ROWS = 1 << 53  # counts are added up in floats, exactly up to here


@frozen
class SampledGame(LearnsTogether):
    """A game between a player who picks cells and one who picks queries; the picked cells are the synopsis.

    The query player wants queries that the picked cells answer badly, the data player wants cells that
    make up for it. Both pick at random from multiplicative weights: the noise that hides people and queries.
    """

    delta: Exact = public(checks.probability)
    rounds: Public[int | None, int] = public(checks.integer, 2, default=None)
    density: Public[int | None, int] = public(checks.integer, 1, default=None)
    leftovers: int = public(checks.integer, 0, default=0)

    def _complete(self) -> None:
        self.universe.require_dense()
        if self.field.groups < 2:
            raise InvalidParameter(name="caps", rule="at least two groups of queries to cap", value=self.caps)
        self._balance(self.rounds, self.density)
        if not self.density < self.field.groups:
            rule = f"below {self.field.groups}, the number of groups under the caps"
            raise InvalidParameter(name="density", rule=rule, value=self.density)
        if self.rows > _MOST_ROWS:
            raise InvalidParameter(name="rows", rule=f"at most {_MOST_ROWS}", value=self.rows)
        if self.rounds * self.rows > _LARGEST:
            raise InvalidParameter(name="rounds", rule=f"at most {_LARGEST // self.rows}", value=self.rounds)
        _ = self.rates  # refuses what cannot be calibrated

    def _balance(self, rounds: int | None, density: int | None) -> None:
        """Set how long the game is and how flat the query player plays, where that was left out."""
        if rounds is None or density is None:
            length, flatness = game_calibration.balance(
                self.field, rho=self._game_rho, epsilon=self.analyst_epsilon, delta=self.analyst_delta
            )
            self._set(rounds=rounds or length, density=density or flatness)

    # What the two games differ in ------------------------------------------------------------------

    @property
    @abstractmethod
    def field(self) -> GameSizes:
        """The public sizes of the game."""

    @abstractmethod
    def _start(self) -> Standing:
        """Return the query player's scores before the first round."""

    @abstractmethod
    def _pick(self, standing: Standing, rate: Fraction, before: int, rng: Rng) -> int:
        """Draw an action after some rounds: a place, or a complement's place plus the number of places."""

    # What follows from the public parameters ---------------------------------------------------------

    @property
    def rates(self) -> Rates:
        """The two learning rates."""
        return game_calibration.calibrate(
            self.field,
            rounds=self.rounds,
            density=self.density,
            rho=self._game_rho,
            epsilon=self.analyst_epsilon,
            delta=self.analyst_delta,
        )

    @property
    def _game_rho(self) -> Fraction:
        """What the game may cost: all that the leftovers do not."""
        whole = _whole_rho(self.epsilon, self.delta)
        if self.sparse is None:
            return whole
        return whole - self.caps.analysts * Fraction(self.sparse.loss.zcdp())

    @property
    def sparse(self) -> NumericSparse | None:
        """What tells one analyst which of their queries the synopsis answers badly, and their counts."""
        if not self.leftovers:
            return None
        share = LEFTOVER_SHARE * _whole_rho(self.epsilon, self.delta) / self.caps.analysts
        return _leftover_sparse(share, self.leftovers, 2 * self.caps.queries, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The query player's draws, and every analyst's leftovers: one row is in all of them."""
        rho = game_calibration.game_rho(self.rates.action, rounds=self.rounds, draws=self.field.draws)
        if self.sparse is None:
            return ZCDPLoss(rho)
        return Composed(((ZCDPLoss(rho), 1), (self.sparse.loss, self.caps.analysts)))

    @property
    def analyst_loss(self) -> Loss:
        """What the synopsis tells of one hidden change; the leftovers of others tell nothing."""
        return GameLoss(self.rounds, self.field.sigma(self.density), self.rates.cell)

    def error(self, beta: checks.Number) -> float:
        """Return alpha in rows: the worst answers of any `density` groups are off by <= alpha on average.

        So all but density - 1 groups have no answer that is off by more, with probability 1 - beta. A group
        is one side of one query, or one analyst.
        """
        share = game_calibration.share_off(
            self.field,
            self.rates,
            rounds=self.rounds,
            density=self.density,
            beta=checks.probability(beta=beta),
        )
        return require_useful(
            up(Fraction(share) * self.rows),
            trivial=float(self.rows),
            what="the answers of a game",
            way_out="It takes more rows or larger budgets; PrivateAnswers has an exact bound",
        )

    # The release -------------------------------------------------------------------------------------

    def _draw(self, data: QueriesAndData, rng: Rng) -> Delivery:
        self._check(data, rows=self.rows)
        table = GameTable(data.book)
        answers = table.answers(data.histogram)
        tally = self._play(table, answers, rng)
        shared = Weights(self.universe, tally * (self.rows / self.rounds), transcript=tuple(tally.tolist()))
        private = tuple((name, self._leftovers(name, data, shared, rng)) for name in data.book.names)
        return Delivery(shared, private)

    def _play(self, table: GameTable, answers: Integers, rng: Rng) -> Integers:
        """Play all rounds and count the cells that were picked."""
        places, rates = self.caps.places, self.rates
        standing, hits = self._start().facing(table.by_cell, answers), Hits(table.by_place)
        tally = np.zeros(self.universe.size, dtype=np.int64)
        # Given the actions, a cell's draw does not read the data at all.
        choose = CellChoice(rates.cell, sensitivity=Fraction(0))
        for before in track(range(self.rounds), total=self.rounds, label="playing"):
            action = self._pick(standing, rates.action, before, rng)
            # A complement adds 1 - counted: the same as taking counted away, since only differences matter.
            hits = hits.after(action % places, 1 if action < places else -1)
            cell = rng.perform(choose, hits)
            tally[cell] += 1
            standing = standing.after(cell, -self.rows, most=self.rows)
        return tally

    def _leftovers(self, name: str, data: QueriesAndData, shared: Weights, rng: Rng) -> tuple[Leftover, ...]:
        """Hold a conversation with one analyst alone about the queries the synopsis answers badly."""
        sparse = self.sparse
        if sparse is None:
            return ()
        found: list[Leftover] = []
        asked = data.book.list_asked(name)
        guesses = {place: round(shared.answer(query)) for place, query in asked.items()}
        gaps = {place: int(query.evaluate(data.histogram)) - guesses[place] for place, query in asked.items()}
        talk = sparse.open(gaps | {~place: -gap for place, gap in gaps.items()}, rng=rng)
        for place, guess in guesses.items():
            for sign, key in ((1, place), (-1, ~place)):
                if talk.closed:
                    return tuple(found)
                gap = talk.ask(itemgetter(key), threshold=_threshold(sparse))
                if gap is not None:
                    found.append(Leftover(place, float(guess + sign * gap)))
                    break
        return tuple(found)


@lru_cache(maxsize=256)
def _whole_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    return zcdp_rho(epsilon=epsilon, delta=delta)


@lru_cache(maxsize=64)
def _leftover_sparse(rho: Fraction, positives: int, queries: int, neighbours: Neighbours) -> NumericSparse:
    """Return the conversation one analyst gets: pure, and within a share of rho."""
    epsilon = largest(lambda e: PureLoss(e).zcdp() <= rho)
    return NumericSparse(
        sensitivity=1, epsilon=epsilon, delta=0, positives=positives, queries=queries, neighbours=neighbours
    )


@lru_cache(maxsize=64)
def _threshold(sparse: NumericSparse) -> float:
    """Return the gap in rows from which a query counts as answered badly: where the test can tell."""
    return sparse.error(game_calibration.PLANNED_BETA)


def tiny_games(kind: type[SampledGame], *, density: int) -> Iterator[Tiny]:
    """Yield a game that is short enough to enumerate."""
    loud: dict[str, Any] = {"epsilon": 8, "delta": 0.01, "analyst_epsilon": 6, "analyst_delta": 0.01}
    short = kind(
        universe=COIN, caps=TWO, rows=2, rounds=3, density=density, neighbours=Replace("row"), **loud
    )
    yield Tiny(short, tiny_data(COINS, 2), tight=False)


def example_game(kind: type[SampledGame], *, density: int) -> tuple[SampledGame, QueriesAndData]:
    """Return a game about the people of all examples."""
    asked = example_data()
    given = {"universe": asked.book.universe, "caps": asked.book.caps, "rounds": 200, **BUDGET}
    return kind(rows=2000, analyst_epsilon=1, analyst_delta=1e-6, density=density, **given), asked
