"""Shuffled reports: bounds against exact laws of all shuffled outputs, in Fractions, for all neighbours."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet import local
from discreet.accounting import ShuffledLoss, local_epsilon, shuffle, shuffle_bound
from discreet.accounting.shuffling.clones import Clones
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.neighbours import AddRemove, LocalReport, Replace
from discreet.core.rounding import above, below, down, up

RATIOS = (Fraction(1), Fraction(21, 20), Fraction(5, 4), Fraction(3, 2), Fraction(2))


def direct(odds, k):
    """Return the table of direct response: a row for each value."""
    return [[(odds if x == y else 1) / (odds + k - 1) for y in range(k)] for x in range(k)]


def law_of_shuffled(rows):
    """Return the exact law of how many reports of each kind there are."""
    law = {(0,) * len(rows[0]): Fraction(1)}
    for row in rows:
        after = Counter()
        for counts, mass in law.items():
            for report, chance in enumerate(row):
                if chance:
                    after[(*counts[:report], counts[report] + 1, *counts[report + 1 :])] += mass * chance
        law = after
    return law


def worst_deltas(table, people):
    """Return the largest true delta at each ratio e^epsilon, over all neighbours."""
    worst, values = [Fraction(0)] * len(RATIOS), range(len(table))
    for others in itertools.combinations_with_replacement(values, people - 1):
        laws = [law_of_shuffled([table[x] for x in (*others, x0)]) for x0 in values]
        for p, q in itertools.permutations(laws, 2):
            for place, ratio in enumerate(RATIOS):
                delta = sum(max(0, mass - ratio * q.get(out, 0)) for out, mass in p.items())
                worst[place] = max(worst[place], delta)
    return worst


def logs(odds, ratio):
    return above(math.log(odds)), max(0.0, below(math.log(ratio)))


@pytest.mark.parametrize(("k", "people"), [(2, 1), (2, 3), (2, 8), (3, 3), (3, 5), (4, 4), (5, 3)])
@pytest.mark.parametrize("odds", [Fraction(3, 2), Fraction(3), Fraction(8)])
def test_no_exact_law_of_direct_response_is_beyond_the_bounds(k, people, odds):
    near = []
    for ratio, true in zip(RATIOS, worst_deltas(direct(odds, k), people), strict=True):
        e0, e = logs(odds, ratio)
        tight, anyone = Clones(e0, people, k).delta(e), Clones(e0, people).delta(e)
        assert true <= Fraction(tight) <= Fraction(anyone) * (1 + Fraction(1, 10**9)), (ratio, true)
        near.append(float(true) / tight if true else 1.0)
    assert near[0] > 0.85  # at epsilon 0; with all others alike nothing but their own truths is lost


def random_table(seed, values, reports, odds):
    """Return a table of a randomizer whose odds are at most `odds`: rows between 1 and odds, evened out."""
    rng = np.random.default_rng(seed)  # noqa: TID251  tables, not noise
    base = [Fraction(int(rng.integers(1, 10))) for _ in range(reports)]
    while True:
        rows = [[b * (Fraction(1), odds, odds)[int(rng.integers(3))] for b in base] for _ in range(values)]
        table = [[cell / sum(row) for cell in row] for row in rows]
        columns = list(zip(*table, strict=True))
        if all(max(column) <= odds * min(column) for column in columns):
            return table


@pytest.mark.parametrize("seed", range(12))
def test_no_randomizer_is_beyond_the_bound_for_any(seed):
    odds = (Fraction(2), Fraction(4), Fraction(10))[seed % 3]
    table = random_table(seed, 3, 3 + seed % 2, odds)
    for people in (2, 4):
        for ratio, true in zip(RATIOS, worst_deltas(table, people), strict=True):
            e0, e = logs(odds, ratio)
            assert true <= Fraction(Clones(e0, people).delta(e))


@pytest.mark.parametrize("kind", [local.OptimisedUnary, local.SubsetSelection, local.ProjectiveResponse])
def test_the_shipped_randomizers_are_within_the_bound(kind):
    oracle = kind(epsilon=1, domain=3)
    found = [dict(oracle.kernel.law(x)) for x in range(3)]
    reports = sorted({report for law in found for report in law})
    table = [[law.get(report, Fraction(0)) for report in reports] for law in found]
    loss = shuffle(oracle.guarantee, people=3).loss
    for ratio, true in zip(RATIOS, worst_deltas(table, 3), strict=True):
        assert true <= Fraction(loss.delta(max(0.0, below(math.log(ratio)))))


def reduced(odds, people, k, share, ratio):
    """Return the divergence of the clones' two laws by its definition."""
    near, far = odds / (odds + k - 1), 1 / (odds + k - 1)
    rest = 1 - near - far
    first = [(near, far, (1, 0, 0)), (far, near, (0, 1, 0)), (rest, rest, (0, 0, 1))]
    clones = [[share / k, share / k, share * (k - 2) / k, 1 - share]] * (people - 1)
    laws = (Counter(), Counter())
    for counts, mass in law_of_shuffled(clones).items() if clones else [((0, 0, 0, 0), Fraction(1))]:
        for p, q, own in first:
            at = tuple(a + b for a, b in zip(counts[:3], own, strict=True))
            laws[0][at] += mass * p
            laws[1][at] += mass * q
    return sum(max(Fraction(0), mass - ratio * laws[1][at]) for at, mass in laws[0].items())


