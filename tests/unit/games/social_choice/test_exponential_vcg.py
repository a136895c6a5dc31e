"""Any social choice with payments: the law and the payments by hand, every lie, and what payments tell."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import Bidder
from discreet.games import ExponentialVCG, enumerate_outcomes
from discreet.games.common.misreports import find_misreport

KINDS = list(itertools.product((0, 0.5, 1), repeat=2))
ODD = (None, "ab", (1,), (1, 2, 3), {}, object(), 1, b"ab", math.nan)


def make(**changes):
    public = {"outcomes": "ab", "epsilon": 2, "payments": "expected", "grid": 0.5, "neighbours": Bidder()}
    return ExponentialVCG(**public | changes)


def law_by_hand(reports, epsilon, exponent=lambda epsilon, players: epsilon / 2):
    """Return Pr[o] ~ exp(exponent * sum of utilities)."""
    welfare = np.sum(reports, axis=0) if len(reports) else np.zeros(2)
    weights = np.exp(exponent(epsilon, len(reports)) * welfare)
    return weights / weights.sum()


@pytest.mark.parametrize("epsilon", [0.1, 2, 9])
def test_law_payments_and_privacy_by_an_enumeration_of_its_own(epsilon):
    game, worst = make(epsilon=epsilon), 0.0
    for reports in itertools.product(KINDS, repeat=2):
        law = law_by_hand(reports, epsilon)
        outcomes = list(enumerate_outcomes(game, reports))
        assert [float(chance) for _, chance in outcomes] == pytest.approx(law.tolist(), abs=1e-12)
        for player in range(2):
            rest = law_by_hand([reports[1 - player]], epsilon)
            divergence = float((law * np.log(law / rest)).sum())
            paid = outcomes[0][0].payments[player]
            assert paid == pytest.approx(2 / epsilon * divergence, abs=1e-11)
            assert 0 <= paid <= game.largest_payment
            assert law @ reports[player] - paid >= -1e-12, "nobody loses by taking part"
            for other in KINDS:
                near = law_by_hand([other, reports[1 - player]], epsilon)
                worst = max(worst, float(np.log(near / law).max()))
    assert worst <= epsilon * (1 + 1e-12)
    assert epsilon < 9 or worst > 0.8 * epsilon


@pytest.mark.parametrize(("outcomes", "players"), [("ab", 2), ("abc", 2), ("ab", 3)])
def test_no_lie_gains_in_any_profile(outcomes, players):
    kinds = list(itertools.product((0, 0.5, 1), repeat=len(outcomes)))[:: 1 if players == 2 else 3]
    found = make(outcomes=outcomes).misreport_gain(types=kinds[:9], players=players)
    assert found.gain <= 1e-12


@pytest.mark.parametrize("epsilon", [10, 80, 1_000, 10**9, 10**300])
@pytest.mark.filterwarnings("error")
def test_payments_become_those_of_vcg_as_epsilon_grows(epsilon):
    game, reports = make(epsilon=epsilon), [(1, 0), (0, 0.5)]
    with localcontext(prec=500):
        rate = Decimal(min(epsilon, 1000)) / 2
        odds = (-rate / 2).exp()  # of the second outcome; without the first player it is the better one
        without = (1 + odds).ln() - (1 + (-rate / 2).exp()).ln()
        paid = float(1 / (1 + odds) - (rate / 2 + without) / rate)
    found = game.run(reports).payments
    assert found[0] == pytest.approx(paid, abs=1e-12)
    assert 0 <= found[1] < 0.03
    assert game.misreport_gain(types=KINDS, players=2).gain <= 1e-12


def test_without_its_payments_the_choice_rewards_lies():
    game = make()

    def unpaid(kind, outcome, player):
        return game.utility(kind, outcome, player) + outcome.payments[player]

    found = find_misreport(game, profiles=itertools.product(KINDS, repeat=2), lies=KINDS, worth=unpaid)
    assert 0.05 < found.gain <= game.guarantee.truthfulness


def test_section_10_3_1_the_printed_exponent_is_useless_and_not_the_optimum():
    """Printed: exp(epsilon F / (2 n)) with F the mean; it is epsilon / n^2-private, and hardly a choice."""
    reports, epsilon = [(1, 0)] * 20, 1
    printed = law_by_hand(reports, epsilon, lambda epsilon, players: epsilon / (2 * players**2))
    right = law_by_hand(reports, epsilon)
    assert printed[0] < 0.51 and right[0] > 0.9999

    def objective(law):
        return float(law @ np.mean(reports, axis=0) - 2 / (epsilon * 20) * (law * np.log(law)).sum())

    assert objective(right) > objective(printed) + 0.3, "the law that maximises welfare plus entropy"
    # The stated welfare bound: F(o) >= F(best) - 2 / (epsilon n) ln(|O| / beta) with probability 1 - beta.
    beta = 0.25
    allowed = 2 / (epsilon * 20) * math.log(2 / beta)
    assert allowed < 1 and printed[1] > beta >= right[1]


def test_drawn_payments_have_the_mean_of_the_expected_ones():
    game, exact = make(payments="drawn", steps=4, outcomes="ab"), make()
    for reports in (((1, 0), (0, 1)), ((0.5, 1), (1, 0))):
        law = list(enumerate_outcomes(game, reports))
        assert sum(chance for _, chance in law) == pytest.approx(1)
        wanted = exact.run(reports).payments
        for player in range(2):
            mean = float(sum(chance * outcome.payments[player] for outcome, chance in law))
            assert abs(mean - wanted[player]) <= game.truthfulness / 2
            fine = make(payments="drawn", steps=1 << 20)
            assert fine.truthfulness < 1e-12


def test_drawn_payments_reward_no_lie_but_for_the_steps():
    game = make(payments="drawn", steps=2)
    types = [(0, 1), (1, 0), (0.5, 0)]
    found = find_misreport(
        game, profiles=[((0, 1), (1, 0)), ((0.5, 0), (0, 1))], lies=types, worth=game.utility
    )
    assert found.gain <= game.truthfulness < 0.01


def test_a_drawn_payment_is_off_by_no_more_than_money_there_is():
    assert make(payments="drawn", epsilon=10**300).truthfulness == 2


def test_what_a_payer_sees_is_two_epsilon_private_for_the_others():
    game = make(payments="drawn", steps=2, epsilon=4)

    def view(reports, rng):
        outcome = game.run([*reports, (1, 0)], rng=rng)
        return outcome.decision, outcome.payments[-1]

    laws = {(kind,): audit.output_distribution(view, [kind]) for kind in ((0, 1), (1, 0), (0.5, 1))}
    worst = max(
        math.log(law[seen] / laws[other][seen]) for law in laws.values() for other in laws for seen in law
    )
    claimed = game.towards_the_payer.epsilon(0)
    assert 4 < worst <= claimed == pytest.approx(8)
    with pytest.raises(NoBound, match="drawn"):
        _ = make().towards_the_payer


def test_expected_payments_tell_of_others_what_the_outcome_does_not():
    """Why they are for nobody's eyes: the very number betrays the other report."""
    one, other = (make().run([(1, 0), kind]).payments[0] for kind in ((0, 1), (0.5, 1)))
    assert one != other


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_report_wants_nothing_and_decides_nothing_else(odd):
    reports = [(1, 0), odd, (0.5, 1)]
    assert make()._read(reports).tolist() == [[2, 0], [0, 0], [1, 2]]
    assert make().run(reports).payments[1] == 0


