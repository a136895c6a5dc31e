import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.audit.exact_report import exact
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.loss import PureLoss
from discreet.core.neighbours import LocalReport
from discreet.core.rng import Rng
from discreet.mechanisms.randomized_response import CARD, RandomizedResponse, Respond, bound_keeping
from discreet.testing import unsafe_seeded

BAD = [0, -1, float("nan"), float("inf"), True, "1", None]


@pytest.mark.parametrize("bad", BAD)
def test_bad_epsilons_are_refused(bad):
    with pytest.raises(InvalidParameter, match=r"epsilon must be (a number, )?finite and > 0"):
        RandomizedResponse(epsilon=bad)


@pytest.mark.parametrize("bad", [0, 1, -1, 2.0, True, "2", None, 1 << 33])
def test_bad_categories_are_refused(bad):
    with pytest.raises(InvalidParameter, match="categories must be"):
        RandomizedResponse(epsilon=1, categories=bad)


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, "2", None])
def test_bad_numbers_of_people_are_refused(bad):
    with pytest.raises(InvalidParameter, match="people must be an integer >= 1"):
        RandomizedResponse(epsilon=1, people=bad)


def test_only_one_relation_is_protected():
    """There is nothing to choose, so there is no parameter."""
    with pytest.raises(TypeError, match="neighbours"):
        RandomizedResponse(epsilon=1, neighbours=LocalReport())
    assert RandomizedResponse(epsilon=1).guarantee.neighbours == LocalReport()


@pytest.mark.parametrize("data", [True, "1", 1.0, None, [0, 1], np.array([[1]]), np.array([1.0])])
def test_wrong_data_are_refused(data):
    with pytest.raises(DiscreetError):
        RandomizedResponse(epsilon=1).release(data)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
@pytest.mark.parametrize("categories", [2, 3, 10])
def test_the_law_keeps_the_truth_with_the_stated_probability(epsilon, categories):
    mechanism = RandomizedResponse(epsilon=epsilon, categories=categories)
    keep = math.exp(epsilon) / (math.exp(epsilon) + categories - 1)
    law = dict(Respond(mechanism.epsilon, categories).law(1))
    assert math.isclose(float(law[1]), keep, rel_tol=1e-14)
    assert math.isclose(mechanism.keep, keep, rel_tol=1e-14)
    assert all(math.isclose(float(p), mechanism.other, rel_tol=1e-14) for c, p in law.items() if c != 1)
    assert abs(sum(law.values()) - 1) < Fraction(1, 1 << 100)


@pytest.mark.parametrize("tiny", list(CARD.tiny()), ids=lambda tiny: repr(tiny.mechanism))
def test_exact_loss_is_the_claim(tiny):
    report = exact(tiny.mechanism, tiny.pairs)
    assert report.holds, report
    assert report.ratio > 0.999


def test_the_coin_flips_of_the_book_cost_log_3():
    mechanism = RandomizedResponse.coin_flips()
    law = dict(Respond(mechanism.epsilon, 2).law(0))
    assert abs(law[0] - Fraction(3, 4)) < Fraction(1, 10**14)
    assert mechanism.epsilon >= Fraction(math.log(3))
    assert math.isclose(mechanism.loss.epsilon(0), math.log(3), rel_tol=1e-13)


def test_a_claim_below_log_3_is_caught():
    class Wrong(RandomizedResponse):
        __slots__ = ()

        @property
        def loss(self):
            return PureLoss(Fraction(109, 100))

    assert not exact(Wrong.coin_flips(), [(0, 1)]).holds


def test_each_of_two_people_has_their_own_guarantee():
    mechanism = RandomizedResponse(epsilon=1, categories=2, people=2)
    pairs = [
        (np.array(a), np.array(b))
        for a, b in itertools.product(itertools.product((0, 1), repeat=2), repeat=2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]
    report = exact(mechanism, pairs)
    assert report.holds
    assert report.ratio > 0.999
    both = exact(mechanism, [(np.array([0, 0]), np.array([1, 1]))])
    assert math.isclose(both.measured, 2, rel_tol=1e-9)


def counts_of(mechanism, value, size, seed):
    reports = mechanism.release_many(np.full(size, value), rng=unsafe_seeded(seed)).value
    return np.bincount(reports, minlength=mechanism.categories)


def p_value(seen, epsilon, value):
    k = len(seen)
    other = 1 / (math.exp(epsilon) + k - 1)
    expected = np.full(k, other * seen.sum())
    expected[value] = math.exp(epsilon) * other * seen.sum()
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), k - 1)


@pytest.mark.parametrize(
    ("epsilon", "categories", "value"), [(1, 2, 1), (0.5, 5, 2), (3, 4, 0), (2, 100, 99)]
)
def test_many_reports_follow_the_law_and_no_other(epsilon, categories, value):
    """Chi-square on 400,000 reports, false alarm 1e-6; the law of 0.9 or 1.1 epsilon is rejected at 1e-6."""
    mechanism = RandomizedResponse(epsilon=epsilon, categories=categories)
    seen = counts_of(mechanism, value, 400_000, seed=11)
    assert p_value(seen, epsilon, value) > 1e-6
    for factor in (0.9, 1.1):
        assert p_value(seen, factor * epsilon, value) < 1e-6


