"""Joint privacy: what all the others are told together, by exact enumeration, on all neighbours."""

import itertools

import numpy as np
import pytest

from discreet import audit
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Bidder, BidderToOthers
from discreet.core.parameters import frozen
from discreet.games import (
    AnonymousGame,
    Billboard,
    CongestionGame,
    CorrelatedEquilibrium,
    Environment,
    LargeGame,
    Market,
    Network,
    OthersView,
    PostedPrice,
    PrivateVote,
    PunishingExponential,
    Routes,
    SplitAuction,
    TakeItOrLeaveIt,
    WalrasianEquilibrium,
)
from discreet.testing import unsafe_seeded

APART = Environment(
    types="wr", outcomes="xy", reactions="lr", utilities=[[[0, 1], [0, 0]], [[0, 0], [0, 1]]], grid=1
)
ROADS = Routes(latencies=[[0, 1], [0.25, 0.5]], types=("l", "r"), costs=[[0, 1], [1, 0]])
HOME = Routes(latencies=[[0, 1]], routes=[[0], []], types=("go", "stay"), costs=[[0, 0.5], [0.5, 0]])
DIAMOND = Network(
    roads=[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")],
    latencies=[[0, 1], [0.5], [0.5], [0, 1]],
    trips=[("a", "d"), ("a", "b")],
    longest=2,
)
CROWD = {"delta": 0.01, "neighbours": Bidder()}
GAMES = [
    (PostedPrice(prices=[1, 2, 3], epsilon=2, neighbours=Bidder()), (0, 1, 3), 2),
    (SplitAuction(prices=[1, 2], epsilon=2, bidders=3, neighbours=Bidder()), (0, 1, 2), 3),
    (PrivateVote(outcomes="ab", epsilon=1, neighbours=Bidder()), ("a", "b", None), 3),
    (PunishingExponential(environment=APART, epsilon=2, neighbours=Bidder()), ("w", "r", None), 3),
    (CongestionGame(ways=ROADS, players=2, rounds=1, epsilon=6, **CROWD), ("l", "r", None), 2),
    (CongestionGame(ways=HOME, players=2, rounds=2, epsilon=6, **CROWD), ("go", "stay"), 2),
]
BEACH = AnonymousGame(types=("sea", "hill"), actions="sh", payoffs=[[[1, 0], [0, 0.5]], [[0.5, 0], [0, 1]]])
for against in ("actions", "rules"):
    mediator = CorrelatedEquilibrium(
        game=BEACH, players=2, rounds=1, against=against, epsilon=6, units=1, **CROWD
    )
    GAMES.append((mediator, ("sea", "hill", None), 2))
HEAVY = LargeGame(
    types=("sea", "hill"), actions="sh", payoffs=BEACH.payoffs, weights=[[2, 1]], watches=[0, 0]
)
HEAVIER = CorrelatedEquilibrium(
    game=HEAVY, players=2, rounds=1, against="actions", epsilon=6, units=1, **CROWD
)
CROWDS = LargeGame(
    types=("sea", "hill"),
    actions="sh",
    payoffs=BEACH.payoffs,
    weights=[[0, 1, 2, 3], [3, 0, 1, 2]],
    watches=[0, 1, 1, 0],
)
BREAD = Market(supply={"bread": 1}, bundles=[{"bread": 1}], types=("hungry", "full"), values=[[1], [0]])
GAMES.append((WalrasianEquilibrium(market=BREAD, players=2, rounds=2, epsilon=6, **CROWD), BREAD.types, 2))
OFFER = TakeItOrLeaveIt(players=2, offers=[12], share=0.5, epsilon=6, neighbours=Bidder())
GAMES.append((OFFER, ((0, 1), (1, 1), (1, 9)), 2))
NAMES = [f"{type(game).__name__}-{players}" for game, _, players in GAMES]


def audit_joint(game, types, players, hidden=0):
    """Audit what all but one are told, on all pairs that differ in that one's report."""
    view = game.seen_by_others(hidden, players=players)
    pairs = [
        (left, right)
        for left, right in BidderToOthers().pairs(types, players)
        if view.observers == view.neighbours.observers(left, right)
    ]
    assert pairs
    return audit.exact(view, pairs)


@pytest.mark.parametrize(("game", "types", "players"), GAMES, ids=NAMES)
def test_all_the_others_together_learn_no_more_than_is_promised(game, types, players):
    report = audit_joint(game, types, players)
    assert report.holds, report
    assert report.resolved > 1 - 1e-9
    assert report.ratio > 0.6, "nothing was tried"


def test_who_weighs_more_than_others_is_hidden_as_well():
    report = audit_joint(HEAVIER, ("sea", "hill"), 2)
    assert report.holds, report
    assert report.resolved > 1 - 1e-7  # one report moves so much that the window of the noise is left
    assert report.tight


@pytest.mark.soak
@pytest.mark.parametrize("against", ["actions", "rules"])
def test_what_is_learned_from_one_round_to_the_next_tells_the_others_no_more(against):
    mediator = CorrelatedEquilibrium(
        game=BEACH, players=2, rounds=2, against=against, epsilon=40, units=1, **CROWD
    )
    pairs = [(("sea", "hill"), ("hill", "hill")), (("hill", "hill"), ("sea", "hill"))]
    report = audit.exact(mediator.seen_by_others(0, players=2), pairs)
    assert report.holds, report
    assert report.resolved > 1 - 1e-4  # what lies beyond the window of noise that is as narrow as it gets
    assert report.ratio > 0.9


@frozen
class TellsTheTruth(CongestionGame):
    """Tells everybody the way that is best against what the others truly reported: joint privacy is lost."""

    def _settle(self, read, decision, rng):
        counts = np.bincount(read[read >= 0], minlength=len(self.ways.types))
        users = self.ways.count_users(self.ways.respond(self.ways.latencies.costs(np.zeros(2))), counts)
        best = self.ways.respond(self.ways.latencies.costs(users / self.players))
        return (0,) * read.size, [self.ways.name(best, kind) for kind in read.tolist()]


def test_a_game_that_looks_at_the_reports_again_is_caught():
    roads = Routes(latencies=[[0, 1], [0, 1]], types=("l", "r"), costs=[[0, 0.25], [0.25, 0]])
    honest = CongestionGame(ways=roads, players=2, rounds=1, epsilon=4, **CROWD)
    broken = TellsTheTruth(ways=roads, players=2, rounds=1, epsilon=4, **CROWD)
    assert audit_joint(honest, ("l", "r"), 2).holds
    assert not audit_joint(broken, ("l", "r"), 2).holds
    # What is published is as private as before: only what is told is not.
    assert audit.exact(broken, list(Bidder().pairs(("l", "r"), 2))).holds


@pytest.mark.parametrize(
    ("game", "reports", "others"),
    [
        (GAMES[0][0], [0, 1, 2, 3], [3, 3, 0, 0]),
        (
            SplitAuction(prices=[1, 2, 3], epsilon=2, bidders=4, neighbours=Bidder()),
            [0, 1, 2, 3],
            [3, 0, 0, 0],
        ),
        (GAMES[2][0], list("aabb"), list("bbba")),
        (GAMES[3][0], list("wwrr"), list("rrrw")),
        (CongestionGame(ways=ROADS, players=4, rounds=9, epsilon=1, **CROWD), list("llrr"), list("rrrl")),
        (
            TakeItOrLeaveIt(players=4, offers=[1, 4], share=0.5, epsilon=1, neighbours=Bidder()),
            [(0, 1), (1, 1), (1, 9), None],
            [(1, 9), (0, 9), (1, 1), (0, 0)],
        ),
        (
            WalrasianEquilibrium(market=BREAD, players=4, rounds=9, epsilon=1, **CROWD),
            ["hungry", "hungry", "full", "full"],
            ["full", "full", "full", "hungry"],
        ),
        (
            CorrelatedEquilibrium(game=BEACH, players=4, rounds=9, against="rules", epsilon=1, **CROWD),
            ["sea", "sea", "hill", "hill"],
            ["hill", "hill", "hill", "sea"],
        ),
        (
            CorrelatedEquilibrium(game=CROWDS, players=4, rounds=9, against="rules", epsilon=1, **CROWD),
            ["sea", "sea", "hill", "hill"],
            ["hill", "hill", "hill", "sea"],
        ),
        (
            CongestionGame(ways=DIAMOND, players=4, rounds=9, epsilon=1, **CROWD),
            [("a", "d")] * 4,
            [("a", "b")] * 4,
        ),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Billboard) else "",
)
def test_what_a_player_is_told_follows_from_what_is_published_and_the_own_report(game, reports, others):
    """What the billboard lemma assumes, on the shipped code: nobody looks at the others' reports again."""
    for seed, player in itertools.product(range(10), range(4)):
        mixed = [reports[place] if place == player else others[place] for place in range(4)]
        decision = game._decide(game._read(reports), unsafe_seeded(seed))
        told = [game._settle(game._read(given), decision, unsafe_seeded(99)) for given in (reports, mixed)]
        for paid_or_told in zip(*told, strict=True):
            assert paid_or_told[0][player] == paid_or_told[1][player]


def test_views_say_whose_they_are():
    game = GAMES[0][0]
    view = game.seen_by_others(1, players=4)
    assert view.observers == (0, 2, 3)
    assert view.guarantee == game.joint_guarantee
    assert "towards all the others together" in str(view.guarantee)
    assert view.error(0.1) == game.error(0.1)
    seen = view.release([1, 2, 3, 1]).value
    assert len(seen.payments) == len(seen.signals) == 3
    assert str(seen.payments) not in repr(seen)
    for wrong in ({"player": 4, "players": 4}, {"player": -1, "players": 2}):
        with pytest.raises(InvalidParameter):
            game.seen_by_others(**wrong)
    with pytest.raises(InvalidParameter):
        OthersView(game=ROADS, observers=[0])
    with pytest.raises(InvalidParameter):
        OthersView(game=game, observers=[-1])
