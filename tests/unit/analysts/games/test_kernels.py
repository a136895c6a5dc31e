"""The games' kernels: late sums, bits, boards that last some rounds, and the seam to other arrays."""

import importlib
import math
import types
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.analysts.games import analyst_game, query_game
from discreet.analysts.games.bregman_choice import CappedChoice, Sides
from discreet.analysts.games.cells import CellChoice, Hits
from discreet.analysts.games.scores import BitRows, LateScores, transpose
from discreet.core.errors import InvalidParameter, Refused
from discreet.equilibrium import arrays as game_arrays
from discreet.equilibrium.arrays import NUMPY, Arrays
from discreet.testing import unsafe_seeded

# Other arrays ----------------------------------------


class Elsewhere:
    """A numpy array behind a wall: it mixes with its own kind and plain numbers only, as on a device."""

    def __init__(self, held):
        self.held = np.asarray(held)

    def __array__(self, *_, **__):
        raise TypeError("fetch it first")

    def __iter__(self):
        return (Elsewhere(part) for part in self.held)

    def __getitem__(self, key):
        return Elsewhere(self.held[inner(key)])

    def __setitem__(self, key, value):
        self.held[inner(key)] = inner(value)

    def __len__(self):
        return len(self.held)

    def __float__(self):
        return float(self.held)

    def __int__(self):
        return int(self.held)


def inner(value):
    """Look behind the wall; an array of the host's has no business there."""
    if isinstance(value, tuple):
        return tuple(inner(part) for part in value)
    if isinstance(value, np.ndarray):
        raise TypeError("put it first")
    return value.held if isinstance(value, Elsewhere) else value


def behind_the_wall(name):
    return lambda self, *other: Elsewhere(getattr(self.held, name)(*map(inner, other)))


for method in "reshape sum max min".split():
    setattr(Elsewhere, method, behind_the_wall(method))
for operator in "add radd iadd sub rsub mul rshift and invert neg abs lt".split():
    setattr(Elsewhere, f"__{operator}__", behind_the_wall(f"__{operator}__"))


def outside(function):
    def call(first, *rest):
        given = [inner(part) for part in first] if isinstance(first, list) else inner(first)
        return Elsewhere(function(given, *map(inner, rest)))

    return call


NAMES = ("exp", "log", "clip", "where", "concatenate", "count_nonzero", "cumsum", "amax", "empty_like")
WALLED = Arrays(
    module=types.SimpleNamespace(**{name: outside(getattr(np, name)) for name in NAMES}),
    put=lambda array: Elsewhere(np.array(array)),
    fetch=inner,
    whole=lambda array: Elsewhere(inner(array).astype(np.int64)),
    real=lambda array: Elsewhere(inner(array).astype(np.float64)),
    unpack=lambda row: Elsewhere(np.unpackbits(inner(row))),
    block=1 << 30,
)
SMALL_BLOCKS = replace(NUMPY, block=7)


def other_arrays(name):
    if name == "torch":
        pytest.importorskip("torch")
        return game_arrays.torch_arrays("cpu")
    return {"walled": WALLED, "small blocks": SMALL_BLOCKS}[name]


@pytest.mark.parametrize("name", ["walled", "small blocks", "torch"])
@pytest.mark.parametrize("card", [query_game.CARD, analyst_game.CARD], ids=str)
def test_a_game_is_the_same_on_other_arrays(monkeypatch, card, name):
    game, asked = card.example()
    here = game.release(asked, rng=unsafe_seeded(8)).value
    arrays, used = other_arrays(name), []
    monkeypatch.setattr(game_arrays, "torch_arrays", lambda device: used.append(device) or arrays)
    with game_arrays.on_torch("somewhere", worth=0):
        there = game.release(asked, rng=unsafe_seeded(8)).value
    assert there == here and used == ["somewhere"]
    assert game_arrays.choose_arrays(1 << 40) is NUMPY, "the choice ends with the block"
    assert game.release(asked, rng=unsafe_seeded(9)).value != here


