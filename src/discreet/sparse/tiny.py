"""Small conversations and their neighbours, for the exact audits of the sparse family."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import product
from typing import Any

from discreet.core.mechanism import Conversation


def each_value(count: int, **public: Any) -> Callable[[Conversation[Any]], Hashable]:
    """Return a script that asks for the value at every position and notes how the conversation ends."""

    def script(conversation: Conversation[Any]) -> Hashable:
        answers: list[Any] = []
        for place in range(count):
            if conversation.closed:
                break
            answers.append(conversation.ask(lambda data, place=place: data[place], **public))
        return (*answers, "closed" if conversation.closed else "open")

    return script


def moved_pairs(count: int, shift: int, *, monotone: bool) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return pairs of value tuples that differ by `shift` at most: all directions, or one."""
    base = list(product((0, shift, 2 * shift), repeat=count))
    return [
        (a, b)
        for a in base
        for b in base
        if a < b
        and all(abs(x - y) <= shift for x, y in zip(a, b, strict=True))
        and (not monotone or all(x <= y for x, y in zip(a, b, strict=True)))
    ]