def test_single_reports_follow_the_law_and_no_other():
    """Chi-square on 40,000 single reports, false alarm 1e-6, 0.9 and 1.1 epsilon rejected."""
    mechanism, rng = RandomizedResponse(epsilon=2, categories=3), unsafe_seeded(12)
    seen = np.bincount([mechanism.release(2, rng=rng).value for _ in range(40_000)], minlength=3)
    assert p_value(seen, 2, 2) > 1e-6
    assert max(p_value(seen, 1.8, 2), p_value(seen, 2.2, 2)) < 1e-6


class Scripted(Rng):
    """Gives out prepared bytes."""

    def __init__(self, *words):
        self._bytes = b"".join(word.to_bytes(8, "little") for word in words)

    def random_bytes(self, count):
        given, self._bytes = self._bytes[:count], self._bytes[count:]
        assert len(given) == count
        return given


@pytest.mark.parametrize("many", [False, True])
def test_words_on_the_boundary_are_decided_by_further_bits(many):
    """The 64 bits of the probability itself leave the comparison open; the next 64 decide it, both ways."""
    step = Respond(Fraction(1), 2)
    low, high = bound_keeping(Fraction(1), 2, 64)
    assert high - low == 1
    finer, _ = bound_keeping(Fraction(1), 2, 128)
    assert finer >> 64 == low
    value = np.array([0]) if many else 0
    below, above = (finer - 1) & (2**64 - 1), (finer + 2) & (2**64 - 1)
    assert step.sample(value, Scripted(low, below)) == 0
    assert step.sample(value, Scripted(low, above)) == 1
    last = finer & (2**64 - 1)  # open after 128 bits as well
    assert step.sample(value, Scripted(low, last, 0)) == 0
    assert step.sample(value, Scripted(low, last, 2**64 - 1)) == 1
    assert step.sample(value, Scripted(low - 1)) == 0
    assert step.sample(value, Scripted(high)) == 1


def test_the_step_declares_what_it_hides():
    step = Respond(Fraction(1), 3)
    assert step.sensitivity == 1
    assert step.distance(0, 2) == 1
    assert step.distance(np.array([0, 1, 2]), np.array([0, 2, 1])) == 2


def test_the_estimate_is_unbiased_with_the_standard_error_of_the_theory():
    """epsilon log 3, 10,000 fixed bits with mean 0.3: standard deviation 0.00866.

    1000 repeats: the mean is within four standard errors (6e-5), the deviation within 10 % (1e-5).
    """
    mechanism, rng = RandomizedResponse.coin_flips(people=10_000), unsafe_seeded(13)
    assert math.isclose(mechanism.standard_error, 0.0086602540, rel_tol=1e-8)
    assert math.isclose(mechanism.standard_error, 1 / (2 * 100 * math.sinh(math.log(3) / 2)), rel_tol=1e-12)
    bits = np.repeat([1, 0], [3000, 7000])
    estimates = [mechanism.estimate(mechanism.release(bits, rng=rng).value)[1] for _ in range(1000)]
    assert abs(np.mean(estimates) - 0.3) <= 4 * 0.00866 / math.sqrt(1000)
    assert 0.9 < np.std(estimates) / 0.00866 < 1.1
    reports = mechanism.release(bits, rng=rng).value
    assert abs(reports.mean() - 0.3) > 0.08  # without the correction the answer is off


def test_k_ary_estimates_are_unbiased_exactly():
    """By the law itself: the mean of the estimate over all reports is the truth."""
    mechanism = RandomizedResponse(epsilon=Fraction(7, 10), categories=4)
    for truth in range(4):
        law = dict(Respond(mechanism.epsilon, 4).law(truth))
        mean = sum(float(p) * mechanism.estimate([report]) for report, p in law.items())
        assert np.allclose(mean, np.eye(4)[truth], atol=1e-12)


