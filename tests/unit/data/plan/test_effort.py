"""Steps are counted where somebody counts them, and a question that takes too many is refused."""

from __future__ import annotations

import threading

import pytest

from discreet.core.errors import Refused
from discreet.data.plan.effort import MAX_STEPS, is_limited, limit_effort, spend


def test_steps_add_up_and_are_refused_beyond_the_limit() -> None:
    with limit_effort(10):
        spend(4)
        spend(6)
        with pytest.raises(Refused, match="steps to plan"):
            spend(1)


def test_nothing_is_counted_outside() -> None:
    assert not is_limited()
    spend(MAX_STEPS + 1)
    with limit_effort(1):
        assert is_limited()
    assert not is_limited()


def test_each_thread_and_each_question_counts_its_own() -> None:
    seen: list[bool] = []
    with limit_effort(5):
        spend(5)
        other = threading.Thread(target=lambda: seen.append(is_limited()))
        other.start()
        other.join()
        with limit_effort(5):
            spend(5)
    assert seen == [False]
