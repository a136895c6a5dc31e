"""Linear releases too large for the catalogue's audit, enumerated; and wrong constants that audits find."""

from fractions import Fraction

import pytest

from discreet import audit
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.laplace import Laplace
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.universe import Universe
from discreet.query_release.linear import range_tree as ranges
from discreet.query_release.linear import rectangle_tree as rectangles
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.joint_noise import gaussian_noise
from discreet.query_release.linear.range_tree import RangeTree
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.linear.trees import CountTree
from discreet.query_release.tiny import list_pairs

THREE = Universe([("a", (0, 1, 2))])
SQUARE = Universe([("a", (0, 1)), ("b", (0, 1))])
SIDES = Marginals(SQUARE, [["a"], ["b"]])
HUNDREDTH = Fraction(1, 100)


def residuals(workload, neighbours, epsilon, fineness=1):
    return ResidualMarginals(
        workload=workload, epsilon=epsilon, delta=HUNDREDTH, neighbours=neighbours, fineness=fineness
    )


def report(mechanism, *, rows=1):
    universe = mechanism.workload.universe
    return audit.exact(mechanism, list(list_pairs(universe, mechanism.neighbours, rows)))


@pytest.mark.parametrize(
    ("workload", "neighbours", "epsilon"),
    [
        (SIDES, Replace("row"), 6),
        (Marginals(THREE, [["a"]]), Replace("row"), 6),
    ],
    ids=["two residuals", "unequal contrasts"],
)
def test_residuals_of_several_sets_keep_their_joint_claim(workload, neighbours, epsilon):
    found = report(residuals(workload, neighbours, epsilon))
    assert found.holds, found
    assert found.tight, found
    assert found.resolved > 1 - 1e-6


def test_a_residual_sensitivity_that_is_too_small_is_found():
    mechanism = residuals(SIDES, Replace("row"), 6)
    square = mechanism.layout.square(replaced=True)
    for wrong, holds in ((square, True), (square * 9 // 10, False)):
        noise = gaussian_noise(
            square=wrong,
            size=mechanism.noise.size,
            epsilon=mechanism.epsilon,
            delta=mechanism.delta,
            neighbours=mechanism.neighbours,
        )
        object.__setattr__(mechanism, "noise", noise)
        assert report(mechanism).holds is holds


def test_the_prices_of_replacement_are_those_of_add_and_remove_twice_only_at_the_worst():
    """Calibrating for added rows and promising it for changed ones is found."""
    mechanism = residuals(SIDES, Replace("row"), 6)
    noise = gaussian_noise(
        square=mechanism.layout.square(replaced=False),
        size=mechanism.noise.size,
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        neighbours=mechanism.neighbours,
    )
    object.__setattr__(mechanism, "noise", noise)
    assert not report(mechanism).holds


@pytest.mark.parametrize(
    ("tree", "neighbours"),
    [(CountTree(2, (2,), (1, 1)), AddRemove("row")), (CountTree(1, (1,), (1, 2)), AddRemove("row"))],
    ids=["root", "multipliers"],
)
def test_levels_of_a_tree_share_the_budget(tree, neighbours):
    mechanism = RangeTree(
        workload=Prefixes(Universe([("a", range(tree.size))]), ["a"]),
        epsilon=20,
        delta=0,
        neighbours=neighbours,
        tree=tree,
    )
    found = report(mechanism)
    assert found.holds
    assert found.tight
    wrong = Laplace(
        sensitivity=mechanism.noise.shift - 1, epsilon=20, size=mechanism.noise.size, neighbours=neighbours
    )
    object.__setattr__(mechanism, "noise", wrong)
    assert not report(mechanism).holds


def test_independent_counts_compose_no_better_than_claimed():
    workload = Marginals(SQUARE, [["a"], ["b"]])
    mechanism = Independent(workload=workload, epsilon=32, delta=0, neighbours=AddRemove("row"))
    found = report(mechanism)
    assert found.holds
    assert found.tight


def test_the_catalogue_audits_trees_with_both_noises():
    for card in (ranges.CARD, rectangles.CARD):
        assert {type(tiny.mechanism.noise).__name__ for tiny in card.tiny()} == {"Laplace", "Gaussian"}
