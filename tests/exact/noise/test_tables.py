"""The samplers' tables against an independent calculation in high precision, and the lazy branches."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt

import mpmath
import numpy as np
import pytest

from discreet.core.rng import Rng
from discreet.core.rounding import exp_bounds
from discreet.noise import DiscreteGaussian, DiscreteLaplace, OneSidedGeometric
from discreet.noise.inversion import GUIDE, WORD, Guide, Inversion, resolve, thresholds
from discreet.noise.ladders import Bell, Digits, FoldedBell, Ladder, OneSided, TwoSided
from discreet.noise.samplers import RejectionStep, below_exp, split

F = Fraction
PRECISION = 400


class Script(Rng):
    """Hands out the given words in turn, whatever width is asked for, and complains when they run out."""

    def __init__(self, *blocks: bytes) -> None:
        self.blocks = list(blocks)

    def random_bytes(self, count: int) -> bytes:
        block = self.blocks.pop(0)
        assert len(block) == count
        return block


def word(value: int, bits: int = WORD) -> bytes:
    return value.to_bytes(bits // 8, "little")


def mp(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def weight(ladder: Ladder, z: int) -> mpmath.mpf:
    """The unnormalised probability of an outcome, straight from the definition of the law."""
    if isinstance(ladder, Bell):
        return mpmath.exp(-mp(F(z * z) / (2 * ladder.variance)))
    if isinstance(ladder, FoldedBell):
        j = z if z >= 0 else -1 - z
        return mpmath.exp(-mp(F(j * j) / (2 * ladder.variance)))
    if isinstance(ladder, TwoSided):
        # P[floor(X / 2**k) = z]: the sum over the 2**k integers of the discrete Laplace weights.
        return mpmath.fsum(
            mpmath.exp(-mp(F(abs(x)) / ladder.scale))
            for x in range(z << ladder.shift, (z + 1) << ladder.shift)
        )
    return mpmath.exp(-mp(F(z << ladder.shift) / ladder.scale))


@lru_cache
def cumulative(ladder: Ladder) -> list[mpmath.mpf]:
    """All cumulative probabilities that differ from one by more than the working precision."""
    with mpmath.workprec(PRECISION):
        if isinstance(ladder, Digits):
            listed = 1 << ladder.width
        elif isinstance(ladder, OneSided | TwoSided):
            listed = 2 * int(ladder.scale / (1 << ladder.shift) * 290) + 20  # exp(-290) < 2**-400
        else:
            listed = 2 * int(float(ladder.variance) ** 0.5 * 24) + 20  # exp(-24^2 / 2) < 2**-400
        weights = [weight(ladder, ladder.outcome(i)) for i in range(listed)]
        total = mpmath.fsum(weights)
        return [running / total for running in accumulate(weights)]


LADDERS = [
    OneSided(F(1), 0),
    OneSided(F(7, 3), 0),
    OneSided(F(100), 5),
    OneSided(F(1, 50), 0),
    TwoSided(F(1), 0),
    TwoSided(F(1, 4), 0),
    TwoSided(F(10), 0),
    TwoSided(F(41, 7), 0),
    TwoSided(F(20), 3),
    Digits(F(10), 0, 3),
    Digits(F(1000), 3, 5),
    Digits(F(10**15), 2, 6),
    Digits(F(1), 0, 8),
    Bell(F(1)),
    Bell(F(1, 20)),
    Bell(F(100)),
    Bell(F(22, 7)),
    FoldedBell(F(9)),
    FoldedBell(F(500, 11)),
]


@pytest.mark.parametrize("ladder", LADDERS, ids=str)
def test_thresholds_are_the_floors_of_the_true_cumulative_probabilities(ladder: Ladder) -> None:
    table = thresholds(ladder)
    truth = cumulative(ladder)
    with mpmath.workprec(PRECISION):
        assert list(table) == [min(int(mpmath.floor(c * 2**WORD)), 2**WORD - 1) for c in truth[: len(table)]]
        assert truth[len(table) - 1] >= 1 - mpmath.mpf(2) ** -40


@pytest.mark.parametrize("ladder", LADDERS, ids=str)
@pytest.mark.parametrize("bits", [64, 200])
def test_rungs_bracket_the_truth_at_every_precision(ladder: Ladder, bits: int) -> None:
    rungs = list(zip(range(60), ladder.rungs(bits), strict=False))
    truth = cumulative(ladder)
    with mpmath.workprec(PRECISION):
        for (_, (low, high)), c in zip(rungs, truth, strict=False):
            # The reference itself is only good to 2**-390.
            assert low <= c * 2**bits * (1 + mpmath.mpf(2) ** -380)
            assert c * 2**bits <= high * (1 + mpmath.mpf(2) ** -380)


@pytest.mark.parametrize(
    ("ladder", "wrong"),
    [
        (OneSided(F(7, 3), 0), OneSided(F(7, 3) * (1 + F(1, 10**18)), 0)),
        (TwoSided(F(10), 0), TwoSided(F(10) * (1 + F(1, 10**18)), 0)),
        (Digits(F(10), 0, 3), Digits(F(10) * (1 + F(1, 10**16)), 0, 3)),
        (Bell(F(100)), Bell(F(100) * (1 + F(1, 10**18)))),
    ],
    ids=str,
)
def test_the_check_would_see_a_relative_error_of_1e_16(ladder: Ladder, wrong: Ladder) -> None:
    assert thresholds(ladder) != thresholds(wrong)


@pytest.mark.parametrize("ladder", LADDERS, ids=str)
def test_all_sixteen_bit_words_give_the_exact_counts(ladder: Ladder) -> None:
    """Feed every 16-bit word once; the decided ones are just those that lie inside one outcome."""
    table = thresholds(ladder)
    asked = np.ones(1 << GUIDE, dtype=bool)
    expected = {}
    truth = cumulative(ladder)
    with mpmath.workprec(PRECISION):
        start = mpmath.mpf(0)
        for i, end in enumerate(truth[: len(table)]):
            first, last = int(mpmath.ceil(start * 2**GUIDE)), int(mpmath.floor(end * 2**GUIDE))
            last = min(
                last, 2**GUIDE - 1
            )  # the last word always asks: nothing in it is below the capped threshold
            start = end
            if last > first:
                asked[first:last] = False
                expected[ladder.outcome(i)] = last - first
    words = np.arange(1 << GUIDE, dtype=np.uint16)
    rest = np.full(int(asked.sum()), (1 << 63) | 12345, dtype=np.uint64)
    picked = Guide(ladder).picks(1 << GUIDE, Script(words.tobytes(), rest.tobytes()))
    values, counts = np.unique(picked[~asked], return_counts=True)
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == expected
    # The others were finished from the same 64-bit words that the scalar sampler reads.
    scalar = Inversion(ladder)
    finished = (words[asked].astype(np.uint64) << np.uint64(48)) | (rest >> np.uint64(16))
    assert picked[asked].tolist() == [scalar.at(int(v), Script()) for v in finished]


@pytest.mark.parametrize("ladder", LADDERS, ids=str)
def test_a_tie_with_a_threshold_is_decided_by_further_bits(ladder: Ladder) -> None:
    table = thresholds(ladder)
    truth = cumulative(ladder)
    scalar, guide = Inversion(ladder), Guide(ladder)
    with mpmath.workprec(PRECISION):
        for place in {0, len(table) // 3, len(table) // 2}:
            if table[place] == 2**WORD - 1 or table.count(table[place]) > 1:
                continue
            next_bits = int(mpmath.floor(truth[place] * 2**128)) & (2**64 - 1)
            for change, after in ((-1, 0), (1, 1)):
                more = word(next_bits + change)
                outcome = ladder.outcome(place + after)
                assert scalar.at(table[place], Script(more)) == outcome
                first, second = word(table[place] >> 48, 16), word((table[place] << 16) % 2**64)
                assert guide.picks(1, Script(first, second, more)).tolist() == [outcome]
            # A tie of 128 bits needs another 128.
            third = int(mpmath.floor(truth[place] * 2**256)) & (2**128 - 1)
            assert resolve(
                ladder, table[place], Script(word(next_bits), word(third - 1, 128))
            ) == ladder.outcome(place)
            assert resolve(
                ladder, table[place], Script(word(next_bits), word(third + 1, 128))
            ) == ladder.outcome(place + 1)


@pytest.mark.parametrize("ladder", [TwoSided(F(10), 0), OneSided(F(7, 3), 0), Bell(F(100))], ids=str)
def test_the_tail_beyond_the_table_is_exact(ladder: Ladder) -> None:
    """U = 1 - 2**-64 + something: far past the table's end, found by walking on with more bits."""
    more = 0x0123456789ABCDEF
    with mpmath.workprec(PRECISION):
        u = mpmath.mpf(((2**64 - 1) << 64) + more) / 2**128
        truth = cumulative(ladder)
        place = next(i for i, c in enumerate(truth) if u < c)
    assert place > len(thresholds(ladder))
    assert Inversion(ladder).at(2**64 - 1, Script(word(more))) == ladder.outcome(place)
    ones = word(2**16 - 1, 16)
    assert Guide(ladder).picks(1, Script(ones, word(2**64 - 1), word(more))).tolist() == [
        ladder.outcome(place)
    ]