def test_small_arrays_stay_in_memory(monkeypatch):
    monkeypatch.setattr(game_arrays, "torch_arrays", lambda device: WALLED)
    with game_arrays.on_torch():
        assert game_arrays.choose_arrays(1 << 17) is NUMPY and game_arrays.choose_arrays(1 << 18) is WALLED
    with pytest.raises(InvalidParameter, match="worth"), game_arrays.on_torch(worth=-1):
        pass


def test_arrays_of_two_places_do_not_mix():
    with pytest.raises(TypeError):
        _ = WALLED.put(np.arange(3)) + np.arange(3)
    with pytest.raises(TypeError):
        np.asarray(WALLED.put(np.arange(3)))


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    blind = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(importlib, "import_module", lambda name: blind)
    with pytest.raises(Refused, match="no CUDA device"), game_arrays.on_torch():
        pass

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(Refused, match="not installed"), game_arrays.on_torch():
        pass
    with pytest.raises(InvalidParameter, match="device"):
        game_arrays.torch_arrays(3)


# Bits and late sums ----------------------------------------


def bits_of(seed, rows, columns, arrays=NUMPY):
    matrix = np.random.default_rng(seed).integers(0, 2, (rows, columns)).astype(np.uint8)  # noqa: TID251
    return matrix, BitRows(np.packbits(matrix, axis=1), columns, arrays)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (8, 8), (3, 70), (1500, 11), (2048, 40)])
def test_a_packed_matrix_is_turned(rows, columns):
    matrix, _ = bits_of(1, rows, columns)
    found = transpose(np.packbits(matrix, axis=1))
    assert (np.unpackbits(found, axis=1, count=rows)[:columns] == matrix.T).all()
    assert not found[columns:].any()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-7, 1, 2])), max_size=30),
    st.data(),
)
def test_late_scores_are_the_sums(columns, moves, data):
    matrix, bits = bits_of(columns, 5, columns, data.draw(st.sampled_from([NUMPY, WALLED, SMALL_BLOCKS])))
    known, drift = np.arange(columns) ** 2, np.arange(columns) - 3
    scores, expected = LateScores(known, bits=bits, drift=drift), known.copy()
    for row, weight in moves:
        scores = scores.after(row, weight)
        expected = expected + drift + weight * matrix[row].astype(np.int64)
        if data.draw(st.booleans()):
            places = np.array(data.draw(st.lists(st.integers(0, columns - 1), min_size=1, max_size=3)))
            assert scores.at(places).tolist() == expected[places].tolist()
    assert bits.arrays.fetch(scores.whole()).tolist() == expected.tolist()


def test_more_moves_than_a_byte_counts_are_added_up_in_time():
    _, bits = bits_of(2, 1, 9)
    scores = LateScores(np.zeros(9, dtype=np.int64), bits=bits)
    for _ in range(700):
        scores = scores.after(0, 3)
    assert (scores.whole() == 2100 * bits.row(0).astype(np.int64)).all()


def test_a_move_leaves_the_scores_before_it_alone():
    _, bits = bits_of(3, 2, 5)
    before = LateScores(np.zeros(5, dtype=np.int64), bits=bits, drift=np.ones(5, dtype=np.int64))
    after = before.after(0, 4)
    after.whole()
    assert before.at(np.arange(5)).tolist() == [0] * 5
    assert before.after(1, 1).whole().tolist() == (1 + bits.row(1).astype(int)).tolist()


# The board of cells ----------------------------------------


def walk(hits, rounds, seed):
    generator = np.random.default_rng(seed)  # noqa: TID251
    for _ in range(rounds):
        hits = hits.after(int(generator.integers(20)), int(generator.choice([-1, 1])))
    return hits


@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(1, 3), Fraction(0)])
def test_every_bar_is_wide_enough_as_long_as_the_board_lasts(rate):
    _, bits = bits_of(4, 20, 30)
    choice, rng = CellChoice(rate, Fraction(0)), unsafe_seeded(1)
    hits = walk(Hits(bits), 40, 1)
    choice.sample(hits, rng)
    board = hits.board
    assert board.lasts == (12 if rate == Fraction(1, 50) else 0)
    bars = np.diff(board.ends, prepend=0)
    for rounds in range(board.lasts + 1):
        for seed in range(5):
            now = walk(hits, rounds, seed)
            widths = np.exp(float(rate) * (now.scores - board.top)) * 2.0**board.bits
            assert (widths <= bars).all()
            choice.sample(now, rng)
            assert now.board is board, "no new one was needed"
    late = walk(hits, board.lasts + 1, 0)
    choice.sample(late, rng)
    assert late.board is not board and late.moved == 0


