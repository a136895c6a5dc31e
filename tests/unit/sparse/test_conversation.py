"""Conversations: what they answer, when they close, and what no question can make them say."""

import math
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import ConversationClosed, InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import Replace
from discreet.core.rng import Rng
from discreet.mechanisms.scores import Monotone
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.plan import Form, NoiseKind, Rule
from discreet.sparse.sparse import Sparse
from discreet.testing import unsafe_seeded

FAR = 10**9


class Counting(Rng):
    """Counts what is performed and notes every input."""

    unsafe = True

    def __init__(self, seed=1):
        self._inner = unsafe_seeded(seed)
        self.seen = []

    def random_bytes(self, count):
        return self._inner.random_bytes(count)

    def perform(self, primitive, value):
        self.seen.append((type(primitive).__name__, value))
        return super().perform(primitive, value)


def above(**public):
    return AboveThreshold(**({"sensitivity": 1, "epsilon": 1, "delta": 0, "threshold": 0} | public))


def sparse(**public):
    return Sparse(**({"sensitivity": 1, "epsilon": 1, "delta": 0, "threshold": 0, "positives": 2} | public))


def numeric(**public):
    return NumericSparse(
        **({"sensitivity": 1, "epsilon": 1, "delta": 0, "threshold": 0, "positives": 2} | public)
    )


def constant(value):
    return lambda data: value


def test_definition_3_10_numbers_and_silences_are_within_the_error():
    """A right bound at beta 0.2 fails in more than 40 of 100 conversations with probability below 1e-6."""
    mechanism, beta = numeric(queries=10), 0.2
    alpha = mechanism.error(beta)
    values = [*(-alpha - 1,) * 4, 2 * alpha, *(-3 * alpha,) * 4, alpha / 2]
    late = 0
    for seed in range(100):
        conversation = mechanism.open(None, rng=unsafe_seeded(seed))
        for place, value in enumerate(values):
            answer = conversation.ask(constant(round(value)))
            wrong = value > alpha if answer is None else abs(answer - round(value)) > alpha
            if wrong or (conversation.closed and place < len(values) - 1):
                late += 1
                break
    assert late <= 40


def test_it_answers_and_closes_after_the_positive_answer():
    conversation = above().open(None, rng=unsafe_seeded(1))
    assert [conversation.ask(constant(-FAR)) for _ in range(50)] == [False] * 50
    assert conversation.ask(constant(FAR)) is True
    assert conversation.closed
    with pytest.raises(ConversationClosed, match="its positive answer has been given"):
        conversation.ask(constant(FAR))
    assert conversation.asked == 51


@pytest.mark.parametrize("form", list(Form))
def test_it_closes_after_the_last_positive_answer_and_says_so(form):
    rng = Counting()
    conversation = sparse(positives=3, form=form).open(None, rng=rng)
    for positive in (FAR, -FAR, FAR, FAR):
        assert conversation.ask(constant(positive)) is (positive == FAR)
    drawn = len(rng.seen)
    with pytest.raises(ConversationClosed, match="all 3 positive answers have been given"):
        conversation.ask(constant(FAR))
    assert len(rng.seen) == drawn, "a closed conversation draws nothing"
    thresholds = [value for name, value in rng.seen if name == "AddNoise"]
    assert thresholds == [0] * (1 if form is Form.ONCE else 3), "one threshold, or one for each positive"


def test_numeric_answers_are_fresh_and_none_below():
    rng = Counting()
    conversation = numeric(form=Form.ONCE).open(None, rng=rng)
    assert conversation.ask(constant(-FAR)) is None
    assert abs(conversation.ask(constant(FAR)) - FAR) < 1000
    assert [name for name, _ in rng.seen] == ["AddNoise", "NoisyComparison", "NoisyComparison", "AddNoise"]
    assert rng.seen[-1][1] == FAR, "the value meets fresh noise, not the noise of the test"


def test_values_come_back_on_the_grid():
    conversation = numeric(grid=0.25, sensitivity=0.5, epsilon=9).open(3.1, rng=unsafe_seeded(3))
    answer = conversation.ask(lambda data: data + 1000)
    assert isinstance(answer, float)
    assert answer * 4 == round(answer * 4)


