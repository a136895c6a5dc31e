"""What a delta buys k-median: the exact curve of all swaps together against the claim.

With one site open of two, every step chooses a site afresh with odds exp(-rate cost): the steps are
independent coins, whatever came before, and the whole transcript is one binomial number. A person moves the
odds of every coin by the same factor, so the divergence at every epsilon is a finite sum.
"""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.optimisation.k_median.k_median import KMedian
from discreet.optimisation.k_median.tiny import line

FAR = 40


def two_sites(neighbours, epsilon, delta, steps):
    public = {"metric": line(0, FAR), "k": 1, "neighbours": neighbours}
    return KMedian(**public, epsilon=epsilon, delta=delta, steps=steps)


def curve(odds, moved, steps, epsilon):
    """Return sup P(E) - e^epsilon Q(E) for `steps` coins of log-odds `odds` against `odds + moved`."""
    heads = np.arange(steps + 1)
    p, q = (stats.binom.logpmf(heads, steps, 1 / (1 + math.exp(-each))) for each in (odds, odds + moved))
    return float(np.maximum(0.0, np.exp(p) - np.exp(epsilon + q)).sum())


class Costs(Rng):
    """Notes the scores that are chosen between and always stays."""

    def __init__(self):
        self.seen = []

    def random_bytes(self, count):
        raise AssertionError("bits outside a primitive")

    def perform(self, primitive, value):
        self.seen.append((primitive, value.tolist()))
        return len(value) - 1


@pytest.mark.parametrize("neighbours", [AddRemove("person"), Replace("person")], ids=str)
def test_every_step_is_the_same_coin(neighbours):
    """What the sums below rest on, from the shipped steps: two candidates, moved by a person's distances."""
    mechanism = two_sites(neighbours, 1, 1e-6, 3)
    one, other = Costs(), Costs()
    mechanism.release([0, 0, 1], rng=one)
    mechanism.release([0, 0, 0] if isinstance(neighbours, Replace) else [0, 0], rng=other)
    assert len(one.seen) == mechanism.choices == 3
    for (primitive, scores), (_, moved) in zip(one.seen, other.seen, strict=True):
        gap = abs((scores[0] - scores[1]) - (moved[0] - moved[1]))
        assert float(primitive.rate) * gap == pytest.approx(float(mechanism.range_), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-3), (3, 1e-9), (1, 0.1)])
@pytest.mark.parametrize("steps", [1, 2, 20, 200])
def test_all_steps_together_stay_below_the_curve(epsilon, delta, steps):
    mechanism = two_sites(AddRemove("person"), epsilon, delta, steps)
    moved, claimed = float(mechanism.range_), mechanism.loss.delta(epsilon)
    assert mechanism.loss.epsilon(delta) <= epsilon
    assert claimed <= delta
    worst = max(
        curve(odds, sign * moved, steps, epsilon) for odds in np.linspace(-3, 3, 61) for sign in (-1, 1)
    )
    assert worst <= claimed * (1 + 1e-9)
    doubled = max(curve(odds, 2 * moved, steps, epsilon) for odds in np.linspace(-3, 3, 61))
    assert doubled > delta  # twice the exponent would break the promise


def test_a_delta_buys_more_than_it_costs():
    """Twenty steps at (1, 1e-6) are allowed twice the exponent of twenty pure ones."""
    pure, approximate = (two_sites(AddRemove("person"), 1, delta, 20) for delta in (0, 1e-6))
    assert approximate.range_ > 1.9 * pure.range_
    assert approximate.error(0.05) < pure.error(0.05)