@pytest.mark.parametrize(("epsilon", "categories"), [(1, 2), (1, 6), (6, 50)])
def test_the_frequency_error_holds_on_releases(epsilon, categories):
    """300 releases at beta 0.1: more than 60 misses has probability below 1e-7 where the bound holds."""
    people = 2000
    mechanism, rng = (
        RandomizedResponse(epsilon=epsilon, categories=categories, people=people),
        unsafe_seeded(14),
    )
    truth = np.minimum(np.arange(people) // 100, categories - 1)
    frequencies = np.bincount(truth, minlength=categories) / people
    bound = mechanism.frequency_error(0.1)
    missed = sum(
        np.abs(mechanism.estimate(mechanism.release(truth, rng=rng).value) - frequencies).max() > bound
        for _ in range(300)
    )
    assert missed <= 60
    assert mechanism.frequency_error(0.1) < 6 * mechanism.standard_error


def test_bernstein_helps_where_reports_are_rarely_wrong():
    mechanism = RandomizedResponse(epsilon=8, categories=3, people=100_000)
    hoeffding = math.sqrt(math.log(6 / 0.05) / 200_000) / (mechanism.keep - mechanism.other)
    assert mechanism.frequency_error(0.05) < 0.2 * hoeffding


@pytest.mark.parametrize(("epsilon", "categories", "people"), [(2, 4, 1), (1, 2, 1), (5, 7, 3), (0.1, 5, 1)])
@pytest.mark.parametrize("beta", [0.01, 0.1, 0.3, 0.7])
def test_the_error_of_a_report_is_the_exact_quantile(epsilon, categories, people, beta):
    mechanism = RandomizedResponse(epsilon=epsilon, categories=categories, people=people)

    def missed(t):
        worst = max(
            sum(mechanism.other for c in range(categories) if abs(c - v) > t) for v in range(categories)
        )
        return 1 - (1 - worst) ** people

    alpha = int(mechanism.error(beta))
    assert missed(alpha) <= beta * (1 + 1e-9)
    assert alpha == 0 or missed(alpha - 1) > beta


def test_many_people_report_at_once_and_the_release_says_so():
    mechanism = RandomizedResponse(epsilon=1, categories=3)
    released = mechanism.release_many([0, 1, 2, 2], rng=unsafe_seeded(15))
    assert released.value.shape == (4,)
    assert released.mechanism.people == 4
    assert released.unsafe_seeded
    assert released.guarantee == mechanism.guarantee
    assert mechanism.release_many([1]).value.shape == (1,)


@pytest.mark.parametrize("bad", [[], 3, np.array([0.5]), np.array(["a"]), np.array([True, False])])
def test_bad_lists_of_answers_are_refused(bad):
    with pytest.raises(InvalidParameter):
        RandomizedResponse(epsilon=1).release_many(bad)


ODD = [-5, -1, 3, 99, 2**80, 0.5, float("nan"), float("inf"), None, "a", [1], object(), np.ma.masked]


def test_answers_that_do_not_exist_count_as_the_first_without_a_word():
    one = RandomizedResponse(epsilon=50, categories=3)
    for odd in (-5, -1, 3, 99, 2**80, np.int64(7)):
        assert one.release(odd).value == 0
    assert one.release_many([2, *ODD, 1.0, True]).value.tolist() == [2, *[0] * len(ODD), 1, 1]
    assert one.release_many(np.array([2, -5, 99])).value.tolist() == [2, 0, 0]
    assert one.release_many(np.ma.array([2, 2, 2], mask=[0, 1, 0])).value.tolist() == [2, 0, 2]
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(InvalidParameter, match=r"one integer from 0 to categories - 1, here 2, got type"):
            one.release(wrong)


@pytest.mark.parametrize("bad", [[], [3], [-1], [0.5], [[0]], ["a"]])
def test_bad_reports_are_refused(bad):
    with pytest.raises(InvalidParameter, match="reports must be"):
        RandomizedResponse(epsilon=1, categories=3).estimate(bad)


def test_both_ways_in():
    mechanism = RandomizedResponse.for_frequency_error(alpha=0.01, beta=0.05, people=10_000, categories=2)
    assert mechanism.frequency_error(0.05) <= 0.01
    assert mechanism == RandomizedResponse(epsilon=mechanism.epsilon, people=10_000, categories=2)
    cheaper = RandomizedResponse(epsilon=mechanism.epsilon * Fraction(99, 100), people=10_000)
    assert cheaper.frequency_error(0.05) > 0.01
    honest = RandomizedResponse.for_error(alpha=Fraction(1, 2), beta=0.05)
    assert honest.error(0.05) == 0
    assert math.isclose(honest.keep, 0.95, rel_tol=1e-4)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), 700, 5000])
def test_extreme_budgets_stay_finite(epsilon):
    mechanism = RandomizedResponse(epsilon=epsilon, categories=3, people=5)
    assert 0 <= mechanism.error(0.05) <= 2
    assert math.isfinite(mechanism.frequency_error(0.05))
    assert mechanism.release([0, 1, 2, 1, 0]).value.max() <= 2


def test_a_report_is_not_a_measurement():
    report = RandomizedResponse(epsilon=9, categories=3).release(2, rng=unsafe_seeded(1))
    assert "±" not in repr(report)
    assert repr(report).startswith("Release(2, epsilon 9 for changing one person's own value")
    with pytest.raises(InvalidParameter, match="interval"):
        report.interval(0.9)


def test_the_wording_for_one_person_and_for_many():
    with pytest.raises(
        InvalidParameter, match="data must be one integer from 0 to categories - 1, here 1, got"
    ):
        RandomizedResponse(epsilon=1).release("yes")
    with pytest.raises(InvalidParameter, match="2 integers from 0 to categories - 1, here 4, one a person"):
        RandomizedResponse(epsilon=1, categories=5, people=2).release(np.array(["a", "b"]))


@pytest.mark.parametrize("answer", [True, "yes", 1.0])
def test_an_answer_that_is_no_integer_is_told_how_to_become_one(answer):
    with pytest.raises(InvalidParameter, match="Pass integers: 1 and 0 for yes and no"):
        RandomizedResponse(epsilon=1).release(answer)