def masses(ladder: Ladder, count: int) -> dict[int, Fraction]:
    found, before = {}, F(0)
    for index, (low, high) in zip(range(count), ladder.rungs(256), strict=False):
        here = F(low + high, 1 << 257)
        found[ladder.outcome(index)] = here - before
        before = here
    return found


@pytest.mark.parametrize(("scale", "head"), [(F(10), 4), (F(100), 4), (F(3001, 10), 64), (F(3001, 10), 2)])
def test_leading_part_and_digits_multiply_to_the_law(scale: Fraction, head: int) -> None:
    shift, groups = split(scale, head)
    assert shift
    assert sum(g.width for g in groups) == shift
    digits = [masses(g, 1 << g.width) for g in groups]
    one, two = masses(OneSided(scale, shift), 40), masses(TwoSided(scale, shift), 80)
    for g in range(0, 10 << shift, 7):
        low = F(1)
        for group, mass in zip(groups, digits, strict=True):
            low *= mass[(g >> group.shift) & ((1 << group.width) - 1)]
        assert abs(one[g >> shift] * low - OneSidedGeometric(scale).pmf(g)) < F(1, 2**100)
        assert abs(two[g >> shift] * low - DiscreteLaplace(scale).pmf(g)) < F(1, 2**100)
        assert abs(two[-1 - (g >> shift)] * low - DiscreteLaplace(scale).pmf(-1 - g)) < F(1, 2**100)


