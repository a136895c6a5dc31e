"""Black-box lower bounds: never above the truth, close to it, and sharp enough to reject less noise.

Every bound below is wrong with probability at most 1e-6, so a fresh set of seeds gives a false alarm with
probability below 1e-4 for this file.
"""

import math
import sys
from fractions import Fraction

import pytest
from scipy import stats

from discreet import Laplace, audit
from discreet.audit.empirical import OutputEvent, proportion_bounds, ratio_bound
from discreet.audit.museum.exhibit import Exhibited
from discreet.audit.museum.protocol import Coin, Complaining, Meter, TwoCounts, fail_after_looking
from discreet.core.errors import InvalidParameter, MissingExtra
from discreet.core.neighbours import LocalReport
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.testing import unsafe_seeded


class Scaled(Exhibited):
    """Claims epsilon 1 for whatever scale `epsilon` gives."""

    @property
    def loss(self):
        return Laplace(sensitivity=1, epsilon=1).loss

    def _draw(self, data, rng):
        return rng.perform(AddNoise(DiscreteLaplace(1 / self.epsilon), Fraction(1)), data)


@pytest.mark.parametrize("seed", range(3))
def test_a_sound_mechanism_is_not_refuted(seed):
    report = audit.epsilon_lower_bound(
        Laplace(sensitivity=1, epsilon=1), (0, 1), samples=10_000, delta=0, rng=unsafe_seeded(seed)
    )
    assert report.holds, report
    assert report.ratio > 0.75
    assert report.samples == 5_000
    assert "stands" in repr(report)


@pytest.mark.parametrize("seed", [0])
def test_too_little_noise_is_refuted(seed):
    # Power: at 16,000 samples a loss of 4 / 3 instead of 1 is refuted with probability above 0.999.
    broken = Scaled(Fraction(4, 3))
    report = audit.epsilon_lower_bound(broken, (0, 1), samples=16_000, delta=0, rng=unsafe_seeded(seed))
    assert not report.holds, report
    assert report.epsilon < 4 / 3
    assert "REFUTED" in repr(report)


def test_given_events_share_the_confidence():
    below = OutputEvent("at most 0", lambda outcome: outcome <= 0)
    above = OutputEvent("at least 1", lambda outcome: outcome >= 1)
    mechanism = Laplace(sensitivity=1, epsilon=1)
    one, both = (
        audit.epsilon_lower_bound(
            mechanism, (0, 1), samples=4_000, delta=0, events=events, rng=unsafe_seeded(1)
        )
        for events in ([below], [below, above])
    )
    assert one.event == "at most 0"
    assert (one.left, one.right) == (0, 1)
    assert 0.5 < both.epsilon < 1
    swapped = audit.epsilon_lower_bound(
        mechanism, (1, 0), samples=4_000, delta=0, events=[below], rng=unsafe_seeded(1)
    )
    assert (swapped.left, swapped.right) == (0, 1)


def test_a_delta_is_subtracted():
    counts = dict(inside=600, inside_other=100, trials=1_000, alpha=1e-3)
    pure, approximate = ratio_bound(**counts, delta=0), ratio_bound(**counts, delta=0.1)
    assert 0 < approximate < pure < math.log(6)
    assert ratio_bound(**counts, delta=0.9) == 0


def test_errors_and_conversations_are_outcomes():
    rng = unsafe_seeded(2)
    complaint = audit.epsilon_lower_bound(
        Complaining(Fraction(1), least=1), (0, 1), samples=2_000, delta=0, rng=rng
    )
    assert not complaint.holds
    meter = Meter(Fraction(1), LocalReport(), False)
    talk = audit.epsilon_lower_bound(
        meter, (0, 1), samples=6_000, delta=0, script=fail_after_looking, rng=rng
    )
    assert not talk.holds, talk


def test_tuples_are_searched_by_likelihood():
    report = audit.epsilon_lower_bound(
        TwoCounts(Fraction(2)), ((1, 0), (1, 1)), samples=4_000, delta=0, rng=unsafe_seeded(3)
    )
    assert not report.holds


def test_equal_distributions_give_nothing():
    class Coins(Exhibited):
        def _draw(self, data, rng):
            return rng.perform(Coin(), 0)

    report = audit.epsilon_lower_bound(
        Coins(Fraction(1)), (0, 1), samples=2_000, delta=0, rng=unsafe_seeded(4)
    )
    assert report.epsilon == 0
    assert report.event == "no event"


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (1, 1000), (500, 1000)])
def test_clopper_pearson_against_the_binomial(successes, trials):
    alpha = 1e-4
    low, high = proportion_bounds(successes, trials, alpha=alpha)
    assert low <= successes / trials <= high
    if successes:
        assert stats.binom.sf(successes - 1, trials, low) == pytest.approx(alpha, rel=1e-6)
    else:
        assert low == 0
    if successes < trials:
        assert stats.binom.cdf(successes, trials, high) == pytest.approx(alpha, rel=1e-6)
    else:
        assert high == 1


def test_bounds_at_tiny_alpha_stay_exact():
    # The upper bound must not lose alpha to 1 - alpha: with no successes it is 1 - alpha**(1 / n).
    _, high = proportion_bounds(0, 1000, alpha=1e-12)
    assert high == pytest.approx(-math.expm1(math.log(1e-12) / 1000), rel=1e-9)


@pytest.mark.parametrize("bad", [0, 1, -1, float("nan"), True, "x"])
def test_bad_confidence_is_refused(bad):
    with pytest.raises(InvalidParameter, match="confidence"):
        audit.epsilon_lower_bound(
            Laplace(sensitivity=1, epsilon=1), (0, 1), samples=10, delta=0, confidence=bad
        )


def test_a_progress_bar_is_drawn_when_asked(capsys):
    audit.epsilon_lower_bound(
        Laplace(sensitivity=1, epsilon=1), (0, 1), samples=10, delta=0, progress=True, rng=unsafe_seeded(0)
    )
    assert "sampling" in capsys.readouterr().out


def test_a_missing_progress_bar_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(MissingExtra, match=r"discreet\[cli\]"):
        audit.epsilon_lower_bound(
            Laplace(sensitivity=1, epsilon=1), (0, 1), samples=10, delta=0, progress=True
        )
