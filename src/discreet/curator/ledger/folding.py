"""Folding: taking all rows of a book into its state when it is opened, before anybody can look at it.

The same as taking one event after the other, which is what happens from then on, but quick where there are
many rows: charges are added up in place, and an entry is read whole only when somebody asks for it.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any

from discreet.curator.ledger.entries import NEXT
from discreet.curator.ledger.entry_records import EntryRecord
from discreet.curator.ledger.events import Moved, Reserved, decode, read_amount, unreadable
from discreet.curator.ledger.possible import can_move, refuse_impossible, require_possible
from discreet.curator.ledger.state import BookState, LineSum

_NAMES = frozenset(one.name for one in fields(Reserved)) - {"ticket"}
_NEEDED = frozenset(one.name for one in fields(Reserved) if one.default is MISSING) - {"ticket"}
_MOVED = frozenset(one.name for one in fields(Moved))
_APART = ("kept", "given")
"""Kinds of events that neither read nor change what is spent."""


class Folder:
    """Takes rows into a state, in order; `settle` must come last."""

    def __init__(self, state: BookState) -> None:
        self._state = state
        self._time = state.times["last"]
        # How often each charge was made, and given back: most questions of one analyst have the same price.
        self._made: dict[tuple[Any, ...], int] = {}
        self._back: dict[tuple[Any, ...], int] = {}

    def take(self, place: int, kind: str, body: str, digest: bytes) -> None:
        """Take the event of a row."""
        if kind not in ("reserved", "moved"):
            self._take_other(place, kind, body, digest)
            return
        try:
            told = json.loads(body)
            if kind == "reserved":
                self._reserve(told, body)
            else:
                self._move(told)
            self._state.data(told["ledger"]).records.note_row(told["number"], place, digest)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise unreadable(kind) from None

    def settle(self) -> None:
        """Write down the sums."""
        try:
            self._settle()
        except (KeyError, TypeError, ValueError):
            raise unreadable("reserved") from None

    def _settle(self) -> None:
        for charged, sign in ((self._made, 1), (self._back, -1)):
            for (kind, name, line, *amounts), times in charged.items():
                account = self._state.accounts[kind, name]
                account.sums[line] = _add(account.sum(line), amounts, sign * times)
            charged.clear()
        self._state.times["last"] = max(self._time, self._state.times["last"])

    def _take_other(self, place: int, kind: str, body: str, digest: bytes) -> None:
        if kind not in _APART:
            self.settle()
        event = decode(kind, body)
        try:
            require_possible(event, self._state)
            found = self._state.find_places(event)
        except (KeyError, TypeError, ValueError):
            raise refuse_impossible() from None
        for places, key, value in found:
            places[key] = value
        self._state.note_row(event, place, digest)

    def _reserve(self, told: dict[str, Any], body: str) -> None:
        if not _NEEDED <= told.keys() <= _NAMES:
            raise ValueError
        ledger, number = told["ledger"], told["number"]
        account = self._state.data(ledger)
        if number != len(account.records):
            raise refuse_impossible()
        made = self._made
        for kind, name, line, amounts in told["charges"]:
            charge = (kind, name, line, *amounts)
            made[charge] = made.get(charge, 0) + 1
        account.records[number] = EntryRecord(body, analyst=told["analyst"], question=told.get("question"))
        key = told.get("key")
        if key is not None:
            account.keys[told["analyst"], key] = number
        self._time = max(self._time, told["time"])

    def _move(self, told: dict[str, Any]) -> None:
        ledger, number, state, answer = told["ledger"], told["number"], told["state"], told.get("answer")
        if not _MOVED >= told.keys() or state not in NEXT:
            raise ValueError
        account = self._state.data(ledger)
        record = account.records[number]
        if not can_move(record, state):
            raise refuse_impossible()
        if state == "voided":
            self._take_back(record)
        record.state = state
        if answer is not None:
            record.answer = answer
            if record.question is not None:
                account.bought[record.question] = number

    def _take_back(self, record: EntryRecord) -> None:
        for one in record.reserved.charges:
            charge = (one.kind, one.name, one.line, *one.amounts)
            self._back[charge] = self._back.get(charge, 0) + 1


def _add(total: LineSum, charge: list[Any], times: int) -> LineSum:
    """Return a sum with a charge on top so many times, or without it where that is below 0."""
    amounts = [read_amount(amount) for amount in charge]
    return LineSum(
        tuple(a + times * (b or 0) for a, b in zip(total.amounts, amounts, strict=True)),
        tuple(a + times * (b is None) for a, b in zip(total.endless, amounts, strict=True)),
        total.entries + max(0, times),
    )
