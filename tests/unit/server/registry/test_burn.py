"""Burn: the course of a budget, its rate by the ledger's clock, and where that leads."""

from fractions import Fraction

import pytest
from tests.unit.server.registry.conftest import DAY, ROWS, START, read, writing

from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.server.registry.burn import POINTS, measure_use
from discreet.server.registry.figures import read_whole


def burn(path, *, day):
    copy = read(path).copy
    use = measure_use(copy.account, copy.records, START + int(day * DAY))
    return use.course, use.burn


@pytest.fixture
def past(tmp_path):
    with writing(tmp_path, delta=Fraction(0)) as one:
        yield one


def test_nothing_charged_has_no_rate(past):
    past.ask(end="void")
    assert burn(past.path, day=3) == ((), None)


def test_a_steady_use_is_told_a_day_and_ends_when_the_budget_does(past):
    for day in range(10):  # 10 of 125 that there are
        past.ask(day=day)
    course, found = burn(past.path, day=10)
    assert found.days == 10
    assert found.epsilon == Fraction(1, 250)
    assert found.part == Fraction(1, 125)
    assert found.ends == START + 125 * DAY
    assert course[0].left == 1
    assert course[-1] == course[-2].__class__(START + 10 * DAY, 1 - Fraction(10, 125))
    lefts = [one.left for one in course]
    assert lefts == sorted(lefts, reverse=True)


def test_a_burst_counts_as_a_day(past):
    for _ in range(5):
        past.ask()
    _, found = burn(past.path, day=0.01)
    assert (found.days, found.epsilon) == (1, Fraction(5, 250))


def test_only_the_last_days_count(past):
    for _ in range(20):
        past.ask()
    past.ask(day=50)
    _, found = burn(past.path, day=60)
    assert (found.days, found.epsilon) == (30, Fraction(1, 250) / 30)


def test_what_is_long_ago_says_nothing(past):
    past.ask()
    _, found = burn(past.path, day=100)
    assert (found.epsilon, found.part, found.ends) == (0, 0, None)


def test_a_slow_use_lasts_for_a_century(tmp_path):
    with writing(tmp_path) as slow:
        slow.ask(Guarantee(PureLoss(Fraction(1, 10**4)), ROWS))
    _, found = burn(slow.path, day=29)
    assert found.part > 0
    assert found.ends is None


def test_what_was_given_back_never_was(past):
    past.ask()
    past.ask(day=1, end="void")
    past.ask(day=2)
    course, _ = burn(past.path, day=3)
    assert course[-1].left == 1 - Fraction(2, 125)


def test_a_course_is_short_and_ends_with_what_is_left(past):
    for place in range(100):
        past.ask(day=place / 10)
    course, _ = burn(past.path, day=10)
    assert len(course) <= POINTS + 3
    assert course[-1].left == 1 - Fraction(100, 125)
    copy = read(past.path).copy
    assert 1 - read_whole(copy.account).part == course[-1].left
    assert measure_use(copy.account, copy.records, START).sums["all"].known == copy.account.sum("all").known
