"""What may be charged to a filter, at which price, and about whom."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting.composition import compose
from discreet.accounting.failing import FailingLoss
from discreet.accounting.filters import (
    AdvancedFilter,
    ApproxFilter,
    ConcentratedFilter,
    EitherFilter,
    PureFilter,
    RenyiFilter,
)
from discreet.accounting.group import GroupLoss
from discreet.accounting.odometer import Odometer
from discreet.core.errors import BudgetExceeded, DiscreetError, InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, LaplaceLoss, PureLoss, ZCDPLoss
from discreet.core.mechanism import Release
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.queries import Histogram, Marginals, Universe
from discreet.query_release.planning import predict
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.plan import NoiseKind
from discreet.sparse.sparse import Sparse
from discreet.testing import unsafe_seeded

TENTH = Fraction(1, 10)


FILTERS = [
    lambda: PureFilter(epsilon=1),
    lambda: ApproxFilter(epsilon=1, delta=1e-6),
    lambda: ConcentratedFilter(rho=1, failure=0),
    lambda: AdvancedFilter(epsilon=1, delta=1e-6, failure=0),
    lambda: EitherFilter(epsilon=1, delta=1e-6, failure=0),
    lambda: RenyiFilter(order=8, divergence=1, failure=0),
]


COUNT = Laplace(sensitivity=1, epsilon=0.1)


NOISE = Gaussian(l2_sensitivity=1, epsilon=0.5, delta=1e-6)


@pytest.mark.parametrize("make", FILTERS)
def test_mechanisms_releases_guarantees_and_losses_cost_the_same(make):
    budget = make()
    release = COUNT.release(5, rng=unsafe_seeded(1))
    costs = {budget.cost(item) for item in (COUNT, release, COUNT.guarantee, COUNT.loss)}
    assert costs == {budget.cost(PureLoss(TENTH))}
    assert budget.neighbours is None
    budget.spend(COUNT)
    assert budget.try_spend(release)
    assert budget.neighbours == AddRemove("row")


@pytest.mark.parametrize("make", FILTERS)
def test_the_first_charge_fixes_the_neighbours_and_another_one_costs_nothing(make):
    budget = make()
    budget.spend(PureLoss(TENTH))
    assert budget.neighbours is None
    budget.spend(COUNT)
    before = budget.spent
    other = Laplace(sensitivity=1, epsilon=0.1, neighbours=Replace("row"))
    for act in (budget.cost, budget.try_spend, budget.spend):
        with pytest.raises(NeighboursMismatch, match="Build both with the same neighbours="):
            act(other)
    assert budget.spent == before
    budget.spend(PureLoss(TENTH))  # a bare loss is taken to be about the same change


def test_a_refused_charge_does_not_fix_the_neighbours():
    budget = PureFilter(epsilon=1)
    assert not budget.try_spend(Laplace(sensitivity=1, epsilon=2, neighbours=Replace("row")))
    assert not budget.try_spend(Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, neighbours=Replace("row")))
    budget.spend(COUNT)
    assert budget.neighbours == AddRemove("row")


@pytest.mark.parametrize(
    "make",
    [
        lambda n: PureFilter(epsilon=1, neighbours=n),
        lambda n: ApproxFilter(epsilon=1, delta=1e-6, neighbours=n),
        lambda n: ConcentratedFilter(rho=1, failure=0, neighbours=n),
        lambda n: AdvancedFilter(epsilon=1, delta=1e-6, failure=0, neighbours=n),
        lambda n: EitherFilter(epsilon=1, delta=1e-6, failure=0, neighbours=n),
        lambda n: RenyiFilter(order=8, divergence=1, failure=0, neighbours=n),
    ],
)
def test_declared_neighbours(make):
    with pytest.raises(NeighboursMismatch, match="about adding or removing one person"):
        make(AddRemove("person")).spend(COUNT)
    assert make(AddRemove("row")).try_spend(COUNT)
    with pytest.raises(InvalidParameter, match="Pass AddRemove"):
        make("row")


def test_gaussian_noise_is_charged_at_the_pair_it_was_bought_for():
    budget = ApproxFilter(epsilon=1, delta=2e-6)
    budget.spend(NOISE)
    assert budget.spent == {"epsilon": Fraction(1, 2), "delta": Fraction(1, 10**6)}
    budget.spend(NOISE.release(3, rng=unsafe_seeded(1)))
    assert not budget.try_spend(NOISE)
    assert NOISE.guarantee.implies(epsilon=NOISE.bought.value, delta=NOISE.bought.mass)
    classical = Gaussian.classical(l2_sensitivity=1, epsilon=0.5, delta=1e-6)
    assert ApproxFilter(epsilon=1, delta=2e-6).try_spend(classical)
    concentrated = ConcentratedFilter(rho=1, failure=0)
    concentrated.spend(NOISE)  # by its own rho, which is better than what the pair says
    assert concentrated.spent["rho"] == pytest.approx(NOISE.loss.zcdp(), abs=2e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        Sparse(sensitivity=1, epsilon=1, delta=1e-9, positives=100),
        NumericSparse(sensitivity=1, epsilon=1, delta=1e-9, positives=100),
        AboveThreshold(sensitivity=1, epsilon=1, delta=1e-9, noise=NoiseKind.GAUSSIAN, queries=10),
        Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-9),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_mechanism_fits_the_budget_it_was_bought_at(mechanism):
    budget = ApproxFilter(epsilon=1, delta=1e-9)
    budget.spend(mechanism)
    assert budget.left["epsilon"] == 0
    assert not ApproxFilter(epsilon=0.99, delta=1e-9).try_spend(mechanism)
    assert not ApproxFilter(epsilon=1, delta=9e-10).try_spend(mechanism)


def test_the_cheaper_statement_is_charged():
    """Ten draws are pure at 1.87 together, or (1, 1e-9): which is cheaper depends on the budget."""
    sparse = Sparse(sensitivity=1, epsilon=1, delta=1e-9, positives=100)
    tight = ApproxFilter(epsilon=4, delta=1e-6)
    assert tight.cost(sparse).amounts == {"epsilon": 1, "delta": Fraction(1, 10**9)}
    scarce = ApproxFilter(epsilon=40, delta=1e-9)
    assert scarce.cost(sparse).amounts["delta"] == 0
    assert scarce.cost(sparse).amounts["epsilon"] == pytest.approx(1.8655, abs=1e-3)
    # What fits is charged where the cheaper statement no longer does.
    last = ApproxFilter(epsilon=4, delta=1e-6)
    last.spend(ApproxLoss(Fraction(1), Fraction(1, 10**6)))
    last.spend(sparse)
    assert last.left["delta"] == 0
    assert last.spent["epsilon"] > Fraction(28, 10)


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 7), Fraction(1, 10**7 + 19)])
def test_a_failing_third_fits_a_third(value):
    for inner in (PureLoss(value), LaplaceLoss(value), ApproxLoss(value, Fraction(1, 10**9))):
        mass = inner.exact_failure() + Fraction(1, 10**9)
        budget = ApproxFilter(epsilon=value, delta=mass)
        budget.spend(FailingLoss(inner, Fraction(1, 10**9)))
        assert budget.left == {"epsilon": 0, "delta": 0}


class Underpriced(Laplace):
    """Claims to have been bought at less than it costs."""

    @property
    def bought(self):
        return PureLoss(self.epsilon / 10)


def test_what_a_mechanism_says_it_was_bought_at_is_checked():
    dear = Underpriced(sensitivity=1, epsilon=1)
    for budget in (PureFilter(epsilon=2), ApproxFilter(epsilon=2, delta=1e-6)):
        budget.spend(dear)
        assert budget.spent["epsilon"] == 1
        assert not ApproxFilter(epsilon=0.5, delta=1e-6).try_spend(dear.release(1, rng=unsafe_seeded(1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PerPerson(Release):
    """A release about persons, with several rows each, by a mechanism that was bought for rows."""

    rows: int

    @property
    def guarantee(self):
        return Guarantee(GroupLoss(self.mechanism.loss, self.rows), AddRemove("person"))


def test_a_release_about_persons_is_not_charged_at_the_price_of_a_row():
    noise = Gaussian(l2_sensitivity=1, epsilon=0.1, delta=1e-9)
    released = PerPerson(value=1, mechanism=noise, rows=10)
    budget = ApproxFilter(epsilon=1, delta=1e-6)
    assert budget.cost(released) is None, "(0.1, 1e-9) is about one row"
    assert not budget.try_spend(released)
    assert budget.cost(PerPerson(value=1, mechanism=noise, rows=1)).amounts["epsilon"] == Fraction(1, 10)


def test_a_release_that_says_what_it_was_bought_at_is_charged_that(monkeypatch):
    monkeypatch.setattr(predict, "_NOISE_RUNS", (2, 2))  # how well errors are predicted is not the question
    monkeypatch.setattr(predict, "_FITS", (2, 2))
    universe = Universe([("a", (0, 1, 2)), ("b", (0, 1))])
    people, asked = Histogram.dense(universe, [10] * 6), Marginals.of_order(universe, 2)
    released = dp.release(asked, people, epsilon=1, delta=1e-6, rows=60, rng=unsafe_seeded(1))
    budget = ApproxFilter(epsilon=1, delta=1e-6)
    budget.spend(released)
    assert budget.left["epsilon"] == 0


@pytest.mark.parametrize("item", [NOISE.loss, NOISE.guarantee, Gaussian.for_rho(rho=0.1, l2_sensitivity=1)])
def test_gaussian_noise_without_a_pair_is_shown_the_way_out(item):
    with pytest.raises(InvalidParameter, match="Use ConcentratedFilter, AdvancedFilter or EitherFilter"):
        ApproxFilter(epsilon=1, delta=1e-6).spend(item)
    with pytest.raises(InvalidParameter, match="finite charge in this PureFilter, got Gaussian loss mu"):
        PureFilter(epsilon=1).spend(item)


def test_asked_and_left_are_in_the_same_unit():
    with pytest.raises(BudgetExceeded) as caught:
        ConcentratedFilter(rho=0.001, failure=0).spend(NOISE)
    assert str(caught.value).startswith("ConcentratedFilter: asked rho 0.00")
    assert ", delta 0, left rho 0.001, delta 0. " in str(caught.value)
    with pytest.raises(BudgetExceeded, match=r"asked epsilon 0.1, left epsilon 0.05"):
        PureFilter(epsilon=0.05).spend(COUNT)


@pytest.mark.parametrize("bad", [0.5, "0.5", None, [PureLoss(TENTH)], Laplace])
def test_other_charges_are_refused(bad):
    for act in (PureFilter(epsilon=1).try_spend, Odometer(delta=0.1).record):
        with pytest.raises(InvalidParameter, match="item must be a mechanism, release, guarantee or loss"):
            act(bad)


def test_a_failing_loss_keeps_the_inner_failure():
    loss = FailingLoss(ApproxLoss(Fraction(1, 10), Fraction(1, 100)), Fraction(1, 10**6))
    assert loss.exact_failure() >= Fraction(1, 100)
    assert math.isinf(compose(loss, counts=[2]).epsilon(1e-5))


def test_a_forked_filter_is_spent_in_one_process_only():
    budget = PureFilter(epsilon=1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            budget.spend(PureLoss(Fraction(1)))
            os.write(writer, b"spent")
        except DiscreetError:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 8) == b"refused"
    budget.spend(PureLoss(Fraction(1)))


def test_no_loss_refunds_a_budget():
    class Refund(PureLoss):
        def exact_rho(self):
            return Fraction(-1)

    budget = ConcentratedFilter(rho=1, failure=0)
    budget.spend(ZCDPLoss(Fraction(1)))
    with pytest.raises(InvalidParameter, match="at least nothing"):
        budget.spend(Refund(Fraction(1)))
    assert budget.left["rho"] == 0
