"""The best set of items among all, and what agents gain by lying."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove
from discreet.optimisation.public_projects.agents import read_agents
from discreet.optimisation.public_projects.public_projects_exhaustive import PublicProjectsExhaustive
from discreet.testing import unsafe_seeded

AGENT = AddRemove("agent")


def make(**changes):
    return PublicProjectsExhaustive(**{"resources": 6, "k": 2, "epsilon": 1, "neighbours": AGENT} | changes)


def test_values_of_sets_are_counted_as_by_hand(monkeypatch):
    table = np.random.default_rng(1).random((40, 6)) < 0.2  # noqa: TID251 - test data
    sets = np.array(list(itertools.combinations(range(6), 2)))
    by_hand = [int(table[:, chosen].any(axis=1).sum()) for chosen in sets.tolist()]
    monkeypatch.setattr("discreet.optimisation.public_projects.agents._CELLS", 100)  # a few sets at a time
    assert read_agents(table, 6, Fraction(1)).values(sets).tolist() == by_hand
    told = read_agents([lambda items: len(items) / 4, {1}, lambda items: math.nan], 6, Fraction(1, 4))
    assert told.values(np.array([[0, 1], [2, 3]])).tolist() == [2 + 4, 2]
    kept = read_agents(table, 6, Fraction(1)).keep(np.zeros(int(table.any(axis=1).sum()), dtype=bool))
    assert kept.values(sets).tolist() == [0] * 15


def test_the_best_set_is_chosen_and_the_error_is_kept():
    wishes = [{0}] * 60 + [{1}] * 55 + [{2}] * 5
    assert make(epsilon=20).release(wishes).value == (0, 1)
    made = make(epsilon=1)
    missed = 115 - np.array(
        [
            sum(min(1, len(w & set(made.release(wishes, rng=unsafe_seeded(s)).value))) for w in wishes)
            for s in range(60)
        ]
    )
    assert np.mean(missed > made.error(0.2)) <= 0.3
    assert made.ratio == 1 and made.loss.epsilon(0) == pytest.approx(1)


def test_lying_gains_no_more_than_is_told():
    """All reports of one agent on a grid, whatever the other says: the largest gain, and what is told."""
    made = make(resources=3, k=1, epsilon=2, grid=Fraction(1, 2))
    rate = float(made._choice.rate)

    def law(*reports):
        weights = [math.exp(rate * sum(units)) for units in zip(*reports, strict=True)]
        return [weight / sum(weights) for weight in weights]

    reports = list(itertools.product(range(3), repeat=3))  # in units of a half
    gain = max(
        sum(
            value * (p - q) / 2 for value, p, q in zip(truth, law(lie, other), law(truth, other), strict=True)
        )
        for truth, lie, other in itertools.product(reports, repeat=3)
    )
    assert 0.05 < gain <= made.truthfulness < 0.77


def test_too_many_sets_are_refused():
    with pytest.raises(InvalidParameter, match=r"500,000 sets.*Use PublicProjects"):
        make(resources=100, k=10)
