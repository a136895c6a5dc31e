"""Commitments: gaps, the best way to draw, how often to hold, and lies, all by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import Bidder
from discreet.games import Environment, PunishingExponential, enumerate_outcomes
from discreet.games.common.misreports import find_misreport

WORTH = np.array([[[1, 0, 0.25], [0, 0.5, 0.25]], [[0.5, 0, 0.75], [0, 1, 0.75]]])
NAMES = {"types": ("walker", "rower"), "outcomes": ("bridge", "ferry"), "reactions": ("walk", "row", "swim")}
RIVER = Environment(**NAMES, utilities=WORTH, grid=0.25)


def make(**changes):
    return PunishingExponential(**{"environment": RIVER, "epsilon": 1, "neighbours": Bidder()} | changes)


def random_environment(seed):
    draw = np.random.default_rng(seed)  # noqa: TID251
    sizes = draw.integers(2, 4, 3)
    names = {name: range(size) for name, size in zip(NAMES, sizes, strict=True)}
    return Environment(**names, utilities=draw.integers(0, 11, sizes) / 10, grid=0.1)


def gain_by_hand(game, players):
    """Return the most a lie gains, from the definition: reactions, weights and chances in floats."""
    environment, epsilon, held = game.environment, float(game.epsilon), float(game.held)
    drawn = np.array(game.commitment) / sum(game.commitment)
    kinds, places = environment.types, range(len(environment.outcomes))
    best = np.array(environment.best) * float(environment.unit)
    gaps = np.array(environment.gaps) * float(environment.unit)

    def law(reports):
        weights = np.exp(epsilon / 2 * best[list(reports)].sum(axis=0))
        return weights / weights.sum()

    worst = -math.inf
    for reports in itertools.product(range(len(kinds)), repeat=players):
        for player, lie in itertools.product(range(players), range(len(kinds))):
            true = reports[player]
            told = law((*reports[:player], lie, *reports[player + 1 :]))
            moved = (1 - held) * sum((told[s] - law(reports)[s]) * best[true, s] for s in places)
            lost = held * sum(drawn[s] * gaps[true, lie, s] for s in places)
            worst = max(worst, moved - lost) if lie != true else worst
    return worst


@pytest.mark.parametrize("epsilon", [0.05, 1, 5])
def test_every_lie_loses(epsilon):
    game = make(epsilon=epsilon)
    assert gain_by_hand(game, 3) < 0
    assert game.misreport_gain(types=RIVER.types, players=3).gain == 0


@pytest.mark.parametrize("seed", range(12))
def test_every_lie_loses_in_random_environments(seed):
    environment = random_environment(seed)
    if environment.find_alike():
        with pytest.raises(InvalidParameter, match="every lie costs"):
            make(environment=environment)
        return
    assert gain_by_hand(make(environment=environment), 2) < 0


def test_without_the_commitment_some_lie_gains():
    worth = 1 - np.abs(np.subtract.outer(range(5), range(5))) / 4
    # One hall on a street; whoever goes there from another place than home goes in vain.
    street = worth[:, :, None] * np.eye(5)[:, None, :]
    hall = Environment(types=range(5), outcomes=range(5), reactions=range(5), utilities=street, grid=0.25)
    game = make(environment=hall, epsilon=3)
    assert gain_by_hand(game, 2) < 0
    object.__setattr__(game, "held", Fraction(1, 10**9))
    assert gain_by_hand(game, 2) > 0.01
    assert game.misreport_gain(types=range(5), players=2).gain > 0.01


def test_the_enumerated_code_is_the_definition():
    game = make(epsilon=2)
    law = {}
    for outcome, chance in enumerate_outcomes(game, ("walker", "rower", "rower")):
        law[outcome.decision] = law.get(outcome.decision, 0) + chance
        wanted = ("walker", "rower", "rower") if outcome.decision.held else (None,) * 3
        assert outcome.signals == wanted and outcome.payments == (0, 0, 0)
    held = float(sum(chance for decided, chance in law.items() if decided.held))
    assert held == pytest.approx(float(game.held))


def test_gaps_and_reactions_by_hand():
    assert RIVER.reacts.tolist() == [[0, 1], [2, 1]]
    assert (RIVER.gaps * 0.25)[0, 1].tolist() == [0.75, 0]
    assert (RIVER.gaps * 0.25)[1, 0].tolist() == [0.25, 0]
    assert make().commitment[1] == 0, "nobody is tempted at the ferry, so it is not drawn"
    assert make().increase == Fraction(1, 4)
    assert make().reaction(next(enumerate_outcomes(make(), ["walker"]))[0].decision, "rower") in (
        "swim",
        "row",
    )


def test_lemma_10_2_an_even_commitment_costs_a_liar_the_gap_over_the_outcomes():
    """Every lie costs gamma / |O| at least, and in some environment no more."""
    reached = []
    for environment in (RIVER, *map(random_environment, range(20))):
        unit, outcomes = environment.unit, len(environment.outcomes)
        apart = ~np.eye(len(environment.types), dtype=bool)
        gamma = int(environment.gaps.max(axis=2)[apart].min()) * unit  # the worst outcome of the cheapest lie
        even = environment.increase((1,) * outcomes)
        assert even >= gamma / outcomes
        reached.append(gamma > 0 and even == gamma / outcomes)
    assert any(reached)


def test_the_linear_program_is_at_least_as_good_as_drawing_evenly():
    for seed in range(20):
        environment = random_environment(seed)
        if environment.find_alike() is None:
            even = environment.increase((1,) * len(environment.outcomes))
            assert make(environment=environment).increase >= even


def test_reports_are_held_less_often_than_printed():
    game = make(epsilon=0.05)
    printed = 2 * 0.05 * 2 / 0.25  # 2 epsilon |O| / gamma
    assert float(game.held) < printed / 8
    assert float(game.held) == pytest.approx(math.tanh(0.0125) / (math.tanh(0.0125) + 0.25), rel=1e-6)


@pytest.mark.parametrize("value", [1, 3])
def test_fear_of_being_found_out_rewards_no_lie(value):
    game = make(epsilon=0.05, privacy_value=value)
    assert game.held > make(epsilon=0.05).held

    def fearful(kind, outcome, player):
        return game.utility(kind, outcome, player)

    # A liar saves all of it, who tells the truth pays all of it.
    assert gain_by_hand(game, 2) + 0.05 * value < 0
    assert find_misreport(game, profiles=[("walker",)], lies=RIVER.types, worth=fearful).gain == 0
    with pytest.raises(InvalidParameter, match="privacy_value"):
        make(epsilon=1, privacy_value=value)


def test_the_welfare_is_missed_by_no_more_than_the_bound():
    for epsilon, reports in itertools.product((0.5, 2, 8), itertools.product(RIVER.types, repeat=3)):
        game = make(epsilon=epsilon)
        law = list(enumerate_outcomes(game, reports))
        welfare = [
            sum(float(game.utility(kind, outcome, player)) for player, kind in enumerate(reports))
            for outcome, _ in law
        ]
        best = max(
            sum(RIVER.best[RIVER.types.index(kind), place] for kind in reports) / 4 for place in range(2)
        )
        mean = sum(float(chance) * worth for (_, chance), worth in zip(law, welfare, strict=True))
        assert (best - mean) / 3 <= game.welfare_loss(3)
        for beta in (0.9, 0.5):
            if beta > game.held:
                missed = sum(
                    float(chance)
                    for (_, chance), worth in zip(law, welfare, strict=True)
                    if worth < best - game.error(beta) - 1e-9
                )
                assert missed <= beta
    with pytest.raises(NoBound, match="welfare_loss"):
        make(epsilon=5).error(0.01)


@pytest.mark.parametrize("players", [100, 10_000])
def test_the_chosen_epsilon_is_nearly_the_best(players):
    chosen = PunishingExponential.for_players(players, environment=RIVER, neighbours=Bidder())
    losses = [make(epsilon=Fraction(k, 20) * chosen.epsilon).welfare_loss(players) for k in range(4, 60)]
    assert chosen.welfare_loss(players) <= 1.12 * min(losses)


def test_no_epsilon_is_bought_by_error():
    """A larger one holds reports more often, until the error at a given beta is anything at all."""
    assert make(epsilon=0.01).error(0.3) > make(epsilon=0.1).error(0.3)
    with pytest.raises(NoBound):
        make(epsilon=1).error(0.3)
    with pytest.raises(NoBound, match="for_players"):
        PunishingExponential.for_error(alpha=1, beta=0.1, environment=RIVER, neighbours=Bidder())


@pytest.mark.parametrize("odd", [None, "eve", math.nan, 3, (), {}, object(), lambda: 1, [1]])
def test_an_odd_report_adds_to_nothing(odd):
    game = make()
    assert game._read(["walker", odd, "rower"]).tolist() == [0, -1, 1]
    assert game._read(np.array(["rower", "walker"])).tolist() == [1, 0]
    for reports in ("walker", 5, None, {"walker": 1}, np.zeros((2, 2))):
        with pytest.raises(InvalidParameter, match="types, one a player"):
            game.release(reports)


def test_bad_environments_are_refused():
    for bad in (WORTH - 1, WORTH[:1], WORTH * np.nan, "abc", [[1, 2], [3]]):
        with pytest.raises(InvalidParameter, match="utilities"):
            Environment(**NAMES, utilities=bad, grid=0.25)
    with pytest.raises(InvalidParameter, match="adding 1"):
        Environment(**NAMES, utilities=WORTH - 1, grid=0.25)
    first, last = WORTH.copy(), WORTH.copy()
    first[0, 0, 0] = last[:, 1] = np.nan  # what one type alone cannot do; an outcome nobody can react to
    for bad in (first, last):
        with pytest.raises(InvalidParameter, match="None for all types alike"):
            Environment(**NAMES, utilities=bad, grid=0.25)
    for bad in ({"types": ("a", "a")}, {"outcomes": ()}, {"reactions": (object(), 1, 2)}):
        with pytest.raises(InvalidParameter):
            Environment(**NAMES | bad, utilities=WORTH, grid=0.25)
    with pytest.raises(InvalidParameter, match="at most"):
        Environment(types=range(500), outcomes=range(500), reactions=range(500), utilities=WORTH, grid=1)
    assert hash(RIVER) == hash(Environment(**NAMES, utilities=WORTH, grid=0.25)) and "2 types" in repr(RIVER)
    with pytest.raises(InvalidParameter, match="Environment itself"):
        make(environment="river")
