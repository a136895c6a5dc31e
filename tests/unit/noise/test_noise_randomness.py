"""The noise's randomness: fresh in every fork and thread, never made up when the system fails (N6)."""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import discreet.noise
from discreet.core.rng import SYSTEM, Rng
from discreet.noise import AddNoise, DiscreteGaussian, DiscreteLaplace, Noise, OneSidedGeometric, coins
from discreet.noise.inversion import Guide, thresholds
from discreet.noise.ladders import TwoSided
from discreet.testing import unsafe_seeded

F = Fraction
WIDE = [DiscreteLaplace(F(2**45)), OneSidedGeometric(F(2**45)), DiscreteGaussian(F(2**90))]

FORKS = """
import os
from fractions import Fraction
from discreet.core.rng import SYSTEM
from discreet.noise import DiscreteLaplace
noise = DiscreteLaplace(Fraction(2**45))
seen = []
for early in (True, False):
    for _ in range(25):
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, f"{noise.draw(SYSTEM)} {noise.sample(30, SYSTEM).tolist()}".encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            seen.append(pipe.read())
        os.wait()
    noise.draw(SYSTEM), noise.sample(100, SYSTEM)   # the second 25 children inherit filled tables
assert all(seen) and len(set(seen)) == 50, seen
assert len({line.split()[0] for line in seen}) == 50
print("distinct")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fifty_forked_children_draw_different_noise() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "distinct", done.stderr


@pytest.mark.parametrize("noise", WIDE, ids=str)
def test_threads_share_tables_and_never_bits(noise: Noise) -> None:
    found: list[list[int]] = []

    def work() -> None:
        found.append([noise.draw(SYSTEM) for _ in range(50)] + noise.sample(200, SYSTEM).tolist())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = [value for row in found for value in row]
    assert len(values) == 8 * 250
    assert len(set(values)) == len(values)  # a collision of 45-bit noise has probability below 1e-6


DRAWS: list[Callable[[], object]] = [
    lambda: DiscreteLaplace(F(10)).draw(SYSTEM),
    lambda: DiscreteLaplace(F(10**6)).sample(1000, SYSTEM),
    lambda: OneSidedGeometric(F(10)).sample(10, SYSTEM),
    lambda: DiscreteGaussian(F(10**6)).sample(1000, SYSTEM),
    lambda: DiscreteGaussian(F(10**40)).draw(SYSTEM),
    lambda: AddNoise(DiscreteLaplace(F(10)), F(1)).sample(np.arange(100), SYSTEM),
    lambda: coins.bernoulli(F(1, 3), 10, SYSTEM),
    lambda: coins.bernoulli_exp(F(1, 3), 10, SYSTEM),
    lambda: coins.uniform_below(10, 10, SYSTEM),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_failing_system_generator_stops_every_draw(
    draw: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw()  # warm tables must not matter

    def broken(_: int) -> bytes:
        raise OSError("no entropy")

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(OSError, match="no entropy"):
        draw()


class FailsLater(Rng):
    """Gives bits a few times, then fails."""

    def __init__(self, times: int) -> None:
        self.left = times

    def random_bytes(self, count: int) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise OSError("no entropy")
        return os.urandom(count)


def test_a_failure_half_way_returns_nothing() -> None:
    for times in range(5):
        with pytest.raises(OSError, match="no entropy"):
            DiscreteLaplace(F(10**9)).sample(200_000, FailsLater(times))


def test_equal_seeds_give_equal_noise_and_others_do_not() -> None:
    for noise in WIDE:
        first, again, other = (noise.sample(500, unsafe_seeded(seed)) for seed in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def test_tables_cannot_be_written_to() -> None:
    ladder = TwoSided(F(10), 0)
    assert isinstance(thresholds(ladder), tuple)
    guide = Guide(ladder)
    for array in (guide._guide, guide._thresholds, guide._outcomes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_no_float_is_on_the_path_of_a_draw() -> None:
    """Only tails.py, which states errors, may touch floats: the samplers hold none and call none."""
    folder = pathlib.Path(discreet.noise.__file__).parent
    for name in ("ladders", "inversion", "samplers", "coins", "oracle", "primitives"):
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), name
            assert not (isinstance(node, ast.Name) and node.id == "float"), name
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in ("math", "np")
            ):
                assert node.attr not in {
                    "exp",
                    "log",
                    "sqrt",
                    "expm1",
                    "log1p",
                    "float64",
                    "float32",
                    "random",
                }, name


def test_coins_refuse_what_is_no_probability() -> None:
    for bad in (0, 1, -1, 1.5, float("nan"), "half"):
        with pytest.raises(ValueError, match="p must be"):
            coins.bernoulli(bad, 10, SYSTEM)
    with pytest.raises(ValueError, match="x must be"):
        coins.bernoulli_exp(-1, 10, SYSTEM)
    with pytest.raises(ValueError, match="denominator must be"):
        coins.bernoulli_exp_each(np.arange(3), 0, SYSTEM)
    with pytest.raises(ValueError, match="bound must be"):
        coins.uniform_below(0, 10, SYSTEM)


def test_large_bounds_and_denominators_fall_back_to_python_integers() -> None:
    drawn = coins.uniform_below(2**100, 50, unsafe_seeded(3))
    assert drawn.dtype == object
    assert 2**90 < max(drawn) < 2**100
    flags = coins.bernoulli_exp_each(np.array([0] * 30 + [2**62] * 30), 2**52, unsafe_seeded(3))
    assert flags.tolist() == [True] * 30 + [False] * 30
    assert flags.dtype == np.bool_


class Words(Rng):
    """Answers with the given byte blocks in turn."""

    def __init__(self, *blocks: bytes) -> None:
        self.blocks = list(blocks)

    def random_bytes(self, count: int) -> bytes:
        block = self.blocks.pop(0)
        assert len(block) == count
        return block


def test_a_tied_coin_takes_the_next_word() -> None:
    """1/3 is 0.5555... in base 65536: a tie goes on, and the word after it decides."""
    tie, below, above = (int(w).to_bytes(2, "little") for w in (0x5555, 0x5554, 0x5556))
    assert coins.bernoulli(F(1, 3), 1, Words(below)).tolist() == [True]
    assert coins.bernoulli(F(1, 3), 1, Words(above)).tolist() == [False]
    assert coins.bernoulli(F(1, 3), 1, Words(tie, tie, below)).tolist() == [True]
    assert coins.bernoulli(F(1, 3), 1, Words(tie, tie, above)).tolist() == [False]
    assert coins.bernoulli(F(1, 2), 1, Words(b"\x00\x80")).tolist() == [False]  # U >= 1/2 for certain


def test_all_sixteen_bit_words_give_the_exact_count_of_heads() -> None:
    words = np.arange(1 << 16, dtype=np.uint16).tobytes()
    assert coins.bernoulli(F(1, 4), 1 << 16, Words(words)).sum() == 1 << 14
    assert coins.bernoulli(F(1, 3), 1 << 16, Words(words, b"\x00\x00")).sum() == 21846
    assert coins.bernoulli(F(1, 3), 1 << 16, Words(words, b"\xff\xff")).sum() == 21845
    # exp(-1) * 65536 = 24109.35...: the word 24109 asks on.
    assert coins.bernoulli_exp(1, 1 << 16, Words(words, b"\x00" * 8)).sum() == 24110
    assert coins.bernoulli_exp(1, 1 << 16, Words(words, b"\xff" * 8)).sum() == 24109
