"""Figures: the smaller of two true readings, never less than the truth, never falling."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.server.registry.conftest import GAUSSIAN, PURE, read, writing

from discreet.accounting.charges import Charge
from discreet.accounting.filters import make_filter
from discreet.core.loss import ApproxLoss, PureLoss, ZCDPLoss
from discreet.server.registry.figures import BudgetMeter, Figures, make_meter, read_whole

BUDGET = (Fraction(1), Fraction(1, 10**6))


def charge(meter, **amounts):
    return Charge.of(tuple(meter.budget), (amounts.get(name) for name in meter.budget))


def test_pure_epsilons_add_up():
    meter = BudgetMeter(Fraction(2), Fraction(0))
    figures = meter.read(charge(meter, epsilon=Fraction(1, 2)))
    assert (figures.epsilon, figures.part, figures.endless) == (Fraction(1, 2), Fraction(1, 4), ())


def test_many_gaussian_answers_come_to_the_epsilon_of_their_rho():
    meter = make_meter(*BUDGET)
    rho = meter.budget["rho"] / 4
    figures = meter.read(charge(meter, rho=rho, delta=Fraction(0)))
    assert figures.part == Fraction(1, 4)
    assert figures.endless == ("epsilon",)
    exact = ZCDPLoss(rho).epsilon(BUDGET[1] * Fraction(9, 10))
    assert figures.epsilon == Fraction(exact)
    assert ZCDPLoss(rho).implies(epsilon=figures.epsilon, delta=BUDGET[1])


def test_the_whole_budget_is_never_exceeded_nor_more_than_all_used():
    meter = make_meter(*BUDGET)
    for amounts in ({}, {"delta": Fraction(0)}, {name: 9 * most for name, most in meter.budget.items()}):
        figures = meter.read(charge(meter, **amounts))
        assert (figures.epsilon, figures.part) == (BUDGET[0], Fraction(1))


LOSSES = st.one_of(
    st.builds(PureLoss, st.fractions(Fraction(1, 1000), Fraction(1, 10))),
    st.builds(ZCDPLoss, st.fractions(Fraction(1, 10**6), Fraction(1, 1000))),
    st.builds(ApproxLoss, st.fractions(Fraction(1, 1000), Fraction(1, 10)), st.just(Fraction(1, 10**9))),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(LOSSES, min_size=1, max_size=8))
def test_what_is_spent_never_falls_and_is_one_of_two_true_readings(losses):
    meter, whole = make_meter(*BUDGET), make_filter(epsilon=BUDGET[0], delta=BUDGET[1], neighbours=None)
    total, last = whole.nothing, Figures(Fraction(0), Fraction(0))
    passed = []
    for loss in losses:
        cost = whole.cost(loss)
        if cost is None or not whole.fits(total + cost):
            continue
        total, passed = total + cost, [*passed, loss]
        figures = meter.read(total)
        assert figures.epsilon >= last.epsilon
        assert figures.part >= last.part
        assert figures.epsilon <= BUDGET[0]
        last = figures
    epsilons = [loss.exact_epsilon() for loss in passed]
    readings = [BUDGET[0]] if None in epsilons else [BUDGET[0], sum(epsilons, Fraction(0))]
    by_rho = total.amounts.get("rho")
    assert by_rho is None or by_rho >= sum((loss.exact_rho() for loss in passed), Fraction(0))
    readings += [] if by_rho is None else [Fraction(ZCDPLoss(by_rho).epsilon(BUDGET[1] * Fraction(9, 10)))]
    assert min(readings) <= last.epsilon <= min(readings) + Fraction(1, 10**9)


def test_shares_that_are_apart_add_up(tmp_path):
    with writing(tmp_path, apart=True) as past:
        past.ledger.cap("acme", Fraction(1, 2))
        past.ledger.cap("blue", Fraction(1, 4))
        past.ask(analyst="acme")
        past.ask(analyst="blue")
        past.ask(GAUSSIAN, analyst="blue")
        spent = past.ledger.spent()
    figures = read_whole(read(past.path).copy.account)
    assert figures.charged == {name: spent[name] for name in ("rho", "delta")}
    assert figures.endless == ("epsilon",)
    own = make_meter(Fraction(1, 4), Fraction(1, 4 * 10**9)).find_part(
        {"epsilon": Fraction(1, 250), "delta": Fraction(0), "rho": Fraction(8, 10**6)}
    )
    assert figures.part > own / 2


def test_sums_are_those_of_the_ledger(tmp_path):
    with writing(tmp_path) as past:
        for item in (PURE, GAUSSIAN, PURE):
            past.ask(item)
        past.ask(PURE, end="void")
        spent = past.ledger.spent()
    assert read_whole(read(past.path).copy.account).charged == spent
