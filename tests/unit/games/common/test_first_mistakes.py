"""What somebody does wrong at first is refused by name, where Python would have said something else."""

import pytest

from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import Bidder
from discreet.games import (
    AnonymousGame,
    Committed,
    CongestionGame,
    CorrelatedEquilibrium,
    FacilityLocation,
    Market,
    Network,
    PostedPrice,
    PricedVote,
    Routes,
    WalrasianEquilibrium,
    bound_cost,
    draw_welfare,
    search_misreport,
)
from discreet.optimisation import Metric

BUDGET = {"epsilon": 1, "delta": 1e-6, "neighbours": Bidder()}
PRICE = PostedPrice(prices=[1, 2], epsilon=1, neighbours=Bidder())
TRIP = AnonymousGame(types="bm", actions="bm", payoffs=[[[1, 0], [0, 1]], [[1, 0], [0, 1]]])
ROADS = Routes(latencies=[[0, 1]], types="b", costs=[[0]])
BREAD = Market(supply={"bread": 1}, bundles=[{"bread": 1}], types="b", values=[[1]])


def mediate(rounds=2):
    return CorrelatedEquilibrium(game=TRIP, players=2, rounds=rounds, against="rules", **BUDGET)


def search(**changes):
    given = {"reports": [1, 2], "players": [0], "lies": [1], "worth": PRICE.utility, "runs": 2}
    return search_misreport(PRICE, **given | changes)


@pytest.mark.parametrize(
    "ask",
    [
        lambda outcome: mediate().lying(outcome, beta=0.1),
        lambda outcome: mediate().gain(["b", "m"], outcome),
        lambda outcome: CongestionGame(ways=ROADS, players=2, rounds=2, **BUDGET).regret("b", outcome),
        lambda outcome: WalrasianEquilibrium(market=BREAD, players=2, rounds=2, **BUDGET).regret(
            "b", outcome
        ),
    ],
)
def test_what_holds_the_published_is_not_it(ask):
    with pytest.raises(
        InvalidParameter, match=r"that was published, got a (Outcome|Release).*outcome.decision"
    ):
        ask(mediate().run(["b", "m"]))
    with pytest.raises(InvalidParameter, match="that was published"):
        ask(mediate().release(["b", "m"]))


def test_one_game_does_not_read_what_another_published():
    published = mediate().release(["b", "m"]).value
    assert mediate().lying(published, beta=0.1) == 1
    with pytest.raises(InvalidParameter, match="what this game published, got another game's"):
        mediate(rounds=3).lying(published, beta=0.1)


def test_a_number_is_no_list():
    for changes in ({"players": 1}, {"lies": 1}, {"reports": 1}):
        with pytest.raises(InvalidParameter, match=f"{next(iter(changes))} must be a list"):
            search(**changes)
    assert search(players=iter([0, 1]), lies=iter([2])).lie == 2
    for games in ([], PRICE, [1]):
        with pytest.raises(InvalidParameter, match="games must be"):
            draw_welfare(games, [1], runs=1, title="none")


def test_unknown_names_are_told_from_other_faults():
    with pytest.raises(InvalidParameter, match="some road leads from or to"):
        Network(roads=[("a", "b")], latencies=[[1]], trips=[("a", "z")], longest=3)
    with pytest.raises(InvalidParameter, match=r"roads apart.*Raise longest"):
        Network(roads=[("a", "b"), ("b", "c")], latencies=[[1], [1]], trips=[("a", "c")], longest=1)
    with pytest.raises(InvalidParameter, match="of the goods"):
        Market(supply={"bread": 1}, bundles=[{"beer": 1}], types="b", values=[[1]])
    with pytest.raises(InvalidParameter, match="kind must be one of"):
        WalrasianEquilibrium(market=BREAD, players=2, rounds=2, **BUDGET).regret("beer", None)


def test_what_delta_may_cost_has_no_bound():
    assert bound_cost(PRICE.guarantee, value=2) == 2
    with pytest.raises(NoBound, match="delta"):
        bound_cost(mediate().guarantee, value=1)


def test_what_something_is_worth_is_asked_for_a_type_that_there_is():
    street = FacilityLocation(metric=Metric.points([[0], [1]], unit=1), k=2, epsilon=1, neighbours=Bidder())
    asked = [
        lambda: street.misreport_gain(types=[0, "eve"], players=1),
        lambda: street.reaction(Committed((0, 1), held=True), "eve"),
        lambda: mediate().utility("eve", mediate().run(["b", "m"]), 0),
    ]
    for game, reports in (
        (CongestionGame(ways=ROADS, players=1, rounds=2, **BUDGET), ["b"]),
        (WalrasianEquilibrium(market=BREAD, players=1, rounds=2, **BUDGET), ["b"]),
    ):
        asked.append(lambda game=game, reports=reports: game.utility("eve", game.run(reports), 0))
    for ask in asked:
        with pytest.raises(InvalidParameter, match=r"kind must be one of the \d types"):
            ask()


@pytest.mark.parametrize("outcomes", [5, None, [["mill"], ["market"]]])
def test_what_can_be_no_names_is_refused_as_that(outcomes):
    with pytest.raises(InvalidParameter, match="outcomes must be different names"):
        PricedVote(outcomes=outcomes, epsilon=1, grid=0.1, neighbours=Bidder())


def test_a_city_of_too_many_units_is_told_which():
    with pytest.raises(InvalidParameter, match=r"metric must be at most 1000000 units across.*coarser"):
        FacilityLocation(metric=Metric.points([[0], [1], [3e6]], unit=1), k=2, epsilon=1, neighbours=Bidder())
