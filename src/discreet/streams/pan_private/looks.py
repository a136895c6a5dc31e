"""Small streams with one look inside, for the exact audits: what an intruder and the public see together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from discreet.core.neighbours import UserEvents


def look_once(count: int, at: int, *, at_once: bool = False) -> Callable[[Any], Hashable]:
    """Return a script that answers `count` steps of a stream and reads the state after `at` of them.

    Parameters
    ----------
    at_once
        Whether the steps on either side of the look are taken together.
    """
    return look_at(count, (at,), at_once=at_once)


def look_at(
    count: int, places: tuple[int, ...], *, at_once: bool = False, refresh: bool = False
) -> Callable[[Any], Hashable]:
    """Return a script that reads the state after several numbers of steps.

    That is more than is promised for, unless every look but the last is followed by a refresh.
    """

    def script(conversation: Any) -> Hashable:
        seen: list[Hashable] = []
        cuts = sorted({0, count, *places}) if at_once else range(count + 1)
        for start, end in zip(cuts, [*cuts[1:], None], strict=True):
            if start in places:
                seen.append(freeze_state(conversation.state.reveal()))
                if refresh and start != max(places):
                    conversation.refresh()
            if end is not None:
                seen.extend(conversation.ask(end - start).tolist())
        return tuple(seen)

    return script


def freeze_state(state: Any) -> Hashable:
    """Return a state as something that can be compared: every number of it, with its name."""
    if isinstance(state, dict):
        return tuple((name, freeze_state(state[name])) for name in sorted(state))
    if isinstance(state, list | tuple):
        return tuple(map(freeze_state, state))
    return state  # type: ignore[no-any-return]


def look_between(
    count: int, places: tuple[int, ...], answers: tuple[int, ...], *, refresh: bool = True
) -> Callable[[Any], Hashable]:
    """Return a script for a table: it takes `count` elements, and between them answers and is looked into.

    Parameters
    ----------
    places, answers
        After how many elements the state is read, and after how many an answer is given, thereafter.
    refresh
        Whether every look but the last is followed by a refresh.
    """

    def script(conversation: Any) -> Hashable:
        seen: list[Hashable] = []
        for taken in range(count + 1):
            if taken in places:
                seen.append(freeze_state(conversation.state.reveal()))
                if refresh and taken != max(places):
                    conversation.refresh()
            seen.extend(_freeze_answer(conversation.estimate()) for _ in range(answers.count(taken)))
            if taken < count and not conversation.closed:
                conversation.advance(1)
        return tuple(seen)

    return script


def _freeze_answer(answer: Any) -> Hashable:
    return tuple(answer.tolist()) if isinstance(answer, np.ndarray) else answer


def list_pairs(domain: Sequence[tuple[Any, Any]], size: int) -> Iterator[tuple[Any, Any]]:
    """Yield every stream of `size` steps, each with all steps of one of its users blank."""
    for left, right in UserEvents().pairs(domain, size):
        if left.count(None) < right.count(None):
            yield left, right


def look_at_reports(count: int) -> Callable[[Any], Hashable]:
    """Return a script that takes `count` elements, and looks after each of them."""

    def script(conversation: Any) -> Hashable:
        seen: list[Hashable] = []
        for _ in range(count):
            conversation.ask(1)
            seen.append(freeze_state(conversation.state.reveal()))
        return tuple(seen)

    return script
