"""The private equilibrium of a zero-sum game whose payoffs are what many people report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.accounting.calibrate import zcdp_rho
from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers
from discreet.core.loss import Loss, PureLoss, ZCDPLoss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Bidder, Neighbours
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, below, down, shorten_down
from discreet.equilibrium.players import WeightsPlayer
from discreet.games.common.game import require_bidders
from discreet.games.common.utilities import read_unit, read_utilities
from discreet.mechanisms.grid import LIMIT
from discreet.mechanisms.reading import make_plain
from discreet.noise.selection import ExponentialChoice

LONGEST = 1 << 20
"""Rounds at most."""


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """What two players did in all rounds: their mean play is nearly an equilibrium.

    Attributes
    ----------
    rows, columns
        The numbers of the actions, round by round.
    size
        How many actions each player has.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    size: tuple[int, int]

    @property
    def row(self) -> Floats:
        """The strategy of the player who pays: how often each row was played."""
        return np.bincount(self.rows, minlength=self.size[0]) / len(self.rows)

    @property
    def column(self) -> Floats:
        """The strategy of the player who receives."""
        return np.bincount(self.columns, minlength=self.size[1]) / len(self.columns)

    def __repr__(self) -> str:
        best = f"row {int(self.row.argmax())} and column {int(self.column.argmax())} most often"
        return f"PlayedGame({self.size[0]} x {self.size[1]}, {len(self.rows)} rounds, {best})"


@frozen
class ZeroSumEquilibrium(Mechanism[Any, PlayedGame]):
    """Let two players learn against each other, seeing of the payoffs only what the other one's moves show.

    The payoff of a row and a column is the mean of what everybody reports for them. In each round both draw
    an action by the exponential mechanism, from what each would have had against the moves so far.

    Privacy: (epsilon, delta), for one changed report; all of it may be published. A draw after s moves has
    range 2 rate s / players. delta = 0 adds the ranges up, else they compose as zCDP. [DR14] Theorem 3.10.
    Accuracy: with probability 1 - beta both together could do better than the mean play by at most
    error(beta): two regrets and one martingale, and of the numbers of actions only logarithms.
    Time: O(rounds * (rows + columns)), after adding up the reports.

    Parameters
    ----------
    rows, columns
        How many actions the player who pays has, and the one who receives.
    players
        How many people report: a matrix of numbers in [0, 1] each.
    rounds
        How long the two learn. `for_budget` takes the best.
    epsilon, delta
        The budget of one equilibrium.
    grid
        The unit that payoffs are rounded to: one over a whole number.
    neighbours
        `Bidder()`.

    Examples
    --------
    >>> game = ZeroSumEquilibrium.for_budget(
    ...     epsilon=1, delta=1e-6, rows=20, columns=1000, players=1_000_000, grid=0.1, neighbours=Bidder()
    ... )
    >>> game.error(0.05) < 0.05
    True
    """

    rows: int = public(checks.integer, 2)
    columns: int = public(checks.integer, 2)
    players: int = public(checks.integer, 1)
    rounds: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    grid: Exact = public(read_unit)
    neighbours: Neighbours = public(require_bidders)
    row_rate: Fraction = derived()
    column_rate: Fraction = derived()
    measures: ClassVar[bool] = False

    def _complete(self) -> None:
        most = self.players * self.rounds * int(1 / self.grid)
        if self.rounds > LONGEST or most > LIMIT:
            rule = f"at most {LONGEST}, and so few that all payoffs can be added up"
            raise InvalidParameter(name="rounds", rule=rule, value=self.rounds)
        best = [WeightsPlayer.best_rate(rounds=self.rounds, spread=math.log(k)) for k in self._sizes]
        scale = min(1.0, self._largest_scale(best))
        scores = self.players / self.grid  # a mean payoff of 1, in units
        rates = [shorten_down(Fraction(below(each * scale, 4)) / scores, 12) for each in best]
        self._set(row_rate=rates[0], column_rate=rates[1])

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.rows, self.columns

    def _largest_scale(self, best: list[float]) -> float:
        """Return by how much the best rates may be multiplied within the budget."""
        ranges = [2 * each / self.players for each in best]
        if self.rounds == 1:
            return 1.0
        if self.delta == 0:
            return down(self.epsilon) / (sum(ranges) * self._moves(1))
        rho = zcdp_rho(epsilon=self.epsilon, delta=self.delta)
        return math.sqrt(8 * down(rho) / (sum(each**2 for each in ranges) * self._moves(2)))

    def _moves(self, power: int) -> int:
        """Return the sum of s or of s^2 over the rounds, where s moves were seen."""
        last = self.rounds - 1
        return last * (last + 1) // 2 if power == 1 else last * (last + 1) * (2 * last + 1) // 6

    @classmethod
    def for_budget(cls, **public: Any) -> Self:
        """Return the mechanism whose error(0.05) is smallest for a budget, nearly.

        Parameters
        ----------
        public
            All parameters but the rounds.
        """
        tried = sorted({round(2 ** (k / 3)) for k in range(3, 61)})
        games = []
        for rounds in tried:
            try:
                games.append(cls(rounds=rounds, **public))
            except InvalidParameter:
                if not games:
                    raise
                break
        return min(games, key=lambda game: game._bound(Fraction(1, 20)))  # noqa: SLF001 - its own

    @property
    def loss(self) -> Loss:
        """The ranges of all draws, added up, or as zCDP, where each costs range^2 / 8."""
        ranges = [2 * rate / self.grid for rate in (self.row_rate, self.column_rate)]
        if self.delta == 0:
            return PureLoss(sum(ranges, Fraction(0)) * self._moves(1))
        return ZCDPLoss(sum((each**2 for each in ranges), Fraction(0)) * self._moves(2) / 8)

    def error(self, beta: checks.Number) -> float:
        """Return how much the two could gain by leaving the mean play, both together.

        A player's moves are drawn, so what is lost by them is a martingale whose steps, of both players
        together, are as far from 0 as a sum of two independent numbers of range 1.

        Raises
        ------
        NoBound
            Where that is more than all payoffs are apart.
        """
        bound, what = self._bound(checks.probability(beta=beta)), "the gap of so short or so private a game"
        return require_useful(bound, trivial=1, what=what, way_out=MORE)

    def _bound(self, beta: Fraction) -> float:
        regrets = 0.0
        for rate, size in ((self.row_rate, self.rows), (self.column_rate, self.columns)):
            eta = float(rate * self.players / self.grid)
            regrets += eta / 8 + math.log(size) / (eta * self.rounds)
        return above(regrets + math.sqrt(math.log(1 / down(beta)) / self.rounds), 16)

    def gap(self, played: PlayedGame, reports: Any) -> float:
        """Return how much the two could truly gain. **Not private**: for reports that are made up."""
        mean = self._read(reports) / (self.players / float(self.grid))
        return float((played.row @ mean).max() - (mean @ played.column).min())

    def _read(self, data: Any) -> Integers:
        """Return the sums of all payoffs, in units; whoever reports no matrix reports zeros."""
        given = make_plain(data)
        if isinstance(given, np.ndarray) and given.ndim and given.dtype.kind == "O":
            given = given.tolist()  # one odd report makes this of what would be a table
        if isinstance(given, np.ndarray) and given.ndim == 3 and given.dtype.kind in "iuf":
            if given.shape[1:] != self._sizes:
                rule = f"matrices of {self.rows} rows and {self.columns} columns"
                raise InvalidParameter(name="data", rule=rule, got="others")
            given = given.reshape(len(given), -1)
        elif isinstance(given, list | tuple):
            given = [self._flatten(one) for one in given]
        else:
            rule, got = "a matrix of payoffs a player", f"a {type(given).__name__}"
            raise InvalidParameter(name="data", rule=rule, got=got)
        if len(given) != self.players:
            rule = f"{self.players} matrices, one a player"
            raise InvalidParameter(name="data", rule=rule, got="another number of them")
        table = read_utilities(given, self.rows * self.columns, self.grid)
        return np.asarray(table.sum(axis=0).reshape(self._sizes))

    def _flatten(self, matrix: Any) -> list[Any] | None:
        if type(matrix) is np.ndarray and matrix.shape == self._sizes:
            matrix = matrix.tolist()
        if type(matrix) not in (list, tuple) or len(matrix) != self.rows:
            return None
        if any(type(row) not in (list, tuple) or len(row) != self.columns for row in matrix):
            return None
        return [entry for row in matrix for entry in row]

    def _draw(self, data: Any, rng: Rng) -> PlayedGame:
        payoffs = self._read(data)
        paid, received = np.zeros(self.rows, dtype=np.int64), np.zeros(self.columns, dtype=np.int64)
        rows, columns = [], []
        for moves in range(self.rounds):
            spread = Fraction(2 * moves) / self.grid
            row = rng.perform(ExponentialChoice(self.row_rate, spread), -paid)
            column = rng.perform(ExponentialChoice(self.column_rate, spread), received)
            rows.append(int(row))
            columns.append(int(column))
            paid, received = paid + payoffs[:, column], received + payoffs[row]
        return PlayedGame(tuple(rows), tuple(columns), self._sizes)


