"""The parts an answer is made of: the noise that was planned, thresholds, quantile choices, intervals."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting.composition import compose
from discreet.core.errors import InternalError
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss
from discreet.data import Category, Identifier, Integer, Row, Schema, Text, User
from discreet.data.plan.facts import VectorSensitivity
from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.budget import Budget, budget, coarsen
from discreet.data.pricing.estimates import enclosure, estimate
from discreet.data.pricing.quantiles import QuantileChoices, rank_error, runs
from discreet.data.pricing.thresholds import KeysAbove, threshold
from discreet.data.sql.parse import parse
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.testing import unsafe_seeded


def schema(unit: Row | User, replace: bool = False) -> Schema:
    kind = dp.Replace if replace else dp.AddRemove
    return Schema(
        "t",
        columns=(
            Identifier("who"),
            Category("g", values=tuple(f"g{i}" for i in range(50))),
            Integer("x", lower=0, upper=100, null=0),
            Integer("y", lower=-10, upper=10),
            Text("note"),
        ),
        unit=unit,
        neighbours=kind(unit.name),
    )


def planned(
    text: str, *, unit: Row | User, epsilon: str = "1", delta: str = "0", replace: bool = False
) -> Budget:
    tables = PlanTables.of(schema(unit, replace))
    policy = Policy(epsilon=Fraction(epsilon), delta=Fraction(delta))
    return budget(parse(text, schemas=tables, policy=policy), tables, policy)


USER = User(column="who", max_rows=20, max_groups=10)
PLANS = (
    "SELECT COUNT(*) FROM t",
    "SELECT g, COUNT(*), SUM(x), AVG(y) FROM t GROUP BY g",
    "SELECT g, STDDEV(y), MEDIAN(x) FROM t GROUP BY ROLLUP(g)",
    "SELECT APPROX_QUANTILES(x, 3) FROM t",
)


@pytest.mark.parametrize("text", PLANS)
@pytest.mark.parametrize("unit", [Row(), USER], ids=["row", "user"])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("replace", [False, True])
def test_the_composed_guarantee_is_at_most_what_was_asked(
    text: str, unit: Row | User, delta: str, replace: bool
) -> None:
    made = planned(text, unit=unit, delta=delta, replace=replace)
    parts = [Guarantee(part.loss, made.neighbours) for part in (*made.vectors, *made.choices)]
    whole = compose(*parts)
    assert whole.guarantee == made.guarantee
    assert made.guarantee.implies(epsilon=1, delta=Fraction(delta))
    # No slack worth having is left: a tenth less would be a false statement for one of the two ways.
    spent = sum((part.loss.exact_epsilon() or 0) for part in made.choices)
    if made.spent_delta == 0:
        spent += sum(vector.loss.exact_epsilon() for vector in made.vectors)
        assert spent > Fraction(999, 1000)
    else:
        assert not made.guarantee.implies(epsilon=(1 - spent) * Fraction(9, 10), delta=Fraction(delta))


def test_found_groups_pay_for_their_threshold() -> None:
    made = planned("SELECT note, COUNT(*) FROM t GROUP BY note", unit=USER, delta="1e-6")
    (finder,) = [vector for vector in made.vectors if vector.threshold is not None]
    assert finder.measure.kind == "units"
    assert any(isinstance(loss, ApproxLoss) for loss, _ in made.loss.parts)
    assert made.guarantee.implies(epsilon=1, delta=Fraction("1e-6"))
    assert not made.guarantee.implies(epsilon=1, delta=finder.failure * Fraction(99, 100))


@pytest.mark.parametrize("delta", ["1e-6", "1e-2"])
def test_a_threshold_pays_for_all_groups_of_one_unit(delta: str) -> None:
    """Ten groups that only one user has: some of them is shown with the probability that is paid for."""
    text = "SELECT note, COUNT(*) FROM t GROUP BY GROUPING SETS ((note), (note, g))"
    made = planned(text, unit=USER, epsilon="0.25", delta=delta)
    finders = [vector for vector in made.vectors if vector.threshold is not None]
    assert len(finders) == 2
    for finder in finders:
        shown = 1 - (1 - finder.noise.tail(finder.threshold - 1)) ** USER.max_groups
        assert finder.failure * Fraction(9, 10) < shown <= finder.failure


def test_few_groups_take_laplace_and_many_take_gaussian() -> None:
    one = planned("SELECT COUNT(*) FROM t", unit=Row(), delta="1e-6")
    assert one.route == "discrete Laplace noise"
    assert one.spent_delta == 0
    many = planned("SELECT g, COUNT(DISTINCT who) FROM t GROUP BY g", unit=USER, delta="1e-6")
    assert many.route == "discrete Gaussian noise"
    assert many.spent_delta == Fraction("1e-6")
    pure = planned("SELECT g, COUNT(DISTINCT who) FROM t GROUP BY g", unit=USER)
    assert pure.route == "discrete Laplace noise"
    beta = 0.001
    for gaussian, laplace in zip(many.vectors, pure.vectors, strict=True):
        assert gaussian.noise.reach(beta) < laplace.noise.reach(beta)


def test_a_budget_that_does_not_hold_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "discreet.data.pricing.budget.laplace_scale", lambda shift, share: Fraction(shift) / share / 2
    )
    with pytest.raises(InternalError):
        planned("SELECT SUM(y) FROM t", unit=Row(), epsilon="0.123")


def test_rows_that_are_never_missing_are_counted_once() -> None:
    made = planned("SELECT COUNT(*), AVG(x), COUNT(x) FROM t", unit=Row())
    assert [vector.measure.kind for vector in made.vectors] == ["rows", "sum"]
    assert len(planned("SELECT COUNT(*), AVG(y) FROM t", unit=Row()).vectors) == 3
    # A row is a unit: the count that was asked for also finds the groups.
    assert len(planned("SELECT note, COUNT(*) FROM t GROUP BY note", unit=Row(), delta="1e-6").vectors) == 1


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(2)), DiscreteGaussian(Fraction(9))])
@pytest.mark.parametrize("groups", [1, 3, 10])
@pytest.mark.parametrize("delta", ["0.1", "1e-3", "1e-9"])
def test_the_threshold_is_the_smallest_that_pays(
    noise: DiscreteLaplace | DiscreteGaussian, groups: int, delta: str
) -> None:
    level = threshold(noise, groups=groups, delta=Fraction(delta))
    seen = noise.tail(level - 1)  # a group of one unit
    more = noise.tail(level - 2)
    assert 1 - (1 - seen) ** groups <= Fraction(delta)
    assert 1 - (1 - more) ** groups > Fraction(delta)


def test_groups_are_shown_sorted_and_absent_ones_never() -> None:
    step = KeysAbove(DiscreteLaplace(Fraction(1)), 5, Fraction(1))
    shown = step.sample({("b",): 1000, ("a",): 1000, ("c",): 0}, unsafe_seeded(1))
    assert [key for key, _ in shown] == [("a",), ("b",)]
    assert step.sample({}, unsafe_seeded(1)) == ()
    assert step.distance({("a",): 2}, {("b",): 1}) == 3
    law = dict(step.law({("a",): 3}))
    assert law[()] == 1 - DiscreteLaplace(Fraction(1)).tail(2)
    assert sum(law.values()) == pytest.approx(1)


@pytest.mark.parametrize("point", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
def test_scores_are_ranks(point: Fraction) -> None:
    histogram, span = {3: 2, 5: 1, 6: 4}, (0, 9)
    data = [v for v, count in histogram.items() for _ in range(count)]
    a, b = point.numerator, point.denominator
    for first, last, score in runs(histogram, point, span):
        for v in range(first, last + 1):
            below, at_most = sum(x < v for x in data), sum(x <= v for x in data)
            assert score == -max(0, a * len(data) - b * at_most, b * below - a * len(data))
    covered = [v for first, last, _ in runs(histogram, point, span) for v in range(first, last + 1)]
    assert covered == list(range(10))
    assert max(score for _, _, score in runs(histogram, point, span)) == 0
    assert runs({-7: 1, 12: 2}, point, span) == runs({0: 1, 9: 2}, point, span)


def test_quantile_choices_follow_their_law_and_their_error() -> None:
    step = QuantileChoices(Fraction(1, 2), (0, 7), Fraction(1, 2), Fraction(1))
    given = ({2: 3, 5: 3}, {})
    law = dict(step.law(given))
    assert sum(law.values()) == pytest.approx(1)
    rng, draws = unsafe_seeded(11), 20_000
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(draws):
        chosen = step.sample(given, rng)
        counts[chosen] = counts.get(chosen, 0) + 1
    # Chi-squared with 63 degrees of freedom: above 150 with probability below 1e-8.
    statistic = sum((counts.get(k, 0) - draws * float(p)) ** 2 / (draws * float(p)) for k, p in law.items())
    assert statistic < 150
    wrong = dict(QuantileChoices(Fraction(1, 2), (0, 7), Fraction(11, 20), Fraction(1)).law(given))
    assert (
        sum((counts.get(k, 0) - draws * float(p)) ** 2 / (draws * float(p)) for k, p in wrong.items()) > 150
    )
    error = rank_error(point=Fraction(1, 2), span=(0, 7), rate=Fraction(1, 2), choices=1, beta=0.05)
    off = {
        v: -score / 2
        for first, last, score in runs(given[0], Fraction(1, 2), (0, 7))
        for v in range(first, last + 1)
    }
    assert sum(p for (v, _), p in law.items() if off[v] > error) <= 0.05


def test_coarse_steps_cover_the_fine_ones() -> None:
    assert coarsen(VectorSensitivity(2, 5, 7, 29)) == (0, VectorSensitivity(2, 5, 7, 29))
    assert coarsen(VectorSensitivity(0, 0, 0, 0)) == (0, VectorSensitivity(1, 1, 1, 1))
    dropped, coarse = coarsen(VectorSensitivity(3, 1 << 50, 3 << 50, 3 << 100))
    assert dropped == 21
    assert coarse.linf == 1 << 29
    assert 3 << 29 <= coarse.l1 <= (3 << 29) + 3


SUM, COUNT = Measure("sum", None, Fraction(1, 2), (-4, 10), 3), Measure("rows")
SQUARES = Measure("squares", None, Fraction(1, 2), (-4, 10), 3)


def test_estimates_by_hand() -> None:
    assert estimate("count", [COUNT], [Fraction(-3)]) == -3
    assert enclosure("count", [COUNT], [(-9, 2)]) == (0, 2)
    assert enclosure("count", [COUNT], [(-9, -2)]) == (0, 0)
    assert enclosure("sum", [SUM], [(-9, 2)]) == (-4.5, 1.0)
    # 5 rows whose steps are 3 + 10 / 5 on average, half a unit each.
    assert estimate("average", [SUM, COUNT], [Fraction(10), Fraction(5)]) == 2.5
    assert enclosure("average", [SUM, COUNT], [(10, 10), (5, 5)]) == (2.5, 2.5)
    assert estimate("average", [SUM, COUNT], [Fraction(10**9), Fraction(5)]) == 5.0
    assert estimate("average", [SUM, COUNT], [Fraction(10), Fraction(0)]) == 1.5
    assert enclosure("average", [SUM, COUNT], [(10, 10), (-5, 0)]) == (-2.0, 5.0)
    values = [Fraction(30), Fraction(10), Fraction(5)]
    assert estimate("variance_pop", [SQUARES, SUM, COUNT], values) == (6 - 4) / 4
    assert estimate("variance_samp", [SQUARES, SUM, COUNT], values) == pytest.approx((6 - 4) * 5 / 4 / 4)
    assert estimate("deviation_pop", [SQUARES, SUM, COUNT], values) == pytest.approx((2 / 4) ** 0.5)
    assert estimate("variance_samp", [SQUARES, SUM, COUNT], [Fraction(30), Fraction(1), Fraction(1)]) == 12.25