@pytest.mark.parametrize(("people", "k"), [(1, 0), (7, 0), (30, 0), (1, 3), (9, 2), (9, 3), (12, 6)])
def test_the_numbers_are_those_of_the_definition(people, k):
    odds = Fraction(3)
    share = Fraction(k) / (odds + k - 1) if k else 1 / odds
    for ratio in RATIOS:
        e0, e = logs(odds, ratio)
        exact, found = reduced(odds, people, k or 2, share, ratio), Clones(e0, people, k).delta(e)
        assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 10**8)) + Fraction(1, 10**10)


@pytest.mark.parametrize("values", [0, 2, 3])
def test_blocks_lose_little_and_never_promise_more(values, monkeypatch):
    people, e0 = 600, 1.0
    for epsilon in (0.05, 0.15):
        coarse = Clones(e0, people, values).delta(epsilon)
        with monkeypatch.context() as patch:
            patch.setattr("discreet.accounting.shuffling.clones._CLONES", 10**6)
            patch.setattr("discreet.accounting.shuffling.clones._CLONES_OF_MANY", 100)
            patch.setattr("discreet.accounting.shuffling.clones._NAMED", 10**6)
            fine = Clones(e0, people, values).delta(epsilon)
        assert fine <= coarse * (1 + 1e-12) and coarse <= 1.25 * fine


def test_every_block_is_above_each_of_its_numbers():
    crowd, epsilon, reports = Clones(1.5, 200, 4), 0.2, 100
    for named in range(40, 60):
        whole = crowd._tail(reports, 60, 20, epsilon)
        assert crowd._tail(reports, named, 0, epsilon) <= whole
    for clones in range(20, 80):
        assert crowd._tell(clones + 1, epsilon) <= crowd._tell(clones, epsilon) * (1 + 1e-9)


def test_epsilon_and_delta_turn_each_other_round():
    loss = ShuffledLoss(Fraction(2), 5000)
    for delta in (1e-4, 1e-8):
        epsilon = loss.epsilon(delta)
        assert loss.delta(epsilon) <= delta < loss.delta(epsilon * 0.999)
    assert loss.epsilon(0) == 2 == loss.exact_epsilon()
    assert loss.delta(2) == 0
    assert ShuffledLoss(Fraction(40), 5000).epsilon(1e-6) <= 40
    assert ShuffledLoss(Fraction(1), 1).delta(0.3) == pytest.approx(
        PureLoss(Fraction(1)).delta(0.3), rel=1e-9
    )


@pytest.mark.parametrize("e0", [0.3, 1, 3])
@pytest.mark.parametrize("people", [50, 2000, 10**5, 10**9])
def test_the_closed_form_is_above_the_numbers_and_below_the_printed_one(e0, people):
    delta = 1e-6
    found = shuffle_bound(local_epsilon=e0, people=people, delta=delta)
    assert ShuffledLoss(Fraction(str(e0)), min(people, 10**5)).delta(found) <= delta or people > 10**5
    odds, log = math.exp(e0), math.log(4 / delta)
    if e0 <= math.log(people / (16 * log)):  # Theorem 3.1 of [FMT21]
        printed = math.log1p(
            (odds - 1) / (odds + 1) * (8 * math.sqrt(odds * log / people) + 8 * odds / people)
        )
        assert found <= printed
    assert found <= up(Fraction(str(e0)))


def test_what_a_report_may_cost_is_looked_at():
    found = local_epsilon(people=20_000, epsilon=0.2, delta=1e-6)
    assert (
        ShuffledLoss(found, 20_000).delta(0.2)
        <= 1e-6
        < ShuffledLoss(found * Fraction(1001, 1000), 20_000).delta(0.2)
    )
    assert local_epsilon(people=1, epsilon=0.2, delta=1e-6) >= Fraction(1, 5)
    assert local_epsilon(people=20_000, epsilon=0.2, delta=1e-6, values=2) > found
    assert local_epsilon(people=5, epsilon=50, delta=1e-6) == 50


def test_only_pure_local_reports_are_shuffled():
    one = Guarantee(PureLoss(Fraction(1)), LocalReport())
    together = shuffle(one, people=1000)
    assert together.neighbours == Replace("person")
    assert "1000" in str(together.loss)
    with pytest.raises(NeighboursMismatch, match="local report"):
        shuffle(Guarantee(PureLoss(Fraction(1)), AddRemove("person")), people=1000)
    with pytest.raises(InvalidParameter, match="for each report"):
        shuffle(Guarantee(ApproxLoss(Fraction(1), Fraction(1, 100)), LocalReport()), people=1000)
    with pytest.raises(InvalidParameter, match="people"):
        shuffle(one, people=0)
    with pytest.raises(InvalidParameter, match="values"):
        shuffle(one, people=10, values=1)
    with pytest.raises(InvalidParameter, match="delta"):
        shuffle_bound(local_epsilon=1, people=10, delta=0)


def test_more_people_and_a_view_of_a_report_by_itself():
    few, many = (ShuffledLoss(Fraction(1), n) for n in (100, 10_000))
    assert many.delta(0.1) < few.delta(0.1) < PureLoss(Fraction(1)).delta(0.1)
    assert many.zcdp() == PureLoss(Fraction(1)).zcdp()
    assert down(Fraction(1)) >= many.epsilon(1e-12) > 0
