"""Drawing a cell from weights that move a little every round, without adding them up every round.

A cell weighs exp(rate * hits), and a round changes each cell's hits by one at most. So a board of bars made
some rounds ago, with room for as many rounds as it is kept, still has a bar for every cell that is at least
as wide as its weight. A dart at the board hits a bar, and counts if it lands within the weight of today:
given that it counts, cells have exactly their law. Only the hits of that one cell are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from discreet.analysts.games.scores import BitRows, LateScores
from discreet.core.fixed import Integers
from discreet.core.rng import Primitive, Rng
from discreet.equilibrium.bregman import DOUBT
from discreet.noise.oracle import uniform_below
from discreet.noise.samplers import below_exp
from discreet.noise.selection import ExponentialChoice

_BITS = 40  # of the widest bar
_ROOM = 0.25  # how much wider than needed, as a logarithm, bars are made so that they last


@dataclass(frozen=True, slots=True)
class Board:
    """Where each cell's bar ends, and the hits of a weight of 2**bits: no cell gets there while it lasts."""

    ends: Integers
    bits: int
    top: int
    lasts: int


class Hits:
    """How often the picked queries counted each cell, complements taken away. Never changes.

    Parameters
    ----------
    bits
        One row a query, one column a cell.
    """

    __slots__ = ("board", "moved", "sums")

    def __init__(self, bits: BitRows) -> None:
        self.sums = LateScores(np.zeros(bits.columns, dtype=np.int64), bits=bits)
        self.board: Board | None = None  # remembered from an earlier round: a shortcut, not part of the value
        self.moved = 0  # how many rounds ago

    def after(self, place: int, weight: int) -> Self:
        """Return the hits after a query was picked, with weight 1, or its complement, with weight -1."""
        made = object.__new__(type(self))
        made.sums, made.board, made.moved = self.sums.after(place, weight), self.board, self.moved + 1
        return made

    @property
    def scores(self) -> Integers:
        """All hits, on the host."""
        return self.sums.arrays.fetch(self.sums.whole())

    def __eq__(self, other: object) -> bool:
        return bool(np.array_equal(self.scores, other.scores)) if isinstance(other, Hits) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.scores.tobytes())

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __repr__(self) -> str:
        return f"<Hits: {self.sums.size} cells>"  # how often is private


@dataclass(frozen=True, slots=True)
class CellChoice(Primitive[Hits, int]):
    """Choose a cell with probability ~ exp(rate * hits)."""

    rate: Fraction
    sensitivity: Fraction

    def sample(self, value: Hits, rng: Rng) -> int:
        """Throw darts until one counts."""
        board = value.board
        if board is None or value.moved > board.lasts:
            board = self._refresh(value)
        total, rate = int(board.ends[-1]), float(self.rate)
        while True:
            dart = uniform_below(total, rng)
            cell = int(np.searchsorted(board.ends, dart, side="right"))
            inside = dart - (int(board.ends[cell - 1]) if cell else 0)
            behind = board.top - int(value.sums.at(np.array([cell]))[0])
            width = math.exp(-rate * behind) * 2.0**board.bits
            if inside + 1 <= width * (1 - DOUBT):
                return cell
            if inside <= width * (1 + DOUBT) and self._inside(inside, board.bits, behind, rng):
                return cell

    def _inside(self, inside: int, bits: int, behind: int, rng: Rng) -> bool:
        """Decide exactly whether a dart is below a weight, drawing more of its bits."""
        exponent = self.rate * behind
        return inside < 1 << bits and below_exp(exponent.numerator, exponent.denominator, (inside, bits), rng)

    def _refresh(self, value: Hits) -> Board:
        """Make the board of these very hits."""
        arrays, hits = value.sums.arrays, value.sums.whole()
        best, lasts = int(hits.max()), math.floor(Fraction(_ROOM) / self.rate) if self.rate else 0
        # The sum of all bars stays below 2**63.
        bits = min(_BITS, 61 - len(hits).bit_length())
        widths = arrays.module.exp(arrays.real(best - hits) * -float(self.rate))
        bars = arrays.whole(widths * (2.0**bits * (1 + DOUBT))) + 2
        value.board = Board(arrays.fetch(arrays.module.cumsum(bars, 0)), bits, best + lasts, lasts)
        value.moved = 0
        return value.board

    def law(self, value: Hits) -> Iterator[tuple[int, Fraction]]:
        """Yield every cell with its probability."""
        yield from ExponentialChoice(self.rate, self.sensitivity).law(value.scores)

    def distance(self, value: Hits, other: Hits) -> Fraction:
        """Return the spread of the change: its largest coordinate minus its smallest."""
        return ExponentialChoice(self.rate, self.sensitivity).distance(value.scores, other.scores)