def test_utilities_are_clamped_and_rounded():
    table = np.array([[math.nan, math.inf], [-3, 0.26]])
    assert make()._read(table).tolist() == make()._read(table.tolist()).tolist() == [[0, 2], [0, 1]]
    assert make()._read([]).shape == (0, 2)
    for bad in ("ab", 3, None, {1: 2}, np.zeros((2, 3)), np.zeros(3)):
        with pytest.raises(InvalidParameter):
            make().release(bad)


def test_utilities_off_the_grid_lose_a_unit_at_most():
    game = make(grid=0.5)
    kinds = [(0.2, 0.7), (0.9, 0.4), (0, 1)]

    def worth(kind, outcome, player):
        return kind["ab".index(outcome.decision)] - outcome.payments[player]

    profiles = itertools.product(kinds, repeat=2)
    found = find_misreport(game, profiles=profiles, lies=[*kinds, *KINDS], worth=worth)
    assert found.gain <= 0.5


def test_bad_parameters_are_refused():
    for bad in (
        {"outcomes": ""},
        {"outcomes": "aa"},
        {"payments": "none"},
        {"grid": 0.3},
        {"grid": 2},
        {"steps": 0},
    ):
        with pytest.raises(InvalidParameter):
            make(**bad)
    with pytest.raises(InvalidParameter, match="steps"):
        make(steps=1 << 25)
