"""The conversation: kinds of answers, closing, repeats, contradictions, batches, threads."""

import math
import threading
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import ConversationClosed, InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.query import ProductQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.fitting.weights import Hypothesis
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.batch import Batch
from discreet.query_release.online.boxes import read_workload
from discreet.query_release.online.history import MeasuredBand, relearn
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.query_release.online.questions import Question
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", range(4)), ("b", range(3)), ("c", (0, 1))])
GENERATOR = np.random.default_rng(5)  # noqa: TID251
COUNTS = GENERATOR.integers(0, 4000, UNIVERSE.shape)
ROWS = int(COUNTS.sum())
CELLS = Marginals(UNIVERSE, [["a", "b", "c"]])


def mechanism(**changed):
    public = {
        "universe": UNIVERSE,
        "epsilon": 1,
        "delta": 1e-9,
        "updates": 8,
        "neighbours": Replace("person"),
        "rows": ROWS,
    }
    return MultiplicativeWeights(**{**public, **changed})


def opened(seed=1, **changed):
    return mechanism(**changed).open(Histogram.dense(UNIVERSE, COUNTS), rng=unsafe_seeded(seed))


def box(*masks):
    return ProductQuery(UNIVERSE, (0, 1, 2), "box", masks=[np.array(mask, dtype=bool) for mask in masks])


def truth(query):
    return query.evaluate(COUNTS)


ALL = box([1, 1, 1, 1], [1, 1, 1], [1, 1])
HARD = Predicates(UNIVERSE, [(["a", "b", "c"], COUNTS > np.median(COUNTS))]).query(0)


def test_easy_questions_are_free_and_hard_ones_measured():
    conversation = opened()
    assert (conversation.ask(ALL).kind, conversation.ask(ALL).value) == ("free", ROWS)
    hard = conversation.ask(HARD)
    assert hard.kind == "measured" and conversation.measured == 1
    assert abs(hard.value - truth(HARD)) <= hard.error < 500


def test_what_was_measured_is_learned():
    conversation = opened()
    before = abs(conversation.last(HARD).value - truth(HARD))
    hard = conversation.ask(HARD)
    after = conversation.synopsis.answer(HARD)
    assert abs(after - hard.value) <= hard.error + 1 < before
    rest = ProductQuery(UNIVERSE, (0, 1, 2), "rest", masks=[np.ones(4, bool), np.ones(3, bool), [True, True]])
    assert conversation.synopsis.total == pytest.approx(ROWS)
    assert rest.evaluate(conversation.synopsis.weights) == pytest.approx(ROWS)


def test_repeated_questions_have_one_answer_at_no_cost():
    conversation = opened()
    first = conversation.ask(HARD)
    again = TableQuery(UNIVERSE, (0, 1, 2), "another name", table=COUNTS > np.median(COUNTS))
    tested = conversation.tested
    assert all(conversation.ask(again) == first for _ in range(50))
    assert (conversation.tested, conversation.measured) == (tested, 1)


def close(conversation):
    """Ask for what the hypothesis misses most until nothing is left to measure."""
    while not conversation.closed:
        off = COUNTS - conversation.synopsis.weights
        mask = (off > 0) ^ (GENERATOR.random(UNIVERSE.shape) < 0.02)
        conversation.ask(TableQuery(UNIVERSE, (0, 1, 2), "worst", table=mask))


def test_it_closes_after_the_last_measured_answer_and_says_so():
    conversation = opened(updates=3, threshold=100)
    first = conversation.ask(HARD)
    close(conversation)
    assert conversation.measured == 3
    with pytest.raises(ConversationClosed, match="all 3 measured answers have been given; last"):
        conversation.ask(ALL)
    with pytest.raises(ConversationClosed):
        conversation.ask_many(CELLS)
    assert conversation.last(HARD) == first
    stale = conversation.last(box([1, 0, 0, 0], [1, 0, 0], [1, 0]))
    assert stale.kind == "stale" and stale.error == math.inf


def test_a_batch_that_outlives_the_budget_ends_stale():
    conversation = opened(updates=2, threshold=1)
    answers = conversation.ask_many(CELLS)
    kinds = answers.kinds.tolist()
    assert conversation.closed and kinds.count("measured") == 2
    last = max(place for place, kind in enumerate(kinds) if kind == "measured")
    assert set(kinds[last + 1 :]) == {"stale"} and "stale" not in kinds[:last]
    assert conversation.asked == len(CELLS)


