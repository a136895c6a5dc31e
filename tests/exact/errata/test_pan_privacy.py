"""What the source says of pan-privacy and does not hold: counterexamples, by enumeration."""

import itertools
import math
from fractions import Fraction

import pytest
from tests.exact.streams.test_pan_private import look, pan_private, shifts

from discreet import audit
from discreet.audit.museum.streams import PrintedDensity, PrintedTree
from discreet.core.neighbours import Event, UserEvents
from discreet.streams import PanPrivateDensity
from discreet.streams.pan_private.looks import list_pairs, look_between

CAME = tuple(list_pairs(((0, 1),), 2))


@pytest.mark.parametrize("bias", [Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)])
def test_the_printed_bias_costs_more_than_epsilon(bias):
    """-ln(1 - 2 epsilon): 0.2231, 0.6931 and 1.609 for 0.1, 0.25 and 0.4; without end at 1/2."""
    report = audit.exact(PrintedDensity(bias), CAME, look_between(2, (2,), ()))
    assert not report.holds
    assert report.measured == pytest.approx(-math.log(1 - 2 * bias), rel=1e-12)
    right = PanPrivateDensity(users=1, epsilon=bias, neighbours=UserEvents())
    assert audit.exact(right, CAME, look_between(2, (2,), ())).holds


def test_the_printed_estimate_is_of_another_number():
    """z = 2 (y - m / 2) / m has the mean 2 epsilon d where a part d came: over all coins of three users."""
    bias, m = Fraction(1, 10), 3
    for came in range(m + 1):
        ones = [Fraction(1, 2) + bias] * came + [Fraction(1, 2)] * (m - came)
        mean = sum(
            math.prod(p if bit else 1 - p for p, bit in zip(ones, bits, strict=True))
            * Fraction(2 * sum(bits) - m, m)
            for bits in itertools.product((0, 1), repeat=m)
        )
        assert mean == 2 * bias * Fraction(came, m)


def test_fair_bits_with_a_bias_that_costs_as_much_deviate_half_as_much_again():
    """At a cost of 1: bias (1 - 1/e) / 2 gives 1.58 / sqrt(m) where nobody came, responses 0.96."""
    fair = 0.5 / ((1 - math.exp(-1)) / 2)
    assert fair == pytest.approx(1.582, abs=1e-3)
    assert 1 / (2 * math.sinh(0.5)) == pytest.approx(0.9595, abs=1e-3)


def test_figure_12_1_is_private_in_its_answers_and_in_its_state_but_not_in_both():
    counter = PrintedTree(horizon=4, epsilon=1, delta=0, neighbours=Event())

    def state_alone(at):
        def script(conversation, stream):
            return look(at)(conversation, stream)[at : at + 1]  # the state stands after `at` answers

        return script

    assert max(shifts(counter, look(), 4)) == counter.total_shift == 2
    assert max(max(shifts(counter, state_alone(at), 4)) for at in range(5)) <= counter.total_shift
    assert any(math.inf in shifts(counter, look(at), 4) for at in range(5))


def list_blocks(t, first):
    """Cover the steps before t as the proof does: of each size from 2**first down, one that is new."""
    chosen = []
    for i in range(first, -1, -1):
        for start in range(0, t, 1 << i):
            block = range(start, start + (1 << i))
            if block.stop <= t and not any(set(block) <= set(other) for other in chosen):
                chosen.append(block)
                break  # "the interval"
    return [step for block in chosen for step in block]


def test_the_cover_of_theorem_12_5_leaves_a_step_out():
    """Begun with floor(log2(t - 1)), the steps 0 and 1 before t = 2 need two blocks of one size."""
    assert list_blocks(2, int(math.log2(2 - 1))) == [0]
    for t in range(1, 33):
        assert sorted(list_blocks(t, t.bit_length() - 1)) == list(range(t))


def test_the_scale_of_figure_12_2_is_needed_for_powers_of_two_alone():
    for horizon in range(2, 9):
        power = horizon & (horizon - 1) == 0
        worst = max(max(shifts(pan_private(horizon), look(at), horizon)) for at in range(horizon + 1))
        assert worst == math.ceil(math.log2(horizon)) + power
