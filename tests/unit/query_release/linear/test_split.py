"""One budget for several workloads: shares, errors with weights, and the way back from an error."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.union import Union
from discreet.queries.universe import Universe
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.split import Split
from discreet.testing import unsafe_seeded

ROWS = AddRemove("row")
UNIVERSE = Universe([("age", range(6)), ("sex", range(2))])
PARTS = (Marginals(UNIVERSE, [["age"]]), Prefixes(UNIVERSE, ["age"]))
WORKLOAD = Union(PARTS)
WEIGHTED = Union(PARTS, weights=[3, Fraction(1, 7)])
DATA = Histogram.dense(UNIVERSE, np.arange(12).reshape(6, 2) * 5)


def public(workload=WORKLOAD, neighbours=ROWS, **changed):
    makes = [
        lambda e, d, part=part: Independent(workload=part, epsilon=e, delta=d, neighbours=neighbours)
        for part in workload.parts
    ]
    kept = {"workload": workload, "makes": makes, "shares": (2, 1), "delta": 0, "neighbours": neighbours}
    return kept | changed


@pytest.mark.parametrize(
    "shares",
    [(0, 1), (-1, 2), (float("nan"), 1), (float("inf"), 1), (1,), (), (1, 1, 1), ("a", "b"), (True, 1)],
    ids=repr,
)
def test_bad_shares_are_refused_by_name(shares):
    with pytest.raises(InvalidParameter, match="shares"):
        Split.share(epsilon=1, **public(shares=shares))


@pytest.mark.parametrize("shares", [(1e-9, 1), (1e12, 1), (Fraction(1, 3), 1)])
@pytest.mark.parametrize("neighbours", [ROWS, Replace("row")])
def test_any_positive_shares_stay_within_the_budget(shares, neighbours):
    mechanism = Split.share(epsilon=Fraction(3, 10), **public(shares=shares, neighbours=neighbours))
    epsilons = [each.epsilon for each in mechanism.mechanisms]
    assert sum(epsilons) <= Fraction(3, 10)
    assert sum(epsilons) >= Fraction(3, 10) * (1 - Fraction(1, 10**6))
    assert epsilons[0] / epsilons[1] == pytest.approx(float(shares[0] / shares[1]), rel=1e-6)


@pytest.mark.parametrize("workload", [WORKLOAD, WEIGHTED], ids=["plain", "weighted"])
def test_the_error_holds_for_all_parts_at_once(workload):
    """Seeded; at beta 0.2, more than 76 misses in 200 have probability below 1e-9. The bound is not idle."""
    mechanism = Split.share(epsilon=1, **public(workload))
    truth, rng = np.asarray(workload.answers(DATA), dtype=np.float64), unsafe_seeded(5)
    off = [np.abs(mechanism.release(DATA, rng=rng).value.answers(workload) - truth).max() for _ in range(200)]
    bound = mechanism.error(Fraction(1, 5))
    assert sum(each > bound for each in off) <= 76
    assert sum(each > bound / 2 for each in off) > 20
    parts = zip(workload.weights, mechanism.mechanisms, strict=True)
    assert bound == max(float(weight) * each.error(Fraction(1, 10)) for weight, each in parts)


def test_an_error_buys_a_shared_budget():
    bought = Split.for_error(alpha=40, beta=0.05, **public())
    assert bought.error(0.05) <= 40
    assert Split.share(epsilon=bought.epsilon * Fraction(49, 50), **public()).error(0.05) > 40
    assert bought.guarantee.implies(epsilon=bought.epsilon, delta=0)