def test_every_question_may_bring_its_own_threshold():
    conversation = above(threshold=None).open(100, rng=unsafe_seeded(4))
    assert conversation.ask(lambda data: data, threshold=FAR) is False
    assert conversation.ask(lambda data: data, threshold=-FAR) is True


@pytest.mark.parametrize("wrong", [math.nan, math.inf, "7", True, None])
def test_a_wrong_threshold_is_refused_before_anything_happens(wrong):
    rng = Counting()
    conversation = above(threshold=None).open(0, rng=rng)
    looked = []
    with pytest.raises(InvalidParameter, match="threshold"):
        conversation.ask(looked.append, threshold=wrong)
    assert not looked and not rng.seen and conversation.asked == 0


def test_what_is_no_function_is_refused():
    with pytest.raises(InvalidParameter, match="query must be a function of the data"):
        above().open(0).ask(17)


def raising(data):
    raise ValueError(f"the data are {data}")


@pytest.mark.parametrize(
    "query",
    [
        raising,
        constant(None),
        constant(math.nan),
        constant("secret"),
        constant([1, 2]),
        constant(np.array([7])),
        constant(1j),
        lambda data: data / 0,
        lambda data, other: 0,
    ],
)
def test_a_query_that_fails_counts_as_zero_and_says_nothing(query):
    rng = Counting()
    conversation = above().open(41, rng=rng)
    conversation.ask(query)
    (_, (value, _)) = rng.seen[-1]
    assert value == 0
    assert conversation.asked == 1
    assert [name for name, _ in rng.seen] == ["AddNoise", "NoisyComparison"], "no draw lost, none reused"


@pytest.mark.parametrize(
    ("given", "units"),
    [
        (True, 1),
        (np.bool_(True), 1),
        (2.5, 3),
        (2.49, 2),
        (np.float32(7), 7),
        (np.int8(-3), -3),
        (Fraction(7, 2), 4),
        (math.inf, 1 << 62),
        (10**400, 1 << 62),
    ],
)
def test_numbers_of_every_kind_are_read(given, units):
    rng = Counting()
    above().open(0, rng=rng).ask(constant(given))
    assert rng.seen[-1][1][0] == units


def test_a_query_cannot_ask_its_own_conversation():
    """Otherwise the inner question could take the last positive answer and the outer one give another."""
    rng = Counting()
    conversation = above().open(None, rng=rng)

    def nested(data):
        conversation.ask(constant(FAR))
        return FAR

    conversation.ask(nested)
    assert conversation.asked == 1
    assert rng.seen[-1][1][0] == 0, "the inner question is refused, so the outer one counts as 0"


def test_threads_take_turns_and_get_no_answer_too_many():
    conversation = sparse(positives=5, epsilon=10).open(None)
    start = threading.Barrier(8)
    positives = []

    def slow(data):
        time.sleep(0.001)
        return FAR

    def many():
        start.wait()
        for _ in range(10):
            try:
                positives.append(conversation.ask(slow))
            except ConversationClosed:
                return

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert positives == [True] * 5


def test_an_interrupt_from_inside_a_query_counts_as_zero():
    """Whether a query raises it may depend on the data, so nobody may see it."""

    def interrupted(data):
        raise KeyboardInterrupt

    rng = Counting()
    above(threshold=1).open(0, rng=rng).ask(interrupted)
    assert rng.seen[-1][1][0] == 0


class Failing(Counting):
    """Fails at one random step."""

    def __init__(self, at):
        super().__init__()
        self._at = at

    def perform(self, primitive, value):
        answer = super().perform(primitive, value)
        if len(self.seen) == self._at:
            raise OSError("no randomness")
        return answer


def test_nobody_sets_back_what_closes_it():
    conversation = numeric(positives=2).open(None)
    with pytest.raises(AttributeError):
        conversation.positives = -5
    planned = above(noise=NoiseKind.GAUSSIAN, delta=1e-6, queries=3, threshold=FAR).open(None)
    with pytest.raises(AttributeError):
        planned.asked = 0
    for _ in range(3):
        planned.ask(constant(0))
    assert planned.closed


