"""One analyst of the demo, in a process of its own: asks a server over HTTP, and tells what it was answered.

It is told who it is, where the server is and its key by a line on its standard input, and speaks in lines of
JSON. It sees no record.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from typing import Any

from discreet.cli.demonstration import questions
from discreet.client import RemoteAnalyst, connect
from discreet.curator.kept.written_reply import write_reply

_LINES = 25  # answers that are told at once


def _say(**said: Any) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def _show(door: RemoteAnalyst, text: str, **options: Any) -> None:
    _say(shown=text, reply=write_reply(door.sql(text, **options)))


def _find_values(door: RemoteAnalyst) -> dict[str, Any]:
    return {
        column.name: getattr(column, "values", None) or range(int(column.lower), int(column.upper) + 1)  # type: ignore[attr-defined]
        for column in door.schema.columns
        if column.name in door.facts["shared_columns"]
    }


def _ask_for_ministry(door: RemoteAnalyst, sizes: dict[str, Any]) -> None:
    """Ask one question after the other, in SQL."""
    for text in questions.MINISTRY:
        _show(door, text)
    told: list[tuple[str, float]] = []
    for text, _ in itertools.islice(questions.sweep(_find_values(door)), sizes["sweep"]):
        reply = door.sql(text)
        told.append((reply.kind, float(reply.rows[0][0])))
        if len(told) == _LINES:
            _say(answers=told)
            told = []
    _say(answers=told)


def _ask_for_union(door: RemoteAnalyst, sizes: dict[str, Any]) -> None:
    """Buy an average, wait until the server was killed and started again, and ask for the same again."""
    mean, count = questions.UNION
    _show(door, mean, key=questions.ONCE)
    _show(door, count)
    _say(paused=True)
    sys.stdin.readline()
    _say(again=write_reply(door.sql(mean, key=questions.ONCE)))
    replies = [door.sql(questions.ask_young(age)) for age in questions.YOUNG]
    _say(answers=[(reply.kind, float(reply.rows[0][0])) for reply in replies])


def _ask_for_university(door: RemoteAnalyst, sizes: dict[str, Any]) -> None:
    """Ask thousands of counts at once, from Python."""
    values = _find_values(door)
    for batch in range(sizes["batches"]):
        counts = door.ask(questions.make_clauses(f"{sizes['seed']}{batch}", values, sizes["batch"]))
        _say(answers=list(zip(counts.kinds.tolist(), counts.values.tolist(), strict=True)))


_ROLES: dict[str, Callable[[RemoteAnalyst, dict[str, Any]], None]] = {
    "ministry": _ask_for_ministry,
    "union": _ask_for_union,
    "university": _ask_for_university,
}


def ask() -> None:
    """Do what the first line on the standard input says."""
    told = json.loads(sys.stdin.readline())
    with connect(told["url"], told["key"], dataset="people") as door:
        _ROLES[told["who"]](door, told["sizes"])
    _say(done=True)


if __name__ == "__main__":
    ask()
