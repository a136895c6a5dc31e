"""Frank-Wolfe steps: what a row can move, which columns are found among many, rows that count nowhere."""

import numpy as np
import pytest

import discreet as dp
from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.learning import FrankWolfe, Link
from discreet.learning.linear_models.links import PARTS
from discreet.learning.linear_models.rows import WEIGHT
from discreet.testing import unsafe_seeded

HIGHEST = {link: 7 if link is Link.POISSON else 1 for link in Link}


def walker(link=Link.LOGISTIC, **changed):
    given = {"link": link, "size": 3, "reach": 2, "steps": 4, "epsilon": 1, "delta": 1e-9}
    given |= {"most": HIGHEST.get(link, 1), "neighbours": dp.AddRemove("row")}
    return FrankWolfe(**{**given, **changed})


def people(link, count=60, size=3):
    generator = np.random.default_rng(0)  # noqa: TID251
    rows = generator.integers(-1024, 1025, (count, size))
    rows[:, 0] = 1024
    if link.labels:
        return rows, generator.integers(0, 2, count) * PARTS
    low = -PARTS if link is Link.LINEAR else 0
    return rows, generator.integers(low, HIGHEST[link] * PARTS + 1, count)


HARDEST = [(1024, 1024, 1024), (1024, -1024, 1024), (-1024, -1024, -1024), (5000, 0, 0), (-(2**62), 2**62, 1)]


@pytest.mark.parametrize("link", Link)
@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")])
def test_no_row_moves_a_choice_further_than_it_allows_for(link, neighbours):
    rows, targets = people(link)
    mechanism = walker(link, neighbours=neighbours)
    fewer = slice(None, -1) if neighbours == dp.Replace("row") else slice(None)
    for odd in HARDEST:
        for target in (0, PARTS, -PARTS, 7 * PARTS, 2**62, 3):
            other = np.vstack([rows[fewer], odd]), np.append(targets[fewer], target)
            report = audit.replay(mechanism, ((rows, targets), other), rng=unsafe_seeded(1))
            assert report.holds, (odd, target, report)
            assert len(report.distances) == 5


def test_the_hardest_row_reaches_the_bound():
    row = np.full((1, 3), 1024)
    pull = (row, np.array([PARTS])), (row[:0], np.zeros(0, dtype=int))
    one = walker(Link.LINEAR, steps=1, judged=False)
    assert audit.replay(one, pull, rng=unsafe_seeded(1)).distances == (one.choice.sensitivity,)
    turned = (row, np.array([PARTS])), (-row, np.array([PARTS]))
    two = walker(Link.LINEAR, steps=1, judged=False, neighbours=dp.Replace("row"))
    assert audit.replay(two, turned, rng=unsafe_seeded(1)).distances == (two.choice.sensitivity,)
    assert two.choice.sensitivity == 2 * one.choice.sensitivity


def test_few_columns_are_found_among_many():
    generator = np.random.default_rng(1)  # noqa: TID251
    rows = generator.integers(-1024, 1025, (8000, 1500))
    score = rows[:, 7] / 512 - rows[:, 900] / 512
    targets = (score + generator.logistic(size=8000) > 0) * PARTS
    mechanism = walker(size=1500, reach=4, steps=10, delta=1e-6)
    model = mechanism.release((rows, targets), rng=unsafe_seeded(1)).value
    weights = np.array(model.weights)
    assert weights[7] > 0.5
    assert weights[900] < -0.5
    assert (weights != 0).sum() <= 10
    assert np.abs(weights).sum() <= 4
    right = ((rows @ weights > 0) == (targets > 0)).mean()
    assert right > ((score > 0) == (targets > 0)).mean() - 0.03
    assert abs(model.judged - (1 - right)) < 4 * model.judged_deviation + 1e-9
    assert np.isnan(model.standard_errors()).all()


def test_weights_are_an_average_of_chosen_corners():
    """In whole parts, so that scores are exact; one more part of it is where the walk began."""
    walk = walker(reach=3, steps=5)
    weights = walk._weigh(np.array([2, -1, 0]), 4)
    assert (weights * WEIGHT).tolist() == [int(2 * 3 * WEIGHT / 5), -int(3 * WEIGHT / 5), 0]


def test_rows_that_do_not_count_and_their_order_change_nothing():
    rows, targets = people(Link.LOGISTIC, 40_000)
    mechanism = walker()
    plain = mechanism.release((rows, targets), rng=unsafe_seeded(1)).value
    odd = np.array([[1024, 5000, 0], [1024, 0, 0], [1024, 0, 0]]), np.array([0, 1, -PARTS])
    both = np.vstack([rows, odd[0]])[::-1].copy(), np.append(targets, odd[1])[::-1].copy()
    assert mechanism.release(both, rng=unsafe_seeded(1)).value == plain


def test_the_whole_budget_is_kept():
    for neighbours in (dp.AddRemove("row"), dp.Replace("row")):
        mechanism = walker(neighbours=neighbours, size=100_000, steps=20)
        assert mechanism.guarantee.implies(epsilon=1, delta=1e-9)
        assert not mechanism.guarantee.implies(epsilon=0.9, delta=1e-9)
    once, twice = (walker(neighbours=each).choice for each in (dp.AddRemove("row"), dp.Replace("row")))
    assert once.rate * once.sensitivity == pytest.approx(twice.rate * twice.sensitivity, rel=1e-6)


@pytest.mark.parametrize(
    "changed",
    [
        {"delta": 0},
        {"size": 0},
        {"size": 1 << 19},
        {"reach": 0},
        {"reach": 65},
        {"steps": 0},
        {"most": 2},
        {"cut": 1},
        {"resolution": 1 << 13},
        {"judged": 1},
        {"link": "logistic"},
    ],
)
def test_bad_parameters_are_refused(changed):
    with pytest.raises(InvalidParameter):
        walker(**changed)


def test_nothing_is_promised_and_other_data_are_refused():
    with pytest.raises(NoBound):
        walker().error(0.05)
    with pytest.raises(InvalidParameter, match="whole-number arrays"):
        walker().release((np.zeros((3, 3)), np.zeros(3, dtype=int)))
