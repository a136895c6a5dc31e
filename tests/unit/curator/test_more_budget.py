"""More budget never buys less: neither fewer answers nor larger errors."""

import dataclasses
import itertools
from fractions import Fraction

import pytest
from tests.unit.curator.conftest import BY_USER, curator

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import BudgetExceeded
from discreet.curator.offers import read_bought
from discreet.data import User

DELTAS = [0, 1e-12, 1e-9, 1e-6, 1e-3]
QUESTIONS = {
    "one count": "SELECT COUNT(*) AS x FROM people",
    "one sum": "SELECT SUM(income) AS x FROM people",
    "many counts": "SELECT region, age, COUNT(*) AS x FROM people GROUP BY region, age",
    "many sums": "SELECT region, SUM(income) AS x, SUM(age) AS y FROM people GROUP BY region",
}
MOST = 40


def bought(one, texts, share=1):
    """The errors at which questions are answered before the first refusal, each asked as if it were new."""
    one.analyst("acme", share=share)
    service, desk, errors = one._service, one._desks["acme"], []
    questions = [service._read(desk, text, None, fresh=True) for text in texts]
    for place in range(MOST):
        planned = service._price(desk, questions[place % len(questions)])
        try:
            one.ledger.reserve("acme", "q", planned.guarantee, bought=read_bought(planned))
        except BudgetExceeded:
            break
        errors.append([column.error for column in planned.columns])
    return errors


def at_least(more, less):
    """Whether more answers were given, and none of those that the other gave with a larger error."""
    return len(more) >= len(less) and all(
        a <= b for first, second in zip(more, less, strict=False) for a, b in zip(first, second, strict=True)
    )


def answered(one):
    """How many counts are answered, by the engine, before the first refusal."""
    acme = one.analyst("acme")
    for place in range(MOST):
        text = f"SELECT COUNT(*) AS x FROM people WHERE income > {place}"
        quote = acme.plan(text, fresh=True)
        try:
            assert acme.sql(text, fresh=True).cost == quote.cost
        except BudgetExceeded:
            return place
    return MOST


def test_a_delta_does_not_buy_fewer_answers_than_none():
    for given, most in (
        ({"epsilon": 3, "question": (1, 0), "shared": 0}, 3),
        ({"epsilon": 1, "shared": 0.8}, 10),
    ):
        with curator(delta=0, **given) as none, curator(delta=1e-6, **given) as some:
            assert answered(none) == most
            assert answered(some) >= most


@pytest.mark.parametrize("schema", [None, BY_USER], ids=["rows", "users"])
@pytest.mark.parametrize("question", [None, (Fraction(1, 10), 1e-7), (Fraction(1, 4), 0)], ids=str)
@pytest.mark.parametrize("promise", [None, OneAnalystToMany()], ids=["together", "apart"])
@pytest.mark.parametrize("texts", [*([text] for text in QUESTIONS.values()), list(QUESTIONS.values())])
def test_a_larger_delta_never_buys_less(schema, question, promise, texts):
    found = []
    for delta in DELTAS:
        given = {} if schema is None else {"schema": schema}
        priced = None if question is None else (question[0], min(question[1], delta))
        with curator(**given, epsilon=1, delta=delta, shared=0, promise=promise, question=priced) as one:
            found.append(bought(one, texts, share=Fraction(1, 2)))
    for less, more in itertools.pairwise(found):
        assert at_least(more, less)
    assert found[0]


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("promise", [None, OneAnalystToMany()], ids=["together", "apart"])
@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS)
def test_a_larger_epsilon_never_buys_less(delta, promise, text):
    found = []
    for epsilon in (Fraction(1, 2), 1, Fraction(3, 2), 3):
        with curator(
            epsilon=epsilon, delta=delta, shared=0, promise=promise, question=(Fraction(1, 10), delta / 100)
        ) as one:
            found.append(bought(one, [text], share=Fraction(1, 2)))
    for less, more in itertools.pairwise(found):
        assert at_least(more, less)
    assert len(found[-1]) > len(found[0])


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()], ids=["together", "apart"])
def test_a_larger_share_never_buys_less(promise):
    found = []
    for share in (Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), 1):
        with curator(epsilon=2, shared=0, promise=promise) as one:
            found.append(bought(one, list(QUESTIONS.values()), share=share))
    for less, more in itertools.pairwise(found):
        assert at_least(more, less)


def test_gaussian_noise_is_bought_where_it_is_better_and_pure_noise_where_only_that_fits():
    """A pair that the deltas have no more room for is not refused: the same question with pure noise fits."""
    heavy = dataclasses.replace(BY_USER, unit=User(column="who", max_rows=30, max_groups=30))
    with curator(heavy, epsilon=1, delta=1e-9, shared=0, question=(Fraction(1, 3), 1e-10)) as one:
        bought(one, ["SELECT region, age, COUNT(DISTINCT who) AS x FROM people GROUP BY region, age"])
        charges = [dict(entry.charge) for entry in one.ledger.entries("acme")]
    assert [charge["delta"] > 0 for charge in charges] == [True, False, False]
    assert sum(charge["epsilon"] for charge in charges) <= 1


def test_no_question_takes_the_pairs_from_those_after_it():
    """A cheap rho is not spent at the price of all epsilons that are left: others need them."""
    heavy = dataclasses.replace(BY_USER, unit=User(column="who", max_rows=30, max_groups=30))
    wide = "SELECT region, age, COUNT(DISTINCT who) AS x FROM people GROUP BY region, age"
    for delta in (0, 1e-9):
        priced = (Fraction(1, 10), min(delta, 2e-10))  # two of them have no room for their deltas
        with curator(heavy, epsilon=1, delta=delta, shared=0, question=priced) as one:
            assert len(bought(one, [QUESTIONS["one count"], wide])) >= 10
