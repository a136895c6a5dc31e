"""Reports of every wrong kind: none decides whether there is an outcome, gains anything or costs privacy."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet import audit
from discreet.catalogue import catalogue
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Bidder
from discreet.games import (
    Environment,
    ExponentialVCG,
    FairQuery,
    MinCost,
    OneBit,
    PostedPrice,
    PrivateVote,
    PunishingExponential,
    SplitAuction,
)
from discreet.games.common.game import Game
from discreet.games.common.misreports import find_misreport, list_profiles
from discreet.games.common.reports import find_reports
from discreet.testing import unsafe_seeded

HASHABLE = (None, math.nan, math.inf, -math.inf, -1, 10**400, "eve", b"eve", (), object())
ODD = (*HASHABLE, Decimal("sNaN"), 1j, [], {}, {1}, [math.nan] * 2, lambda: None, np.zeros((2, 2)), type)
GAMES = [
    card
    for card in catalogue()
    if card.family == "games" and isinstance(card.example()[0], Game) and isinstance(card.example()[1], list)
]


class Liar(list):
    """A list that shows other members than it stores, and says so aloud."""

    def __iter__(self):
        raise RuntimeError("eve is here")

    __len__ = __getitem__ = __iter__


@pytest.mark.parametrize("card", GAMES, ids=str)
def test_one_odd_report_never_decides_whether_there_is_an_outcome(card):
    game, reports = card.example()
    for odd in ODD:
        for place in (0, len(reports) - 1):
            mixed = [*reports[:place], odd, *reports[place + 1 :]]
            outcome = game.run(mixed, rng=unsafe_seeded(1))
            assert len(outcome.payments) == len(outcome.signals) == len(reports)
    stored = game.release(reports, rng=unsafe_seeded(2)).value
    assert game.release(Liar(reports), rng=unsafe_seeded(2)).value == stored


def test_the_games_are_met():
    assert len(GAMES) >= 10


RIVER = Environment(
    types=("w", "r"),
    outcomes="bf",
    reactions="xyz",
    utilities=[[[1, 0, 0.25], [0, 0.5, 0.25]], [[0.5, 0, 0.75], [0, 1, 0.75]]],
    grid=0.25,
)
ROWS = [(0, 1), (1, 0), (1, 1)]
TRIED = [
    (PostedPrice(prices=[0.25, 0.5, 1], epsilon=2, neighbours=Bidder()), (0, 0.5, 1, 5)),
    (SplitAuction(prices=[1, 2], epsilon=2, bidders=2, neighbours=Bidder()), (0, 1, 2, 9)),
    (ExponentialVCG(outcomes="ab", epsilon=2, payments="expected", grid=0.5, neighbours=Bidder()), ROWS),
    (PunishingExponential(environment=RIVER, epsilon=2, neighbours=Bidder()), ("w", "r")),
    (PrivateVote(outcomes="ab", epsilon=2, neighbours=Bidder()), ("a", "b")),
    (FairQuery(players=2, budget=2, epsilon=8, neighbours=OneBit()), [(1, 0), (0, Fraction(1, 9))]),
    (MinCost(players=2, highest=6, epsilon=8, neighbours=OneBit()), [(1, 0), (1, 1), (0, 9)]),
]


@pytest.mark.parametrize(("game", "types"), TRIED, ids=lambda each: type(each).__name__)
def test_no_odd_report_gains_what_a_lie_cannot(game, types):
    found = find_misreport(
        game, profiles=list_profiles(types, 2), lies=[*types, *HASHABLE], worth=game.utility
    )
    assert found.gain <= game.truthfulness + 1e-12


@pytest.mark.parametrize(
    ("game", "types"),
    [pair for pair in TRIED if isinstance(pair[0].neighbours, Bidder)],
    ids=lambda e: type(e).__name__,
)
def test_odd_reports_are_as_private_as_any(game, types):
    pairs = [((odd, types[0]), (kind, types[0])) for odd in (None, math.inf, "eve") for kind in types]
    report = audit.exact(game, pairs + [(right, left) for left, right in pairs])
    assert report.holds


@pytest.mark.parametrize("odd", [None, "eve", 7])
def test_names_are_read_alike_wherever_they_are_kept(odd):
    names = ["a", "b", odd, "a"]
    texts = ["a", "b", None if odd is None else str(odd), "a"]
    kept = (
        names,
        np.array(names, dtype=object),
        pd.Series(names, dtype=object),
        pd.Series(texts, dtype="category"),
    )
    for reports in (*kept, pd.Series(texts, dtype="string"), pl.Series(texts), pd.Index(texts)):
        assert find_reports(reports, ("a", "b"), "names").tolist() == [0, 1, -1, 0]


def test_a_report_that_is_missing_is_not_the_first_of_whole_numbers():
    """A column of whole numbers has a 0 in its place, which is somebody else's home."""
    missing = (
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2]),
        pl.Series([1, None, 2]),
        np.ma.masked_array([1, 0, 2], [0, 1, 0]),
        [1, None, 2],
    )
    for reports in missing:
        assert find_reports(reports, range(3), "names").tolist() == [1, -1, 2]
    for bad in (
        pd.DataFrame([[1, 2]]),
        np.ma.masked_array([[1]], [[0]]),
        pd.Series(pd.to_datetime(["2020-01-01"])),
    ):
        with pytest.raises(InvalidParameter, match="names, got a"):
            find_reports(bad, range(3), "names")