def chi_square(counts, law):
    expected = counts.sum() * law
    return float(((counts - expected) ** 2 / expected).sum())


def test_cells_drawn_from_an_old_board_follow_today_s_law():
    # Chi-square with 11 degrees of freedom beyond 55 has probability 1e-7; 0.9 and 1.1 times the rate show.
    _, bits = bits_of(5, 20, 12)
    choice, rng = CellChoice(Fraction(1, 40), Fraction(0)), unsafe_seeded(2)
    old = walk(Hits(bits), 4000, 3)
    choice.sample(old, rng)
    for _ in range(10):  # all moves favour the same cells
        old = old.after(7, 1)
    scores, counts = old.scores, np.zeros(12)
    for _ in range(20_000):
        counts[choice.sample(old, rng)] += 1
    law = dict(choice.law(old))
    assert old.moved == 10, "the board was never made anew"
    assert chi_square(counts, np.array([float(law[cell]) for cell in range(12)])) < 55
    for wrong in (0.9 / 40, 1.1 / 40):
        off = np.exp(wrong * scores)
        assert chi_square(counts, off / off.sum()) > 55
    stale = np.exp((scores - 10.0 * bits.row(7)) / 40)
    assert chi_square(counts, stale / stale.sum()) > 55, "the law of ten rounds ago is told apart"


def test_a_dart_that_floats_cannot_place_is_placed_exactly():
    choice, rng = CellChoice(Fraction(1, 7), Fraction(0)), unsafe_seeded(3)
    edge = int(math.exp(-Fraction(3, 7)) * 2**40)
    assert choice._inside(edge - 10, 40, 3, rng) and not choice._inside(edge + 10, 40, 3, rng)
    assert not choice._inside(1 << 40, 40, 0, rng), "beyond the widest weight there is"


def test_hits_are_values():
    _, bits = bits_of(6, 2, 9)
    one, same = Hits(bits).after(0, 1).after(1, -1), Hits(bits).after(1, -1).after(0, 1)
    assert one == same and hash(one) == hash(same) and one != Hits(bits) and one != "something else"
    assert repr(one) == "<Hits: 9 cells>"
    choice = CellChoice(Fraction(1), Fraction(0))
    assert choice.distance(one, one.after(0, 1)) == 1


# A whole game ----------------------------------------


class Checked(type(unsafe_seeded(1))):
    """Adds all scores up in every round, and compares."""

    def __init__(self, rows, table, answers):
        super().__init__(11)
        self.rows, self.table, self.rounds = rows, table, 0
        self.answers, self.scores = answers, np.zeros(len(table), dtype=np.int64)
        self.hits = np.zeros(table.shape[1], dtype=np.int64)

    def perform(self, primitive, value):
        if isinstance(primitive, CappedChoice):
            assert value == Sides(self.scores)
            action = super().perform(primitive, value)
            complement, place = divmod(action, len(self.table))
            self.hits += (1 - 2 * complement) * self.table[place]
            return action
        assert value.scores.tolist() == self.hits.tolist()
        cell = super().perform(primitive, value)
        self.scores += self.answers - self.rows * self.table[:, cell]
        self.rounds += 1
        return cell


def test_every_round_meets_the_scores_of_all_rounds_before():
    game, asked = query_game.CARD.example()
    table = np.zeros((asked.book.caps.places, asked.book.universe.size), dtype=np.int64)
    for place, query in asked.book.items():
        table[place] = query.vector().reshape(-1)
    checked = Checked(game.rows, table, table @ asked.histogram.counts().reshape(-1))
    game.release(asked, rng=checked)
    assert checked.rounds == game.rounds
