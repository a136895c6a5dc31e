"""The reusable holdout: what a row can move, questions that misbehave, overfitting and its cure."""

import numpy as np
import pytest

import discreet as dp
from discreet import audit
from discreet.core.errors import ConversationClosed, InvalidParameter, NeighboursMismatch
from discreet.learning import ReusableHoldout
from discreet.testing import unsafe_seeded

ROW = dp.Replace("row")


def held_out(**changed):
    given = {"size": 400, "threshold": 0.2, "misses": 3, "epsilon": 2, "delta": 1e-6, "neighbours": ROW}
    return ReusableHoldout(**{**given, **changed})


def rude(row):
    """Say what it likes about odd rows, and keep what it has seen to itself."""
    if row == "raises":
        raise SystemExit("raises")
    return {"nan": np.nan, "large": 1e300, "low": -7, "text": "text", "list": [1]}.get(row, float(row == 1))


def ask_thrice(conversation):
    answers = []
    for mean in (0.0, 0.5, 1.0):
        if conversation.closed:
            break
        answers.append(conversation.ask(rude, mean=mean))
    return tuple(answers)


@pytest.mark.parametrize("odd", ["raises", "nan", "large", "low", "text", "list", None, 0, 1])
def test_no_row_moves_a_test_further_than_it_allows_for(odd):
    rows = [place % 2 for place in range(400)]
    report = audit.replay(held_out(), (rows, [*rows[:-1], odd]), ask_thrice, rng=unsafe_seeded(1))
    assert report.holds, report


def test_rows_see_no_other_row():
    rows = np.arange(400).reshape(200, 2)
    seen = []
    held_out(size=200).open(rows).ask(lambda row: seen.append(row.copy()) or 0, mean=0)
    assert {row.shape for row in seen} == {(2,)}


def test_means_that_hold_come_back_and_others_are_corrected():
    rows = [place % 2 for place in range(10_000)]
    conversation = held_out(size=10_000, threshold=0.05, misses=2).open(rows, rng=unsafe_seeded(1))
    assert conversation.ask(lambda row: row, mean=0.51).value == 0.51
    for wrong in (0.9, 0.1):
        answer = conversation.ask(lambda row: row, mean=wrong)
        assert not answer.held
        assert answer.value == pytest.approx(0.5, abs=0.02)
    assert conversation.misses == 2
    with pytest.raises(ConversationClosed):
        conversation.ask(lambda row: row, mean=0.5)


def test_no_answer_is_off_by_more_than_it_says():
    mechanism = held_out(size=2000, threshold=0.02, misses=5, questions=40)
    most, off = mechanism.error(0.05), 0
    for seed in range(20):
        generator = np.random.default_rng(seed)  # noqa: TID251
        rows = generator.random((2000,)) < generator.random()
        conversation = mechanism.open(rows.tolist(), rng=unsafe_seeded(seed))
        for _ in range(3):
            answer = conversation.ask(lambda row: row, mean=generator.random())
            off += abs(answer.value - rows.mean()) > most
    assert most < 0.15
    assert off <= 5


def test_bad_parameters_are_refused():
    with pytest.raises(NeighboursMismatch):
        held_out(neighbours=dp.AddRemove("row"))
    for changed in ({"size": 0}, {"threshold": 0}, {"misses": 0}, {"epsilon": 0}):
        with pytest.raises(InvalidParameter):
            held_out(**changed)
    for data in ([1] * 399, {1: 2}, "text"):
        with pytest.raises(InvalidParameter):
            held_out().open(data)
    conversation = held_out().open([1] * 400)
    for question, mean in (("text", 0.5), (bool, 2), (bool, float("nan"))):
        with pytest.raises(InvalidParameter):
            conversation.ask(question, mean=mean)
    assert conversation.asked == 0