def _tiny() -> Iterator[Tiny]:
    kinds = (((1, 0), (0, 1)), ((0, 1), (1, 0)), ((1, 1), (0, 0)), None)
    public: dict[str, Any] = {"rows": 2, "columns": 2, "grid": 1, "neighbours": Bidder()}
    pure = ZeroSumEquilibrium(players=2, rounds=3, epsilon=2, delta=0, **public)
    yield Tiny(pure, list(Bidder().pairs(kinds, 2)), tight=False)
    # Where the others make one action of either player rare, the last report moves both by nearly the range.
    far = ZeroSumEquilibrium(players=6, rounds=2, epsilon=8, delta=0, **public | {"rows": 3, "columns": 3})
    one, other = ((1, 1, 1), (0, 1, 1), (0, 0, 0)), ((0, 0, 0), (1, 0, 0), (1, 1, 1))
    yield Tiny(far, [((one,) * 6, (*(one,) * 5, other)), ((*(one,) * 5, other), (one,) * 6)])
    mixed = ZeroSumEquilibrium(players=2, rounds=3, epsilon=2, delta=1e-3, **public)
    yield Tiny(mixed, list(Bidder().pairs(kinds[:3], 2)), tight=False)


def _example() -> tuple[ZeroSumEquilibrium, Any]:
    game = ZeroSumEquilibrium(
        rows=3, columns=4, players=40, rounds=20, epsilon=1, delta=1e-6, grid=0.1, neighbours=Bidder()
    )
    reports = [
        [[(3 * player + 5 * row + 2 * column) % 11 / 10 for column in range(4)] for row in range(3)]
        for player in range(40)
    ]
    return game, reports


CARD = Card(
    title="Private equilibrium of a zero-sum game",
    theorem="(epsilon, delta)-differential privacy; strategies within error(beta) of best",
    reference="[HRU13] Theorem 2.13 and Corollary 2.14; [DR14] Section 10.2.2",
    example=_example,
    tiny=_tiny,
)
