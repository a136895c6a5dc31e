import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.exact_report import exact
from discreet.catalogue import find
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove, Edge, Event, LocalReport, Replace, UserStream
from discreet.mechanisms.count import Count
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.noisy_histogram import NoisyHistogram, theorem_3_8
from discreet.testing import unsafe_seeded

BAD = [0, -1, float("nan"), float("inf"), True, "1", None]
PEOPLE = AddRemove("person")


@pytest.mark.parametrize("bad", BAD)
def test_bad_epsilons_are_refused(bad):
    for make in (
        lambda: Count(epsilon=bad, neighbours=PEOPLE),
        lambda: NoisyHistogram(epsilon=bad, size=2, neighbours=PEOPLE),
    ):
        with pytest.raises(InvalidParameter, match=r"epsilon must be (a number, )?finite and > 0"):
            make()


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2", None])
def test_bad_sizes_are_refused(bad):
    with pytest.raises(InvalidParameter, match="size must be an integer >= 1"):
        NoisyHistogram(epsilon=1, size=bad, neighbours=PEOPLE)


@pytest.mark.parametrize("wrong", [Event(), UserStream(), Edge(), LocalReport()])
def test_relations_that_are_not_about_rows_are_refused(wrong):
    for make in (
        lambda: Count(epsilon=1, neighbours=wrong),
        lambda: NoisyHistogram(epsilon=1, size=2, neighbours=wrong),
    ):
        with pytest.raises(NeighboursMismatch, match="AddRemove or Replace"):
            make()


def test_neighbours_are_required_and_checked():
    with pytest.raises(TypeError):
        Count(epsilon=1)
    with pytest.raises(TypeError):
        NoisyHistogram(epsilon=1, size=2)
    with pytest.raises(InvalidParameter, match="neighbours must be an instance of Neighbours"):
        Count(epsilon=1, neighbours="row")


@pytest.mark.parametrize(("neighbours", "moved"), [(PEOPLE, 1), (Replace("person"), 2)])
def test_the_sensitivity_follows_from_the_neighbours(neighbours, moved):
    """Checked against the relation itself: every pair over three values and up to three rows."""
    histogram, count = (
        NoisyHistogram(epsilon=1, size=3, neighbours=neighbours),
        Count(epsilon=1, neighbours=neighbours),
    )
    assert histogram.sensitivity == moved
    assert count.sensitivity == 1
    worst = worst_count = 0
    for left, right in neighbours.pairs((0, 1, 2), 3):
        cells = [abs(left.count(v) - right.count(v)) for v in (0, 1, 2)]
        worst, worst_count = max(worst, sum(cells)), max(worst_count, *cells)
    assert (worst, worst_count) == (moved, 1)


def test_example_3_3_ten_thousand_names():
    """[DR14] Example 3.3: 10,000 names, epsilon 1: all within 12.2 with probability 95 %."""
    bound = theorem_3_8(size=10_000, beta=0.05, sensitivity=1, epsilon=1)
    assert math.isclose(bound, math.log(10_000 / 0.05), rel_tol=1e-12)
    assert round(bound, 1) == 12.2
    names = NoisyHistogram(epsilon=1, size=10_000, neighbours=PEOPLE)
    assert names.error(0.05) == 12.0
    assert names.error(0.0488) <= 12.2


def test_example_3_3_on_releases():
    """300 releases of 10,000 counts. The exact chance that one is off by more than 12 is 3.3 %: 10 expected,
    more than 31 has probability 1e-7; noise of scale 1.1 would be expected to miss 74 times, of 0.9 twice."""
    names, counts = NoisyHistogram(epsilon=1, size=10_000, neighbours=PEOPLE), np.arange(10_000)
    rng = unsafe_seeded(8)
    off = [int(np.abs(names.release(counts, rng=rng).value - counts).max()) for _ in range(300)]
    assert 2 < sum(worst > 12.2 for worst in off) <= 31


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 5])
@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-9])
def test_whole_number_noise_keeps_theorem_3_8_rounded_up(epsilon, size, beta):
    bound = theorem_3_8(size=size, beta=beta, sensitivity=1, epsilon=epsilon)
    assert NoisyHistogram(epsilon=epsilon, size=size, neighbours=PEOPLE).error(beta) <= math.ceil(bound)


