"""The private equilibrium of a zero-sum game: its law by hand, its gap, what it costs, odd reports."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import zcdp_rho
from discreet.audit.exact_report import output_distribution
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Bidder
from discreet.equilibrium import solve
from discreet.games import PlayedGame, ZeroSumEquilibrium, find_misreport
from discreet.games.common.misreports import list_profiles
from discreet.testing import unsafe_seeded

SMALL = {"rows": 2, "columns": 2, "grid": 1, "neighbours": Bidder()}
PENNIES = ((1, 0), (0, 1))


def make(**changes):
    given = SMALL | {"players": 2, "rounds": 3, "epsilon": 2, "delta": 0} | changes
    return ZeroSumEquilibrium(**given)


def law_by_hand(game, total):
    """Return the law of the moves by the definition, in floats."""
    law = {((), ()): 1.0}
    for _ in range(game.rounds):
        longer = {}
        for (rows, columns), chance in law.items():
            paid = [math.exp(-float(game.row_rate) * sum(total[i][j] for j in columns)) for i in range(2)]
            got = [math.exp(float(game.column_rate) * sum(total[i][j] for i in rows)) for j in range(2)]
            for i in range(2):
                for j in range(2):
                    key = ((*rows, i), (*columns, j))
                    longer[key] = chance * paid[i] / sum(paid) * got[j] / sum(got)
        law = longer
    return law


def test_the_law_is_that_of_two_players_who_learn_from_moves():
    game, reports = make(), (PENNIES, ((1, 1), (0, 0)))
    found = output_distribution(lambda data, rng: game.release(data, rng=rng).value, reports)
    by_hand = law_by_hand(game, [[2, 1], [0, 1]])
    assert {(play.rows, play.columns): float(p) for play, p in found.items()} == pytest.approx(by_hand)


def test_the_price_is_the_sum_of_the_ranges_of_all_draws():
    pure = make(rounds=5)
    ranges = [2 * rate * moves for rate in (pure.row_rate, pure.column_rate) for moves in range(5)]
    assert pure.loss.exact_epsilon() == sum(ranges) <= 2
    assert sum(ranges) > 2 * (1 - 1e-6)
    mixed = make(rounds=50, epsilon=1, delta=1e-6, players=30)
    ranges = [2 * rate * moves for rate in (mixed.row_rate, mixed.column_rate) for moves in range(50)]
    assert mixed.loss.exact_rho() == sum(r * r for r in ranges) / 8 <= zcdp_rho(epsilon=1, delta=1e-6)
    assert mixed.guarantee.implies(epsilon=1, delta=1e-6)
    assert mixed.loss.exact_rho() > zcdp_rho(epsilon=1, delta=1e-6) * (1 - Fraction(1, 10**6))


def test_rates_stop_where_more_would_only_hurt():
    rich = make(rounds=8, epsilon=10**6, players=7)
    assert float(rich.row_rate * 7) == pytest.approx(math.sqrt(8 * math.log(2) / 8), rel=1e-6)


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_the_gap_keeps_to_its_bound_and_finds_the_equilibrium(delta):
    people = 20_000
    game = ZeroSumEquilibrium(
        rows=3, columns=3, players=people, rounds=600, epsilon=200, delta=delta, grid=0.5, neighbours=Bidder()
    )
    stone = np.array([[0.5, 1, 0], [0, 0.5, 1], [1, 0, 0.5]])
    reports = np.broadcast_to(stone, (people, 3, 3))
    played = game.release(reports, rng=unsafe_seeded(3)).value
    assert game.gap(played, reports) <= game.error(1e-6) < 0.5
    exact = solve(stone, rounds=2000)
    assert abs(float(played.row @ stone @ played.column) - exact.value) < game.error(1e-6)
    assert played.row == pytest.approx([1 / 3] * 3, abs=0.2)


def test_gaps_on_games_drawn_by_lot():
    generator, missed = np.random.default_rng(7), []  # noqa: TID251
    game = ZeroSumEquilibrium(
        rows=4, columns=6, players=3000, rounds=150, epsilon=4, delta=1e-6, grid=0.1, neighbours=Bidder()
    )
    for seed in range(20):
        table = generator.random((4, 6)).round(1)
        reports = np.repeat(table[None], 3000, axis=0)
        missed.append(game.gap(game.release(reports, rng=unsafe_seeded(seed)).value, reports))
    assert max(missed) <= game.error(1e-6)
    assert sum(missed) / 20 < game.error(0.5) < 1


def test_no_lie_gains_more_than_the_distance_of_two_laws_in_any_profile():
    """Whatever the outcome is worth: here that the row that is liked is played last, or is not."""
    game, kinds = make(rounds=2, epsilon=3), (PENNIES, ((0, 1), (1, 0)), ((1, 1), (0, 0)), ((0, 0), (1, 1)))
    for liked in (0, 1):
        found = find_misreport(
            game,
            profiles=list_profiles(kinds, 2),
            lies=kinds,
            worth=lambda kind, played, player, liked=liked: int(played.rows[-1] == liked),
        )
        assert 0.1 * game.guarantee.truthfulness < found.gain <= game.guarantee.truthfulness


def test_more_people_have_a_smaller_error():
    errors = [
        ZeroSumEquilibrium.for_budget(
            rows=20, columns=20, players=players, epsilon=1, delta=1e-6, grid=0.1, neighbours=Bidder()
        ).error(0.05)
        for players in (10**4, 10**6, 10**8)
    ]
    assert errors[1] < errors[0] / 6
    assert errors[2] < errors[1] / 3


def test_odd_reports_are_zeros_and_decide_nothing():
    game = make(rounds=1)
    for odd in (
        None,
        "eve",
        [[1, 0]],
        [[1, 0], [1]],
        [1, 0, 0, 1],
        float("nan"),
        np.zeros(3),
        [["x"] * 2] * 2,
    ):
        assert game._read([odd, PENNIES]).tolist() == [[1, 0], [0, 1]]
    assert game._read([np.array(PENNIES), [[9, -5], [math.nan, 1]]]).tolist() == [[2, 0], [0, 2]]
    assert game._read(np.array([PENNIES, PENNIES])).tolist() == [[2, 0], [0, 2]]


def test_one_odd_report_decides_nothing_about_an_array_of_objects():
    ragged = np.empty(2, dtype=object)
    ragged[:] = [None, PENNIES]
    table = np.array([PENNIES, ((None, 0), (0, 1))], dtype=object)
    assert make()._read(ragged).tolist() == [[1, 0], [0, 1]]
    assert make()._read(table).tolist() == [[1, 0], [0, 2]]
    make().release(ragged)


def test_what_is_wrong_with_all_reports_is_refused():
    for wrong in (5, "ab", [PENNIES], [PENNIES] * 3, np.zeros((2, 2)), np.zeros((2, 3, 2))):
        with pytest.raises(InvalidParameter):
            make().release(wrong)
    for changes in ({"rows": 1}, {"rounds": 0}, {"rounds": 1 << 40}, {"players": 1 << 61}, {"delta": 1}):
        with pytest.raises(InvalidParameter):
            make(**changes)


def test_a_played_game_shows_its_strategies():
    played = PlayedGame((0, 0, 1), (2, 2, 2), (2, 3))
    assert played.row.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert played.column.tolist() == [0, 0, 1]
    assert "row 0 and column 2" in repr(played)
