"""Clinics on a line and elsewhere: the gap by hand, every lie, and why one clinic is refused."""

import itertools

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Bidder
from discreet.games import (
    Committed,
    Environment,
    FacilityLocation,
    PunishingExponential,
    find_misreport,
)
from discreet.optimisation import Metric


def line(last):
    return Metric.points([[place] for place in range(last + 1)], unit=1)


def make(**changes):
    return FacilityLocation(**{"metric": line(4), "k": 2, "epsilon": 0.5, "neighbours": Bidder()} | changes)


@pytest.mark.parametrize(("m", "k"), [(3, 2), (6, 2), (10, 2), (5, 3)])
def test_the_increase_on_a_line(m, k):
    increase = float(make(metric=line(m), k=k).increase)
    if k == 2:
        assert increase == pytest.approx(1 / m**2, rel=1e-3)
    else:
        assert increase > 1.9 / m**2
    printed = (1 / m) / (m + 1) ** k
    assert increase > 1.3 * printed


@pytest.mark.parametrize("epsilon", [0.05, 1])
def test_no_lie_gains_in_any_profile(epsilon):
    game = make(epsilon=epsilon)
    assert game.misreport_gain(types=range(5), players=2).gain == 0
    assert make(metric=line(2), epsilon=epsilon).misreport_gain(types=range(3), players=3).gain == 0


def test_no_lie_gains_in_a_town_that_is_no_line():
    town = Metric([[0, 2, 5, 4], [2, 0, 3, 3], [5, 3, 0, 1], [4, 3, 1, 0]], unit=1, site_names=list("abcd"))
    assert make(metric=town, epsilon=1).misreport_gain(types=range(4), players=2).gain == 0


FAR = ([[2, 1, 2, 1], [3, 3, 1, 3], [3, 3, 3, 0]], [[0, 1, 6, 6], [1, 0, 6, 6], [6, 6, 0, 6], [6, 6, 6, 0]])


@pytest.mark.parametrize("distances", FAR)
@pytest.mark.parametrize("epsilon", [1, 4])
def test_nobody_is_sent_to_a_closed_clinic_and_truth_counts_on_none(distances, epsilon):
    """An open site a whole diameter away is worth nothing, and better than one that is closed."""
    game = make(metric=Metric(distances, unit=1), epsilon=epsilon)
    for sites, home in itertools.product(game.environment.outcomes, range(len(distances))):
        nearest = min(sites, key=lambda site, home=home: (distances[home][site], site))
        assert game.reaction(Committed(sites, held=True), home) == nearest

    def worth(home, outcome, player):
        said = outcome.signals[player] if outcome.decision.held else home
        went = min(outcome.decision.outcome, key=lambda site: (distances[said][site], site))
        return -distances[home][went]

    homes = range(len(distances))
    found = find_misreport(game, profiles=itertools.product(homes, repeat=2), lies=homes, worth=worth)
    assert found.gain == 0


def test_homes_that_only_a_closed_clinic_would_tell_apart_are_refused():
    """Who lives at 0 and says 1 is sent where he would have gone: the lie gained .007 at epsilon 1."""
    for distances in ([[0, 3, 3, 2], [1, 2, 3, 2]], [[0, 1, 1, 3], [0, 3, 2, 3]]):
        with pytest.raises(InvalidParameter, match="every lie costs something"):
            make(metric=Metric(distances, unit=1))


def test_theorem_10_5_fails_for_one_facility():
    """With one open everybody goes there: gamma is 0, and holding reports changes nothing."""
    with pytest.raises(InvalidParameter, match="no lie can be punished"):
        make(k=1)
    places = range(5)
    near = 1 - np.abs(np.subtract.outer(places, places)) / 4
    worth = [
        [[near[home, site] if site == went else None for went in places] for site in places]
        for home in places
    ]
    one = Environment(types=places, outcomes=places, reactions=places, utilities=worth, grid=0.25)
    assert all(set(one.reacts[:, site]) == {site} for site in places)
    assert not one.gaps.any() and one.find_alike() is not None
    # And a lie does gain: held to the report, the liar goes to the same clinic as ever.

    def law(*reports):
        weights = np.exp(1.5 * near[list(reports)].sum(axis=0))
        return weights / weights.sum()

    triples = itertools.product(places, repeat=3)
    assert max((law(lie, other) - law(home, other)) @ near[home] for home, other, lie in triples) > 0.01
    with pytest.raises(InvalidParameter, match="every lie costs"):
        PunishingExponential(environment=one, epsilon=3, neighbours=Bidder())


def test_two_homes_at_one_place_are_refused_with_their_names():
    twins = Metric([[0, 1], [0, 1], [1, 0]], unit=1, place_names=("oak", "elm", "ash"))
    with pytest.raises(InvalidParameter, match="'oak' reacts to everything as well as 'elm'"):
        make(metric=twins)


def test_bad_parameters_are_refused():
    for bad in (
        {"k": 6},
        {"k": 0},
        {"k": 2.5},
        {"metric": Metric([[0, 0], [0, 0]], unit=1)},
        {"metric": "line"},
    ):
        with pytest.raises(InvalidParameter):
            make(**bad)
    with pytest.raises(InvalidParameter, match="sets of sites"):
        make(metric=line(60), k=5)


def test_people_who_live_nowhere_move_no_clinic():
    game = make()
    assert game._read([0, "nowhere", 4, 2.5, 7]).tolist() == [0, -1, 4, -1, -1]
