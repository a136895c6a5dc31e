"""Rows against privacy units: whole tables of units, enumerated, keep what was bought for one unit.

A unit is a tuple of rows, a row is +1 or -1, and what is released is their noisy sum: a unit that is replaced
by its opposite moves it as far as rows can.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from discreet.accounting.units import PrivacyUnit
from discreet.audit.enumeration import output_distribution
from discreet.audit.exact_report import divergences, list_claims
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove, Event, Replace
from discreet.mechanisms import Gaussian, Laplace

SHAPES = [(kind, rows) for kind in (AddRemove, Replace) for rows in (1, 2, 3)]


def neighbouring_tables(kind, rows):
    """Yield all pairs of tables of at most two units that differ in one unit."""
    of_one = (range(1, rows + 1)) if rows > 1 else (1,)
    units = [unit for count in of_one for unit in itertools.product((-1, 1), repeat=count)]
    for rest in [(), *((unit,) for unit in units)]:
        if kind is AddRemove:
            yield from (((*rest, unit), rest) for unit in units)
        else:
            yield from (((*rest, a), (*rest, b)) for a, b in itertools.combinations(units, 2))


def released(unit, epsilon, delta):
    """Return a mechanism about rows that was built for the budget of a row."""
    e, d = unit.row_budget(epsilon=epsilon, delta=delta)
    moved = 2 if isinstance(unit.row_neighbours, Replace) else 1
    public = {"epsilon": e, "neighbours": unit.row_neighbours}
    return Gaussian(l2_sensitivity=moved, delta=d, **public) if d else Laplace(sensitivity=moved, **public)


def exact_sides(mechanism, kind, rows):
    """Yield the exact distributions on neighbouring tables, both ways round."""
    known = {}

    def law(table):
        total = sum(sum(unit) for unit in table)
        if total not in known:
            known[total] = output_distribution(lambda x, rng: mechanism.release(x, rng=rng).value, total)
        return total, known[total]

    sums = {(law(left)[0], law(right)[0]) for left, right in neighbouring_tables(kind, rows)}
    for a, b in sorted(sums | {pair[::-1] for pair in sums}):
        yield known[a], known[b]


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100)], ids=["pure", "delta"])
@pytest.mark.parametrize(("kind", "rows"), SHAPES)
def test_a_unit_loses_no_more_than_it_bought(kind, rows, delta):
    unit, epsilon = PrivacyUnit(kind("person"), rows), Fraction(2)
    mechanism = released(unit, epsilon, delta)
    promised = unit.per_unit(mechanism.guarantee)
    assert promised.neighbours == kind("person")
    assert promised.implies(epsilon=epsilon, delta=delta)
    bought = [("delta", float(epsilon), float(delta))] if delta else [("epsilon", 0.0, float(epsilon))]
    claims, largest = (*bought, *list_claims(promised.loss)), 0.0
    for left, right in exact_sides(mechanism, kind, rows):
        found = list(divergences(left, right, claims))
        assert all(measured <= most * (1 + 1e-9) + 1e-12 for (_, _, most), measured, _ in found)
        largest = max(largest, found[0][1])
    if not delta:
        assert largest > 0.99 * epsilon, "no smaller group would have done"


def test_what_rows_are_of_a_unit():
    assert [PrivacyUnit(kind("p"), rows).row_neighbours for kind, rows in SHAPES] == [
        *[AddRemove("row")] * 3,
        Replace("row"),
        *[AddRemove("row")] * 2,
    ]
    sizes = [PrivacyUnit(kind("p"), rows).changes(AddRemove("row")) for kind, rows in SHAPES]
    assert sizes == [1, 2, 3, 2, 4, 6]


@pytest.mark.parametrize(
    ("unit", "neighbours"),
    [
        (PrivacyUnit(AddRemove("p"), 1), Replace("row")),
        (PrivacyUnit(Replace("p"), 2), Replace("row")),
        (PrivacyUnit(AddRemove("p"), 1), AddRemove("p")),
        (PrivacyUnit(AddRemove("p"), 1), Event()),
    ],
)
def test_what_is_not_about_its_rows_says_nothing_about_a_unit(unit, neighbours):
    with pytest.raises(NeighboursMismatch, match="says nothing about"):
        unit.per_unit(Guarantee(PureLoss(Fraction(1)), neighbours))


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_a_unit_has_whole_rows(rows):
    with pytest.raises(InvalidParameter, match="rows"):
        PrivacyUnit(AddRemove("p"), rows)
