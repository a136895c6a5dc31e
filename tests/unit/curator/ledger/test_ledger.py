"""The ledger: sums are exact, nothing overspends, only reservations come back."""

import copy
import multiprocessing
import pickle  # noqa: TID251 - to see that it is refused
import threading
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Composed
from discreet.accounting.failing import FailingLoss
from discreet.core.errors import (
    AnswerLost,
    BudgetExceeded,
    DiscreetError,
    InternalError,
    InvalidParameter,
    KeyReused,
    Refused,
)
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, DiscreteLaplaceLoss, GaussianLoss, PureLoss, ZCDPLoss
from discreet.core.neighbours import AddRemove, Replace
from discreet.curator.ledger import refusals
from discreet.curator.ledger.book import MemoryBook
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.people import People

ROWS = AddRemove("row")
HALF = Fraction(1, 2)


def item(epsilon):
    return Guarantee(PureLoss(Fraction(epsilon)), ROWS)


@pytest.fixture
def ledger(make_ledger):
    """Return a ledger with a budget of epsilon 1 alone."""
    return make_ledger(epsilon=1, delta=0, neighbours=ROWS)


def test_ten_tenths_fit_and_nothing_more_does(ledger):
    for _ in range(10):
        ledger.start(ledger.reserve("acme", "a question", item("1/10")))
    assert ledger.left() == {"epsilon": 0}
    with pytest.raises(BudgetExceeded, match="data set"):
        ledger.reserve("acme", "one more", item("1/1000000000"))
    assert len(ledger.entries()) == 10


def test_charges_are_rounded_up(ledger):
    odd = Fraction(1, 10**30 + 7)
    ledger.reserve("acme", "an odd price", item(odd))
    assert odd < ledger.spent()["epsilon"] < odd + Fraction(1, 10**60)
    assert ledger.spent()["epsilon"].denominator.bit_length() < 300


def test_a_share_binds_one_analyst_and_the_budget_all(ledger):
    ledger.cap("acme", Fraction(1, 4))
    ledger.cap("blue", 1)
    ledger.reserve("acme", "q", item("1/4"))
    with pytest.raises(BudgetExceeded, match="share of acme"):
        ledger.reserve("acme", "q", item("1/100"))
    ledger.reserve("blue", "q", item("3/4"))
    assert ledger.left("blue") == {"epsilon": 0}
    with pytest.raises(BudgetExceeded, match="data set"):
        ledger.reserve("blue", "q", item("1/100"))


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan"), True])
def test_a_share_is_a_part(share, ledger):
    with pytest.raises(InvalidParameter):
        ledger.cap("acme", share)


def test_a_share_is_given_once(ledger):
    ledger.cap("acme", Fraction(1, 4))
    with pytest.raises(InvalidParameter, match="without a share"):
        ledger.cap("acme", 1)


def test_only_a_reservation_comes_back(ledger):
    number = ledger.reserve("acme", "q", item("1/2"))
    ledger.void(number)
    assert ledger.spent() == {"epsilon": 0}
    number = ledger.reserve("acme", "q", item("1/2"))
    ledger.start(number)
    with pytest.raises(InternalError):
        ledger.void(number)
    ledger.finish(number)
    for step in (ledger.void, ledger.start, ledger.finish):
        with pytest.raises(InternalError):
            step(number)
    assert ledger.spent() == {"epsilon": Fraction(1, 2)}


def test_what_one_ledger_started_another_of_the_same_name_cannot_give_back(make_ledger):
    one, other = (make_ledger(epsilon=1, delta=0, neighbours=ROWS) for _ in range(2))
    number = one.reserve("acme", "q", item(1))
    one.start(number)
    with pytest.raises(InternalError):
        other.void(number)
    with pytest.raises(InternalError):
        other.start(number)
    assert one.spent() == other.spent() == {"epsilon": 1}


