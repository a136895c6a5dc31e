"""Small streams with one look inside, for the exact audits: what an intruder and the public see together."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


def look_once(count: int, at: int, *, at_once: bool = False) -> Callable[[Any], Hashable]:
    """Return a script that answers `count` steps of a stream and reads the state after `at` of them.

    Parameters
    ----------
    at_once
        Whether the steps on either side of the look are taken together.
    """
    return look_at(count, (at,), at_once=at_once)


def look_at(count: int, places: tuple[int, ...], *, at_once: bool = False) -> Callable[[Any], Hashable]:
    """Return a script that reads the state after several numbers of steps: more than is promised for."""

    def script(conversation: Any) -> Hashable:
        seen: list[Hashable] = []
        cuts = sorted({0, count, *places}) if at_once else range(count + 1)
        for start, end in zip(cuts, [*cuts[1:], None], strict=True):
            if start in places:
                seen.append(freeze_state(conversation.state.reveal()))
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