def test_when_randomness_fails_a_positive_answer_stays_counted():
    """Steps: threshold, comparison, then the value, which fails after the test was passed."""
    conversation = numeric(positives=1).open(None, rng=Failing(at=3))
    with pytest.raises(OSError, match="no randomness"):
        conversation.ask(constant(FAR))
    assert conversation.closed
    redrawn = numeric(positives=2, form=Form.REDRAWN).open(None, rng=Failing(at=3))
    with pytest.raises(OSError, match="no randomness"):
        redrawn.ask(constant(FAR))
    assert redrawn.positives == 1
    redrawn.ask(constant(FAR))
    assert redrawn.closed


def test_thresholds_are_rounded_up():
    rng = Counting()
    conversation = above(threshold=0.5, noise=NoiseKind.LAPLACE).open(0, rng=rng)
    conversation.ask(constant(0), threshold=2.01)
    hidden = rng.seen[1][1][1] - 3
    conversation_at_three = Counting()
    above(noise=NoiseKind.LAPLACE).open(0, rng=conversation_at_three).ask(constant(0), threshold=3)
    assert conversation_at_three.seen[1][1][1] - 3 == hidden


@pytest.mark.parametrize(("threshold", "lifted"), [(2, 0), (2.25, 0), (2.3, 0.2), (2.01, 0.24)])
def test_the_error_covers_a_threshold_off_the_grid(threshold, lifted):
    """A negative answer may be about a value beyond the next grid value, not only beyond the threshold."""
    public = {"epsilon": 10**6, "grid": 0.25, "noise": NoiseKind.LAPLACE}
    made = above(threshold=threshold, **public)
    assert made.error(0.05) == pytest.approx(0.125 + lifted)
    for k in range(200):
        value = 2 + k / 200
        if above(threshold=threshold, **public).open(value, rng=unsafe_seeded(k)).ask(float):
            assert value >= threshold - made.error(0.05)
        else:
            assert value <= threshold + made.error(0.05)


def test_gaussian_noise_closes_after_the_planned_number_of_questions():
    conversation = above(delta=1e-6, noise=NoiseKind.GAUSSIAN, queries=3).open(None, rng=unsafe_seeded(5))
    for _ in range(3):
        assert conversation.ask(constant(-FAR)) is False
    with pytest.raises(ConversationClosed, match="all 3 questions it was planned for have been asked"):
        conversation.ask(constant(-FAR))


def test_data_stay_out_of_sight():
    conversation = sparse().open("secret 4711", rng=unsafe_seeded(6))
    conversation.ask(len)
    for text in (repr(conversation), repr(conversation.mechanism), str(conversation.guarantee)):
        assert "4711" not in text
    assert conversation.unsafe_seeded


@pytest.mark.parametrize("make", [above, sparse, numeric])
@pytest.mark.parametrize(
    "public",
    [
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"epsilon": True},
        {"delta": 1},
        {"delta": -0.1},
        {"delta": "0"},
        {"sensitivity": 0},
        {"sensitivity": 0.5},
        {"threshold": math.nan},
        {"grid": 0},
        {"queries": 0},
        {"queries": 2.0},
        {"noise": "laplace"},
        {"rule": "book"},
        {"rule": Rule.BOOK},
        {"noise": NoiseKind.GAUSSIAN},
        {"neighbours": "row"},
    ],
    ids=str,
)
def test_bad_parameters_are_refused(make, public):
    with pytest.raises(InvalidParameter):
        make(**public)


@pytest.mark.parametrize(
    ("make", "public"),
    [
        (sparse, {"positives": 0}),
        (sparse, {"positives": 1.0}),
        (sparse, {"form": "once"}),
        (sparse, {"form": Form.ONCE, "noise": NoiseKind.GAUSSIAN, "delta": 0.01}),
        (numeric, {"values": NoiseKind.EXPONENTIAL}),
        (numeric, {"values": NoiseKind.GAUSSIAN}),
        (numeric, {"values": "laplace"}),
    ],
)
def test_bad_choices_are_refused(make, public):
    with pytest.raises(InvalidParameter):
        make(**public)


def test_epsilon_and_delta_have_no_default():
    for kind in (AboveThreshold, Sparse, NumericSparse):
        with pytest.raises(TypeError, match="epsilon"):
            kind(sensitivity=1)


def test_monotone_needs_neighbours_that_contain_each_other():
    with pytest.raises(NeighboursMismatch):
        sparse(sensitivity=Monotone(1), neighbours=Replace("row"))