@pytest.mark.parametrize(
    ("what", "study", "price"),
    [("q", None, "1/99"), ("q", "flu", "1/100"), ("r", None, "1/100"), ("q\nr", "flu", "1/100")],
)
def test_a_key_stands_for_one_question_at_one_price(ledger, what, study, price):
    """Otherwise a question would be charged as little as the cheapest that had its key."""
    ledger.cap_study("flu", 1, purpose="the flu")
    ledger.cap_study("flu\nq", 1, purpose="a name that could be mistaken for a study and a question")
    number = ledger.reserve("acme", "q", item("1/100"), key="k")
    ledger.reserve("acme", "r", item("1/100"), study="flu\nq", key="l")
    for key in "kl":
        with pytest.raises(KeyReused):
            ledger.reserve("acme", what, item(price), study=study, key=key)
    assert ledger.reserve("acme", "q", item("1/100"), key="k") == number
    assert ledger.spent() == {"epsilon": Fraction(2, 100)}


def test_a_group_begins_with_what_its_members_spent(ledger):
    ledger.reserve("acme", "q", item("1/4"))
    ledger.cap_group("alliance", ["acme", "blue", "carol"], Fraction(3, 8))
    with pytest.raises(BudgetExceeded, match="share of the group alliance"):
        ledger.reserve("blue", "q", item("1/4"))
    ledger.reserve("blue", "q", item("1/8"))


@pytest.mark.parametrize("name", ["x\0y", "x\udc80"], ids=ascii)
def test_names_that_a_database_cannot_hold_are_refused(make_ledger, name):
    ledger = make_ledger(epsilon=1, delta=0, neighbours=ROWS)
    with pytest.raises(InvalidParameter):
        make_ledger(epsilon=1, delta=0, neighbours=ROWS, name=name)
    with pytest.raises(InvalidParameter):
        ledger.journal(name)
    # What others say may be anything, and stops nobody.
    number = ledger.reserve(name, name, item("1/4"), key=name)
    ledger.start(number)
    assert ledger.finish(number, b"answer") == ledger.answer(number) == b"answer"


def test_guarantees_about_something_else_are_refused(ledger):
    with pytest.raises(DiscreetError, match="same neighbours"):
        ledger.reserve("acme", "q", Guarantee(PureLoss(Fraction(1, 10)), Replace("row")))


def test_gaussian_noise_needs_a_delta(ledger, make_ledger):
    gaussian = Guarantee(GaussianLoss(Fraction(1, 10), Fraction(1)), ROWS)
    with pytest.raises(InvalidParameter, match="delta above 0"):
        ledger.reserve("acme", "q", gaussian)
    ledger = make_ledger(epsilon=1, delta=1e-6, neighbours=ROWS, name="with a delta")
    ledger.reserve("acme", "q", gaussian)
    assert ledger.spent()["rho"] >= Fraction(1, 200)


def test_everything_that_fits_keeps_the_guarantee(make_ledger):
    """Fill a budget with small Laplace answers; composed exactly they are within what is promised."""
    ledger = make_ledger(epsilon=1, delta=1e-6, neighbours=ROWS)
    loss, count = DiscreteLaplaceLoss(1, Fraction(25)), 0
    while True:
        try:
            ledger.reserve("acme", "q", Guarantee(loss, ROWS))
        except BudgetExceeded:
            break
        count += 1
    assert count > 25  # more than epsilons would add up to
    assert ledger.guarantee.loss.epsilon(1e-6) == 1
    assert Composed(((loss, count),)).epsilon(1e-6) <= 1


def test_two_ways_leave_room_for_each_other(make_ledger):
    """What ends within the pairs is off by f, all else by delta - f, of which f is for failures."""
    epsilon, delta = Fraction(2), Fraction(1, 10**6)
    budget = make_ledger(epsilon=epsilon, delta=delta, neighbours=ROWS).budget
    failure = delta / 10
    assert budget == {
        "epsilon": epsilon,
        "rho": zcdp_rho(epsilon=epsilon, delta=delta - 2 * failure),
        "delta": failure,
    }


