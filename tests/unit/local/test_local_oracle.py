"""One budget a person, whatever is asked in whatever order."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import local
from discreet.core.errors import BudgetExceeded, BudgetTooSmall, InvalidParameter, NoBound, Refused
from discreet.core.rng import SystemRng
from discreet.testing import unsafe_seeded

F = Fraction
COIN = local.DirectResponse(epsilon=F(1, 3), domain=2)


class Watched(SystemRng):
    """Counts what is drawn."""

    unsafe = False

    def __init__(self):
        self.drawn = 0

    def perform(self, primitive, value):
        self.drawn += 1
        return super().perform(primitive, value)


def test_budgets_add_up_for_each_person_alone():
    rng = Watched()
    with local.LocalOracle(epsilon=1, people=2).open([0, 1], rng=rng) as people:
        for _ in range(3):
            people.ask(COIN, person=0)
        assert people.left(0) == 0 and people.left(1) == 1
        with pytest.raises(BudgetExceeded, match="person 0"):
            people.ask(COIN, person=0)
        assert rng.drawn == 3, "nothing is drawn once there is no budget"
        people.ask(local.SignMean(epsilon=F(1, 2), lower=0, upper=1), person=1)
        assert people.left(1) == F(1, 2)
        with pytest.raises(BudgetExceeded):
            people.ask(local.OptimisedUnary(epsilon=F(51, 100), domain=3), person=1)
        people.ask(local.OptimisedUnary(epsilon=F(1, 2), domain=3), person=1)
        assert people.left(1) == 0


def test_reports_are_those_of_the_survey():
    oracle = local.LocalOracle(epsilon=400, people=4)
    with oracle.open(np.array([2, 0, 1, 9])) as people:
        for survey in (
            local.DirectResponse(epsilon=100, domain=3),
            local.SubsetSelection(epsilon=100, domain=3),
        ):
            found = survey.estimate(people.ask(survey, person=k) for k in range(4))
            assert np.allclose(found.counts, [2, 1, 1], atol=1e-6)
            again = survey.estimate(people.ask(survey.survey, person=k).to_json() for k in range(4))
            assert np.allclose(again.counts, found.counts, atol=1e-6)


class Own(local.DirectResponse):
    """A survey whose table tells the truth."""


def test_a_survey_of_a_strangers_class_is_refused():
    with local.LocalOracle(epsilon=1, people=1).open([0], rng=unsafe_seeded(1)) as people:
        for query in (Own(epsilon=1, domain=2), COIN.kernel, None, b"x", lambda: 0):
            with pytest.raises(InvalidParameter, match="query"):
                people.ask(query, person=0)
        with pytest.raises(Refused):
            people.ask("{}", person=0)
        assert people.left(0) == 1


@pytest.mark.parametrize(
    "domain_and_epsilon", ['281474976710656,"epsilon":"1/2"', '2,"epsilon":"1/10000000000"']
)
def test_a_survey_that_cannot_be_answered_costs_nothing(domain_and_epsilon):
    """One of 2**48 bits was drawn for ever; one of next to no budget was charged, and then refused."""
    text = f'{{"version":1,"kind":"optimised-unary","domain":{domain_and_epsilon}}}'
    with local.LocalOracle(epsilon=1, people=1).open([0], rng=unsafe_seeded(1)) as people:
        with pytest.raises((InvalidParameter, BudgetTooSmall)):
            people.ask(text, person=0)
        assert people.left(0) == 1


def test_a_survey_with_a_memo_is_none_for_it_by_its_text_either():
    """It was answered once from a memo that nobody kept, for the price of all reports."""
    survey = local.MemoisedUnary(epsilon=F(1, 2), once=F(1, 4), domain=2)
    with local.LocalOracle(epsilon=1, people=1).open([0]) as people:
        with pytest.raises(Refused, match="memo"):
            people.ask(survey.survey, person=0)
        assert people.left(0) == 1


class Fewer(list):
    """Shows an entry less than it stores."""

    def __iter__(self):
        return iter(list(list.__iter__(self))[1:])

    def __len__(self):
        raise RuntimeError("this list")


def test_people_are_those_that_a_list_stores():
    with local.LocalOracle(epsilon=200, people=2).open(Fewer([1, 0])) as people:
        survey = local.DirectResponse(epsilon=100, domain=2)
        assert [people.ask(survey, person=k).code for k in range(2)] == [1, 0]


def test_what_is_charged_is_what_is_drawn():
    """A survey that was tampered with says one budget in its text, and that is drawn and charged."""
    survey = local.DirectResponse(epsilon=F(1, 2), domain=2)
    object.__setattr__(survey, "epsilon", F(9, 10))
    with local.LocalOracle(epsilon=1, people=1).open([0], rng=unsafe_seeded(1)) as people:
        report = people.ask(survey, person=0)
        assert report.header.epsilon == F(9, 10) and people.left(0) == F(1, 10)


def test_people_are_named_by_their_place():
    with local.LocalOracle(epsilon=1, people=2).open([0, 1]) as people:
        for person in (2, -1, None, "0", True, 0.0):
            with pytest.raises(InvalidParameter, match="person"):
                people.ask(COIN, person=person)
        with pytest.raises(InvalidParameter, match="person"):
            people.ask(COIN)
        with pytest.raises(InvalidParameter, match="person"):
            people.ask(COIN, person=0, more=1)


@pytest.mark.parametrize("data", [[0], "ab", {0: 1, 1: 2}, None, 3])
def test_data_of_another_shape_are_refused(data):
    with pytest.raises(InvalidParameter, match="a list of 2 values"):
        local.LocalOracle(epsilon=1, people=2).open(data)


def test_odd_values_count_as_the_first():
    with local.LocalOracle(epsilon=200, people=3).open([[1], None, {"a": 1}]) as people:
        survey = local.DirectResponse(epsilon=100, domain=3)
        assert [people.ask(survey, person=k).code for k in range(3)] == [0, 0, 0]


def test_its_error_is_that_of_the_surveys():
    with pytest.raises(NoBound, match="Ask the survey"):
        local.LocalOracle(epsilon=1, people=1).error(0.05)