@pytest.mark.parametrize("warm", [False, True])
def test_a_batch_is_answered_like_its_questions(warm):
    """Nearly the same questions are measured, and all answers are within both errors."""
    start = None
    if warm:
        start = ResidualMarginals(
            workload=Marginals.of_order(UNIVERSE, 2),
            epsilon=Fraction(1, 2),
            delta=1e-9,
            neighbours=Replace("person"),
        )
    batch = Conjunctions.of_width(UNIVERSE, 3)
    together, apart = opened(start=start, updates=40, seed=2), opened(start=start, updates=40, seed=2)
    many = together.ask_many(batch)
    one_by_one = [apart.ask(query) for query in batch]
    assert together.asked == apart.asked == len(batch)
    assert abs(together.measured - apart.measured) <= 3
    values = np.array([answer.value for answer in one_by_one])
    errors = many.errors + np.array([answer.error for answer in one_by_one])
    assert (np.abs(values - many.values) <= errors).all()
    assert (np.abs(many.values - batch.answers(COUNTS)) <= many.errors).all()
    assert len(many) == len(batch) and [a.kind for a in many] == many.kinds.tolist()


def test_what_is_known_too_badly_goes_through_the_gate_in_a_batch_too():
    """The error that needs no gate is one row here, and no table is known so well."""
    start = ResidualMarginals(
        workload=Marginals.of_order(UNIVERSE, 2),
        epsilon=Fraction(1, 2),
        delta=1e-9,
        neighbours=Replace("person"),
    )
    batch = Marginals.of_order(UNIVERSE, 1)
    together, apart = (opened(start=start, updates=40, threshold=1) for _ in range(2))
    together.ask_many(batch)
    for query in batch:
        apart.ask(query)
    assert together.tested == apart.tested == len(batch)


def test_a_batch_answers_repeats_once():
    twice = Predicates(
        UNIVERSE, [(["a", "b", "c"], COUNTS > np.median(COUNTS))] * 3 + [(["a"], lambda a: a == 1)]
    )
    conversation = opened()
    answers = conversation.ask_many(twice)
    assert conversation.measured <= 2 and len({answers[place].value for place in range(3)}) == 1
    assert conversation.ask(HARD) == answers[0]
    assert conversation.ask_many(twice)[0] == answers[0]


def test_weights_on_a_grid():
    conversation = opened(grid=Fraction(1, 10))
    ages = Weighted(UNIVERSE, [(["a"], [0, 0.3, 0.5, 1.0]), (["b"], [0.1, 1.0, 0])])
    answers = conversation.ask_many(ages)
    exact = ages.answers(COUNTS)
    assert (np.abs(answers.values - exact) <= answers.errors).all()
    predicate = conversation.ask(HARD)
    assert abs(predicate.value - truth(HARD)) <= predicate.error
    with pytest.raises(InvalidParameter, match="grid"):
        opened().ask(ages.query(0))


def test_a_private_number_of_rows_is_measured():
    conversation = opened(neighbours=AddRemove("person"), rows=None)
    assert conversation.synopsis.total == pytest.approx(ROWS, abs=2000)
    assert conversation.synopsis.total != ROWS
    guessed = opened(neighbours=AddRemove("person"), rows=1000)
    assert guessed.synopsis.total == pytest.approx(1000)


def test_contradictory_measurements_leave_usable_weights():
    hypothesis = Hypothesis(UNIVERSE, 100.0)
    half = np.array([1.0, 0, 0, 0])
    history = [
        MeasuredBand((0,), half, 80, 90),
        MeasuredBand((0,), half, 10, 20),
        MeasuredBand((0,), 1 - half, 150, 170),
        MeasuredBand((0,), half, -50, -40),
    ]
    relearn(hypothesis, history)
    assert np.isfinite(hypothesis.array).all() and (hypothesis.array > 0).all()
    assert hypothesis.array.sum() == pytest.approx(100)
    assert history[-1].said(hypothesis) == pytest.approx(0.5)  # as near to the last as weights can be


def test_agreeing_measurements_are_all_met():
    hypothesis = Hypothesis(UNIVERSE, 100.0)
    generator = np.random.default_rng(7)  # noqa: TID251
    real = generator.dirichlet(np.ones(UNIVERSE.size)).reshape(UNIVERSE.shape) * 100
    weights = [generator.random(4) for _ in range(2)] + [np.array([0.0, 1, 0, 1])]
    history = [MeasuredBand((0,), w, *(real.sum(axis=(1, 2)) @ w + np.array([-1, 1]))) for w in weights]
    for _ in range(20):
        relearn(hypothesis, history)
    assert all(each.low - 1e-3 <= each.said(hypothesis) <= each.high + 1e-3 for each in history)