def test_theorem_3_8_itself_is_for_continuous_noise_only():
    """On the integers the printed bound, not rounded up, can be exceeded more often than beta."""
    epsilon, beta = 1, 0.39
    bound = theorem_3_8(size=1, beta=beta, sensitivity=1, epsilon=epsilon)
    noise = Geometric(sensitivity=1, epsilon=epsilon)
    exceeded = 1 - sum(noise.pmf(z) for z in range(-math.floor(bound), math.floor(bound) + 1))
    assert bound < 1
    assert exceeded > 1.3 * beta


@pytest.mark.parametrize("bad", BAD)
def test_the_theorem_checks_its_parameters(bad):
    good = {"size": 2, "beta": 0.05, "sensitivity": 1, "epsilon": 1}
    for name in good:
        with pytest.raises(InvalidParameter, match=name):
            theorem_3_8(**(good | {name: bad}))


@pytest.mark.parametrize("card", [find("count"), find("noisy-histogram")], ids=str)
def test_exact_loss_is_the_claim(card):
    for tiny in card.tiny():
        report = exact(tiny.mechanism, tiny.pairs)
        assert report.holds, report
        assert report.ratio > 0.999


def test_replacing_with_the_noise_for_adding_is_caught():
    """Negative control: sensitivity 1 under Replace costs twice the claim."""
    wrong = Geometric(sensitivity=1, epsilon=3, size=2, neighbours=Replace("row"))
    report = exact(wrong, [((1, 1), (0, 2))])
    assert not report.holds
    assert math.isclose(report.measured, 6, rel_tol=1e-9)


def test_replacing_is_cheaper_than_the_pure_bound_below_epsilon():
    loss = NoisyHistogram(epsilon=1, size=2, neighbours=Replace("row")).loss
    assert loss.epsilon(0) == 1.0
    assert loss.delta(0.5) < 0.6 * PureLoss(Fraction(1)).delta(0.5)
    assert loss.zcdp() < 0.6 * PureLoss(Fraction(1)).zcdp()


def test_releases_are_integers_of_the_right_shape():
    histogram = NoisyHistogram(epsilon=1, size=3, neighbours=PEOPLE)
    for data in ([5, 0, 2], (5, 0, 2), np.array([5, 0, 2], dtype=np.uint8)):
        value = histogram.release(data, rng=unsafe_seeded(9)).value
        assert value.shape == (3,)
        assert value.dtype == np.int64
    one = NoisyHistogram(epsilon=1, size=1, neighbours=PEOPLE).release([5], rng=unsafe_seeded(9)).value
    assert one.shape == (1,)
    assert isinstance(Count(epsilon=1, neighbours=PEOPLE).release(5).value, int)


@pytest.mark.parametrize(
    "data", [5, "abc", None, [1, 2], [1.5, 2, 3], [[1, 2, 3]], np.zeros((3, 1), dtype=int), {1, 2, 3}]
)
def test_wrong_data_are_refused(data):
    with pytest.raises(InvalidParameter, match="data must be"):
        NoisyHistogram(epsilon=1, size=3, neighbours=PEOPLE).release(data)


def test_both_ways_in():
    count = Count.for_error(alpha=10, beta=0.05, neighbours=PEOPLE)
    assert count == Count(epsilon=count.epsilon, neighbours=PEOPLE)
    assert count.error(0.05) <= 10
    histogram = NoisyHistogram.for_error(alpha=12, beta=0.05, size=10_000, neighbours=PEOPLE)
    assert histogram.error(0.05) <= 12
    assert 0.9 < histogram.epsilon < 1