@pytest.mark.parametrize("variance", [F(100), F(777, 2), F(10**6)])
def test_wide_gaussian_proposal_times_acceptance_is_the_law(variance: Fraction) -> None:
    law, shift = DiscreteGaussian(variance), 3
    step = RejectionStep(variance, shift)
    proposal = masses(step.head, 1100)
    with mpmath.workprec(300):
        ratios = []
        for z in range(-4 * isqrt(int(variance)), 4 * isqrt(int(variance)), 1 + isqrt(int(variance)) // 9):
            head, inner = z >> shift, ((z >> shift) if z >= 0 else -1 - (z >> shift)) << shift
            accepted = mpmath.exp(-mp(F(z * z - inner * inner) / (2 * variance)))
            ratios.append(mp(proposal[head]) * accepted / mp(law.pmf(z)))
        assert max(abs(r / ratios[0] - 1) for r in ratios) < mpmath.mpf(2) ** -80


@pytest.mark.parametrize(
    ("variance", "shift"), [(F(128**2), 1), (F(10**6), 3), (F(10**12 + 1, 3), 13), (F(10**20), 27)]
)
def test_array_acceptance_is_never_too_early_and_seldom_too_late(variance: Fraction, shift: int) -> None:
    step = RejectionStep(variance, shift)
    heads = np.repeat(np.array([0, -1, 1, -2, 5, 63, 128, -129, 400, -401, 900]), 40)
    lows = np.tile(np.linspace(0, (1 << shift) - 1, 40).astype(np.int64), 11)
    with mpmath.workprec(200):
        edges = []
        for head, low in zip(heads.tolist(), lows.tolist(), strict=True):
            j = head if head >= 0 else -1 - head
            size = (j << shift) + low + (head < 0)
            edges.append(int(2**16 * mpmath.exp(-mp(F(size**2 - (j << shift) ** 2) / (2 * variance)))))
    # The coin `edge` straddles exp(-y) and those above it lose: none of them may be accepted unseen.
    for above in (0, 1, 50):
        coins = np.minimum(np.array(edges) + above, 65535).astype(np.uint16)
        assert not step.surely(heads, lows, coins)[np.array(edges) < 65536].any()
    # Well below the edge they are: the bound 1 - y costs y^2 / 2, the rounding of l and of 2 v a little more.
    y = 1 - np.array(edges) / 65536
    wide = (2 * np.abs(heads) + 1) / float(2 * variance / 4**shift)
    late = 3 + np.ceil(65536 * (y * y + 0.002 * y)).astype(int) + np.ceil(65536 * wide * 2.0**-16).astype(int)
    late += np.ceil(65536 / float(2 * variance / 4**shift)).astype(int)  # l (2 j + 1) for l (2 j + l)
    coins = np.maximum(np.array(edges) - late, 0).astype(np.uint16)
    assert step.surely(heads, lows, coins)[np.array(edges) > late].all()


@pytest.mark.parametrize("x", [F(0), F(1, 1000), F(1, 7), F(1), F(5, 2), F(40)])
@pytest.mark.parametrize("bits", [16, 64])
def test_exponential_coin_turns_at_the_exact_bit(x: Fraction, bits: int) -> None:
    """The largest 80- or 64-bit prefix below exp(-x) is True whatever follows; the one above it False."""
    width = bits if bits >= WORD else bits + WORD
    with mpmath.workprec(300):
        edge = int(mpmath.floor(mpmath.exp(-mp(x)) * 2**width))
        deep = int(mpmath.floor(mpmath.exp(-mp(x)) * 2 ** (width + WORD))) & (2**64 - 1)

    def decide(prefix: int, *more: int) -> bool:
        script = [word(m) for m in more]
        if bits < WORD:
            script.insert(0, word(prefix % 2**WORD))
            prefix >>= WORD
        return below_exp(x.numerator, x.denominator, (prefix, bits), Script(*script))

    if x == 0:
        assert decide(2**width - 5)
        return
    far = 2**8
    assert decide(edge - far) is True if edge > far else True
    assert decide(edge + far) is False
    assert decide(edge, deep - far if deep > far else 0) is True
    assert decide(edge, min(deep + far, 2**64 - 1)) is False


class Blurred(Ladder):
    """A ladder whose bounds are useless below 300 bits, and which ends early at 320 and 384."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def rungs(self, bits: int) -> Iterator[tuple[int, int]]:
        self.asked.append(bits)
        for low, high in TwoSided(F(3), 0).rungs(bits):
            yield (0, 1 << bits) if bits < 300 else (low, high)
            if bits in (320, 384):
                return

    def outcome(self, index: int) -> int:
        return TwoSided(F(3), 0).outcome(index)


def test_a_floor_in_doubt_costs_precision_and_never_truth() -> None:
    ladder = Blurred()
    assert thresholds(ladder) == thresholds(TwoSided(F(3), 0))
    assert ladder.asked == [192, 384, 768]


def test_a_ladder_that_ends_early_is_asked_again_with_more_bits() -> None:
    ladder = Blurred()
    half = word(2**63), word(2**127, 128), word(2**255, 256)
    plain = Inversion(TwoSided(F(3), 0)).at(2**63, Script())
    assert resolve(ladder, 2**63, Script(*half)) == plain != 0
    assert ladder.asked == [192, 320, 576]


@pytest.mark.parametrize("t", [0, 5, 100])
def test_reach_tells_a_beta_just_above_a_tail_from_one_just_below(t: int) -> None:
    """The two betas differ by 2**-396: the first precision cannot tell, a later one must."""
    lower, upper = exp_bounds(F(t + 1, 10), 400)
    assert OneSidedGeometric(F(10)).reach(F(upper + 1, 2**400)) == t
    assert OneSidedGeometric(F(10)).reach(F(lower - 1, 2**400)) == t + 1