def test_odd_questions_are_refused_and_nothing_is_drawn():
    conversation = opened()
    for odd in (None, 3, "text", lambda data: 1):
        with pytest.raises(InvalidParameter):
            conversation.ask(odd)
    with pytest.raises(InvalidParameter):
        conversation.ask(ALL, threshold=3)
    elsewhere = Universe([("a", range(4))])
    with pytest.raises(InvalidParameter, match="universe"):
        conversation.ask_many(Marginals(elsewhere, [["a"]]))
    assert (conversation.tested, conversation.measured, conversation.asked) == (0, 0, 0)


def test_threads_share_one_budget():
    conversation = opened(updates=4, threshold=1)
    queries, kinds = list(CELLS), []

    def work(part):
        for query in part:
            try:
                kinds.append(conversation.ask(query).kind)
            except ConversationClosed:
                return

    threads = [threading.Thread(target=work, args=(queries[place::4],)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kinds.count("measured") == conversation.measured == 4


def test_the_number_of_rows_can_be_measured_too():
    """A query without attributes moves nothing in the hypothesis, and costs its one update."""
    everybody = ProductQuery(UNIVERSE, (), "everybody", masks=[])
    rows = int(COUNTS.sum())
    for grid, start in ((None, False), (Fraction(1, 4), False), (None, True)):
        public = {"neighbours": AddRemove("row"), "epsilon": 1, "delta": 1e-6}
        warm = ResidualMarginals(workload=Marginals.of_order(UNIVERSE, 1), **public | {"epsilon": 0.25})
        made = MultiplicativeWeights(
            universe=UNIVERSE, updates=5, rows=7, grid=grid, start=warm if start else None, **public
        )
        conversation = made.open(Histogram.dense(UNIVERSE, COUNTS), rng=unsafe_seeded(4))
        answer = conversation.ask(everybody)
        assert abs(answer.value - rows) <= answer.error
        assert answer.kind == ("free" if start else "measured"), "a warm start knows it"
        assert conversation.measured == (not start) and conversation.ask(everybody) == answer
        both = conversation.ask_many(Marginals(UNIVERSE, [[], ["c"]]))
        assert both[0].value == answer.value and conversation.measured <= 3  # the tables of c are off as well
        if grid is not None:
            half = conversation.ask(TableQuery(UNIVERSE, (), "half of everybody", table=0.5))
            assert abs(half.value - rows / 2) <= half.error
        assert math.isfinite(conversation.synopsis.total)


def test_a_question_that_is_refused_loses_no_answers_before_it():
    mixed = Weighted(UNIVERSE, [(["a"], [1, 0.5, 0, 0]), (["a"], [2, 0, 0, 0])])
    conversation = opened(grid=Fraction(1, 2))
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        conversation.ask_many(mixed)
    assert conversation.measured == conversation.tested == conversation.asked == 0


class Weightless(TableQuery):
    """Weights that are no numbers, in a query that says they are."""

    is_integral = True

    def table(self):
        return np.array([math.nan, 0, 0, 1])


def test_weights_that_are_no_numbers_do_not_pass():
    for grid in (None, Fraction(1, 2)):
        conversation = opened(grid=grid)
        for ask in (conversation.ask, conversation.last):
            with pytest.raises(InvalidParameter, match="finite"):
                ask(Weightless(UNIVERSE, (0,), "weightless", table=[0, 0, 0, 1]))
        assert conversation.tested == 0


def test_questions_and_batches_made_by_hand_are_not_answered():
    """Whoever could make one would choose its weights: a row would count a million times."""
    conversation = opened()
    million = Question(b"mine", (0, 1, 2), np.full(UNIVERSE.shape, 10**6), None)
    batch = Batch(read_workload(CELLS), None, scale=1, most=1 << 60, bar=0)
    other = opened().settle(HARD)
    for made in (million, batch, other):
        with pytest.raises(InvalidParameter, match="this conversation has read"):
            conversation.ask(made)
    assert conversation.asked == conversation.tested == 0
    settled = conversation.settle(HARD)
    with pytest.raises(ValueError, match="read-only"):
        settled.units[...] = 10**6
    assert conversation.ask(settled) == conversation.ask(HARD)
    read = conversation.read(CELLS)
    assert not any(np.array_equal(held, COUNTS.ravel()) for held in vars(read).values())
