"""The inequalities that proofs of the book lean on, each against an exact law. No module rests on them."""

import math
from fractions import Fraction
from itertools import accumulate

import pytest


def tails(count, chance):
    """Return Pr[X >= k] and Pr[X <= k] of a binomial law, for all k."""
    law = [math.comb(count, k) * chance**k * (1 - chance) ** (count - k) for k in range(count + 1)]
    return [*accumulate(reversed(law))][::-1], [*accumulate(law)]


@pytest.mark.parametrize("count", [1, 7, 40])
@pytest.mark.parametrize("chance", [Fraction(1, 100), Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_theorem_3_1_additive_chernoff(count, chance):
    above, below = tails(count, chance)
    for k in range(count + 1):
        off = float(Fraction(k, count) - chance)
        bound = math.exp(-2 * count * off**2)
        if off > 0:  # strictly beyond it is the same event as k and more for every smaller distance
            assert above[k] <= bound
        if off < 0:
            assert below[k] <= bound


def test_theorem_3_1_is_not_idle():
    """With half of the exponent's denominator it would be false."""
    above, _ = tails(40, Fraction(1, 2))
    assert any(above[k] > math.exp(-4 * 40 * (k / 40 - 0.5) ** 2) for k in range(21, 41))


@pytest.mark.parametrize("steps", [1, 10, 60])
def test_azuma_by_exact_walks(steps):
    """Theorem 3.3 and Lemma 3.19: sums of fair signs, and of signs with a drift that is taken out."""
    above, _ = tails(steps, Fraction(1, 2))
    for k in range(steps // 2 + 1, steps + 1):
        reached = 2 * k - steps  # how far the walk is, in steps of one
        assert above[k] <= math.exp(-(reached**2) / (2 * steps))
    chance = Fraction(3, 4)  # a variable of 0 and 1 moves its sum by one: McDiarmid's form
    above, _ = tails(steps, chance)
    for k in range(math.floor(steps * chance) + 1, steps + 1):
        assert above[k] <= math.exp(-2 * float(k - steps * chance) ** 2 / steps)


def test_theorem_3_4_stirling():
    for n in range(1, 171):
        square = math.log(2 * math.pi * n) / 2 + n * (math.log(n) - 1)
        found = math.log(math.factorial(n))
        assert square + 1 / (12 * n + 1) <= found <= square + 1 / (12 * n) + 1e-12 * found
