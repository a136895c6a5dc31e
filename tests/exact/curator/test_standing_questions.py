"""What one row moves in all that a standing question ever measures, whenever it came and whoever looked."""

import datetime
import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.core.loss import ApproxLoss
from discreet.core.rng import SYSTEM, Rng
from discreet.curator.standing.standing_noise import MOST, PeriodNoise, RunningNoise, choose_noise
from discreet.curator.standing.standing_question import read_standing
from discreet.data import Date, Row, Schema
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.streams.counters.buffered_counter import BufferedCounter
from discreet.streams.counters.tree_counter import TreeCounter
from discreet.streams.elements import WholeElements
from discreet.streams.going_on import decode, go_on

DAYS = 5
TEXTS = {
    PeriodNoise: "SELECT day, COUNT(*) AS n FROM t GROUP BY day",
    RunningNoise: "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS n FROM t GROUP BY day",
}


class Recording(Rng):
    """Keeps the true inputs of all steps, and lets them through with no noise."""

    unsafe = True

    def __init__(self):
        self.inputs, self.steps = [], []

    def random_bytes(self, count):
        return SYSTEM.random_bytes(count)

    def perform(self, primitive, value):
        self.inputs.extend(np.ravel(value).tolist())
        self.steps.append(primitive)
        return value


def standing(kind, neighbours, pair):
    first = datetime.date(2024, 1, 1)
    column = Date("day", lower=first, upper=first + datetime.timedelta(DAYS - 1))
    schema = Schema("t", columns=(column,), unit=Row(), neighbours=neighbours, time="day")
    tables, policy = PlanTables.of((schema,)), Policy(epsilon=Fraction(1), delta=Fraction(0))
    question = read_standing(parse(TEXTS[kind], schemas=tables, policy=policy), tables)
    return choose_noise(question, pair)


def schedules():
    """All ways to ask: the numbers of days that are over at each reading, the last one all."""
    for cut in range(2 ** (DAYS - 1)):
        yield [day + 1 for day in range(DAYS) if day == DAYS - 1 or cut >> day & 1]


def measure(noise, counts_at, schedule):
    """Return the true inputs of all that is measured, of a table that is `counts_at(reading)` each time."""
    recording, numbers = Recording(), []
    for reading, over in enumerate(schedule):
        numbers = noise.measure(np.array(counts_at(reading)[:over], dtype=np.int64), numbers, recording)
    assert len(numbers) == DAYS
    return recording


CHANGES = {
    dp.AddRemove("row"): [(day,) for day in range(DAYS)],
    dp.Replace("row"): list(itertools.permutations(range(DAYS), 2)),
}


@pytest.mark.parametrize("neighbours", CHANGES, ids=str)
@pytest.mark.parametrize("kind, delta", [(PeriodNoise, 0), (RunningNoise, 0), (RunningNoise, 1)])
def test_a_row_moves_what_is_measured_by_no_more_than_is_paid_for(kind, delta, neighbours):
    """Rows arrive at any reading, late ones too; others are there, and come and go."""
    pair = ApproxLoss(Fraction(1), Fraction(delta, 10**5))
    noise = standing(kind, neighbours, pair)
    assert isinstance(noise, kind)
    if kind is RunningNoise:  # so few days are counted best one by one: take those that more are counted by
        public = {"horizon": DAYS, "epsilon": 1, "elements": WholeElements(MOST)}
        public |= {"delta": 1e-5, "fineness": 100} if delta else {"delta": 0, "branching": 3}
        of_days = BufferedCounter if delta else TreeCounter
        noise = RunningNoise(of_days(neighbours=noise.counter.neighbours, **public))
    largest, sensitivity = 0.0, None
    for schedule in schedules():
        others = [[(3 * day + 2 * reading) % 7 for day in range(DAYS)] for reading in range(len(schedule))]
        plain = measure(noise, others.__getitem__, schedule)
        for days in CHANGES[neighbours]:
            for arrives in itertools.product(range(len(schedule)), repeat=len(days)):

                def with_row(reading, days=days, arrives=arrives, others=others):
                    counts = list(others[reading])
                    for sign, day, since in zip((1, -1), days, arrives, strict=False):
                        counts[day] += sign * (reading >= since)
                    return counts

                moved = measure(noise, with_row, schedule)
                (step,) = set(moved.steps)
                gap = np.abs(np.array(moved.inputs, dtype=float) - np.array(plain.inputs, dtype=float))
                largest = max(largest, float(np.linalg.norm(gap, step.norm)))
                sensitivity = float(step.sensitivity)
    assert largest <= sensitivity
    # What is paid for is what can happen, but for rounding; two rows that are replaced share some sums.
    assert largest >= (0.6 if CHANGES[neighbours][0][1:] and kind is RunningNoise else 0.9) * sensitivity


def test_counts_that_can_be_negative_here_only_are_clipped_where_elements_are():
    """The reader of a counter clips elements, which moves no two of them further apart."""
    noise = standing(RunningNoise, dp.AddRemove("row"), ApproxLoss(Fraction(1), Fraction(0)))
    recording = Recording()
    noise.measure(np.array([1 << 40, -5, 3, 0, 0]), [], recording)
    assert recording.inputs[0] == 1 << 20


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("kind", [TreeCounter, functools.partial(TreeCounter, branching=4), BufferedCounter])
def test_going_on_is_as_going_through(kind, delta):
    """Whether a counter is asked at once or in parts, its answers follow from its numbers in the same way."""
    if kind is BufferedCounter and not delta:
        return
    counter = kind(
        horizon=13,
        epsilon=1,
        delta=delta,
        neighbours=dp.streams.Contribution(1),
        elements=dp.streams.WholeElements(100),
    )
    stream = np.arange(13) % 4
    told = []
    for over in (1, 5, 6, 13):
        told = go_on(counter, stream[:over], told, rng=Recording())
    whole = go_on(counter, stream, [], rng=Recording())
    assert told == whole
    answers = decode(counter, told)
    assert np.allclose(answers, np.cumsum(stream), atol=2e-3)
    assert decode(counter, told[:5]) == answers[:5] and decode(counter, []) == []


def test_sums_without_delta_are_answered_by_a_wide_tree():
    """Whose every number is of days that are over, so that what was told is enough to go on."""
    first = datetime.date(2024, 1, 1)
    column = Date("day", lower=first, upper=first + datetime.timedelta(364))
    schema = Schema("t", columns=(column,), unit=Row(), neighbours=dp.AddRemove("row"), time="day")
    tables, policy = PlanTables.of((schema,)), Policy(epsilon=Fraction(1), delta=Fraction(0))
    question = read_standing(parse(TEXTS[RunningNoise], schemas=tables, policy=policy), tables)
    chosen = choose_noise(question, ApproxLoss(Fraction(1), Fraction(0))).counter
    assert isinstance(chosen, TreeCounter) and chosen.branching == 20
    binary = TreeCounter(
        horizon=365, epsilon=1, delta=0, neighbours=chosen.neighbours, elements=chosen.elements
    )
    assert chosen.mean_variance < 0.25 * binary.mean_variance