def test_what_was_bought_for_a_pair_is_charged_as_the_pair_and_by_its_rho(make_ledger):
    """As long as the pairs have room; then by its rho alone, which needs no delta."""
    ledger = make_ledger(epsilon=1, delta=Fraction(1, 10**6), neighbours=ROWS)
    pair, loss = ApproxLoss(Fraction(1, 3), Fraction(3, 10**8)), Guarantee(ZCDPLoss(Fraction(1, 1000)), ROWS)
    charges = []
    for _ in range(5):
        quote = ledger.quote("acme", loss, bought=pair)
        charges.append(dict(ledger.entry(ledger.reserve("acme", "q", loss, bought=pair)).charge))
        assert quote == charges[-1]
    both = {"epsilon": Fraction(1, 3), "rho": Fraction(1, 1000), "delta": Fraction(3, 10**8)}
    alone = {"rho": Fraction(1, 1000), "delta": Fraction(0)}
    assert charges == [both, both, both, alone, alone]
    assert ledger.spent() == {"rho": Fraction(5, 1000), "delta": Fraction(9, 10**8)}
    kept = {name: ledger.budget[name] - ledger.spent()[name] for name in ("rho", "delta")}
    assert ledger.left() == {"epsilon": 0} | kept


def test_a_small_share_does_not_close_a_way_for_the_others(make_ledger):
    """Her own line goes on by rhos alone; that of all still adds up pairs."""
    ledger = make_ledger(epsilon=1, delta=Fraction(1, 10**6), neighbours=ROWS)
    ledger.cap("small", Fraction(1, 4))
    pair, loss = ApproxLoss(Fraction(1, 5), Fraction(1, 10**9)), Guarantee(ZCDPLoss(Fraction(1, 2000)), ROWS)
    for _ in range(2):
        ledger.reserve("small", "q", loss, bought=pair)
    assert "epsilon" not in ledger.spent("small")
    assert ledger.spent()["epsilon"] == Fraction(2, 5)
    before = ledger.spent("small"), ledger.spent()
    ledger.void(ledger.reserve("small", "q", loss, bought=pair))
    assert (ledger.spent("small"), ledger.spent()) == before
    for _ in range(3):
        ledger.reserve("blue", "q", item("1/5"))
    with pytest.raises(BudgetExceeded):
        ledger.reserve("blue", "q", item("1/5"))


def test_a_pair_with_a_threshold_is_charged_its_whole_delta(make_ledger):
    """A threshold's failures are part of the pair, and are not charged twice."""
    ledger = make_ledger(epsilon=1, delta=Fraction(1, 10**6), neighbours=ROWS)
    failing = FailingLoss(ZCDPLoss(Fraction(1, 1000)), Fraction(1, 10**8))
    charge = ledger.quote("acme", Guarantee(failing, ROWS), bought=ApproxLoss(HALF, Fraction(4, 10**8)))
    assert charge == {"epsilon": HALF, "rho": Fraction(1, 1000), "delta": Fraction(4, 10**8)}


def test_an_analyst_may_buy_so_many_answers(monkeypatch, ledger):
    monkeypatch.setattr(refusals, "ENTRIES", 3)
    for _ in range(3):
        ledger.reserve("acme", "q", item("1/100"))
    with pytest.raises(Refused, match="at most 3 answers"):
        ledger.reserve("acme", "q", item("1/100"))
    ledger.reserve("blue", "q", item("1/100"))
    assert len(ledger.entries()) == 4


def test_what_is_asked_of_other_data_sets_is_no_answer_that_a_new_one_bought(monkeypatch):
    # All charges for the people count on their line: beyond 100,000 no further data set could be opened.
    monkeypatch.setattr(refusals, "ENTRIES", 3)
    book, county = MemoryBook(), People(name="county", epsilon=2, delta=0)
    budget = {"epsilon": 1, "delta": 0, "neighbours": ROWS, "book": book, "people": county}
    asked, new = (Ledger(**budget, name=name) for name in ("asked", "new"))
    for analyst in ("acme", "blue"):
        for _ in range(2):
            asked.reserve(analyst, "q", item("1/100"))
    new.reserve("the hypothesis", "h", item("1/2"), beside=True)


def test_what_pays_for_no_answer_any_more_is_not_gone_on_with(ledger):
    """Whoever waited under the key of a charge that was given back meanwhile would read data for nothing."""
    voided = ledger.reserve("acme", "q", item("1/4"), key="mine")
    ledger.void(voided)
    over = ledger.reserve("acme", "q", item("1/4"), key="other")
    ledger.start(over)
    ledger.finish(over)
    for number in (voided, over):
        with pytest.raises(AnswerLost, match="given back, or ended without an answer"):
            ledger.resume(number)
    assert [one.state for one in ledger.entries()] == ["voided", "finished"]
    again = ledger.reserve("acme", "q", item("1/4"), key="mine")
    ledger.resume(again)
    assert ledger.entry(again).state == "started"
    assert ledger.spent()["epsilon"] == HALF


def test_copies_are_refused(ledger):
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(DiscreetError):
            act(ledger)


def _spend_in_child(ledger, answers):
    try:
        ledger.reserve("acme", "q", item("1/10"))
        answers.put("spent")
    except DiscreetError as error:
        answers.put(str(error))


def test_a_fork_cannot_spend(ledger):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_spend_in_child, args=(ledger, answers))
    child.start()
    assert "another process" in answers.get(timeout=30)
    child.join()


def test_threads_never_overspend(ledger):
    refused = []

    def spend():
        for _ in range(30):
            try:
                ledger.reserve("acme", "q", item("1/100"))
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.entries()), len(refused)) == (100, 140)
    assert [entry.number for entry in ledger.entries()] == list(range(100))


class LedgerMachine(RuleBasedStateMachine):
    """Random histories of two analysts against a model that adds up fractions."""

    def __init__(self):
        super().__init__()
        self.ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS)
        self.ledger.cap("acme", Fraction(2, 3))
        self.ledger.cap("blue", Fraction(1, 2))
        self.most = {"acme": Fraction(2, 3), "blue": Fraction(1, 2)}
        self.model = {}

    def spent(self, *names):
        return sum(
            (a for who, a, state in self.model.values() if who in names and state != "voided"), Fraction(0)
        )

    @rule(who=st.sampled_from(["acme", "blue"]), amount=st.integers(1, 400))
    def reserve(self, who, amount):
        epsilon = Fraction(amount, 1000)
        fits = self.spent(who) + epsilon <= self.most[who] and self.spent("acme", "blue") + epsilon <= 1
        try:
            number = self.ledger.reserve(who, "q", item(epsilon))
        except BudgetExceeded:
            assert not fits
        else:
            assert fits
            self.model[number] = (who, epsilon, "reserved")

    @precondition(lambda self: self.model)
    @rule(data=st.data(), step=st.sampled_from(["start", "finish", "void"]))
    def move(self, data, step):
        number = data.draw(st.sampled_from(sorted(self.model)))
        who, epsilon, state = self.model[number]
        after = {
            ("reserved", "start"): "started",
            ("started", "finish"): "finished",
            ("reserved", "void"): "voided",
        }
        try:
            getattr(self.ledger, step)(number)
        except InternalError:
            assert (state, step) not in after
        else:
            self.model[number] = (who, epsilon, after[state, step])

    @invariant()
    def sums_agree(self):
        for who in ("acme", "blue"):
            assert self.ledger.spent(who)["epsilon"] == self.spent(who) <= self.most[who]
        assert self.ledger.spent()["epsilon"] == self.spent("acme", "blue") <= 1
        assert [entry.state for entry in self.ledger.entries()] == [
            state for _, (_, _, state) in sorted(self.model.items())
        ]


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=60, stateful_step_count=30)
