"""Replies that a book keeps: what was bought or had a key is given again, in later lives too.

A bought answer is kept as its released numbers, with the digest of the plan that they were made by. The plan
is made anew from the question: where it is the same, so is the reply; where it is another one now, since the
version, the price or the schema changed, the numbers are not read, and the question is bought again. A reply
under a key is kept as it was shown beside that, since a key stands for it for ever.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.core.errors import AnswerLost, DiscreetError, EngineFailed
from discreet.curator.kept.requests import DoorRequest
from discreet.curator.kept.written_answer import find_plan_digest, read_answer, write_answer
from discreet.curator.kept.written_reply import read_reply, write_reply
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.ledger.entries import Entry, KeyUse
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.limits import HISTORY
from discreet.curator.offers import list_offers
from discreet.curator.reply import Reply
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.sql.parse import parse

FAILED = {"failed": True}
"""What is kept of a request with a key that the engine failed at, and was told so."""


class KeptReplies:
    """The replies in a ledger.

    Parameters
    ----------
    ledger
        Where they are.
    tables, policy
        What questions are about, and what one may cost: they are planned anew by these.
    """

    def __init__(self, ledger: Ledger, tables: PlanTables, policy: Policy) -> None:
        self._ledger, self._tables, self._policy = ledger, tables, policy

    # What was bought -----------------------------------------------------------------------------------

    def find_bought(self, asked: DoorRequest) -> Reply | None:
        """Return the reply in which the same numbers were bought; None where they are not kept."""
        number = self._ledger.find_bought(asked.question)
        if number is None:
            return None
        try:
            written = _unpack(self._ledger.answer(number))
        except AnswerLost:  # then it is bought again
            return None
        reply = self._restore(number, written)
        if reply is None or reply.shown is None:
            return None
        before, now = reply.shown.question, asked.plan
        same = canonicalise(before) == canonicalise(now) and before.shown_sets == now.shown_sets
        return reply if same else None

    def keep_bought(self, number: int, reply: Reply, *, keyed: bool) -> Reply:
        """Keep what was bought with an entry, and return what is to be sent: the first that was kept."""
        told: dict[str, Any] = {"reply": write_reply(reply)} if keyed else {}
        numbers = None if reply.answer is None else write_answer(reply.answer)
        written = _pack({"numbers": numbers, **told})
        kept = self._ledger.finish(number, written)
        if kept == written:
            return replace(reply, receipt=self._find_receipt(number))
        return self._require(number, _unpack(kept))

    def keep_failure(self, number: int) -> None:
        """Keep that the engine failed: what was said of a charge is said again, and nothing else."""
        self._ledger.finish(number, FAILURE)

    def list_bought(self, analyst: str) -> Iterator[tuple[str, str, Mapping[str, Fraction]]]:
        """List what an analyst bought last, in whatever life: question, kind and cost of each."""
        for entry in self._ledger.entries(analyst, last=HISTORY):
            if entry.state != "voided":
                is_told = entry.state == "finished" and entry.answer != _FAILED
                yield entry.what, "priced" if is_told else "failed", dict(entry.charge)

    # What had a key ------------------------------------------------------------------------------------

    def find_use(self, analyst: str, asked: DoorRequest) -> KeyUse | None:
        """Return what the key of a request stands for; None where it is new.

        Raises
        ------
        KeyReused
            Where it stands for another request.
        """
        return None if asked.key is None else self._ledger.find_key(analyst, asked.key, asked.digest)

    def find_keyed(self, analyst: str, asked: DoorRequest, use: KeyUse) -> Reply | None:
        """Return the reply that a key stands for; None where it was charged and not answered."""
        if use.entry is None:
            given = self._ledger.given(analyst, asked.key or "")
            return None if given is None else read_reply(_unpack(given))
        written = _unpack(self._ledger.answer(use.entry))
        return None if not written else self._require(use.entry, written)

    def give(self, analyst: str, asked: DoorRequest, reply: Reply) -> Reply:
        """Keep a reply that costs nothing under its key, and return what is to be sent."""
        if asked.key is None:
            return reply
        written = _pack(write_reply(reply))
        kept = self._ledger.give(analyst, asked.key, asked.digest, written)
        return reply if kept == written else read_reply(_unpack(kept))

    def find_plan(self, number: int, asked: DoorRequest) -> QuestionPlan:
        """Return the plan by which an entry was charged, to answer it.

        Raises
        ------
        AnswerLost
            Where it would be another one now.
        """
        entry = self._ledger.entry(number)
        plan = self._plan(entry) if entry.question == asked.question else None
        if plan is None:
            raise AnswerLost(
                why="what was charged under this key was not answered, and would be answered otherwise now",
                way_out="Ask under a new key, which is charged anew",
            )
        return plan

    # How -----------------------------------------------------------------------------------------------

    def _require(self, number: int, written: dict[str, Any]) -> Reply:
        """Return the reply with which an entry was answered, as it was."""
        if written == FAILED:
            raise EngineFailed
        reply = self._restore(number, written)
        if reply is None:
            reply = read_reply(written["reply"])
        return replace(reply, receipt=self._find_receipt(number))

    def _restore(self, number: int, written: Mapping[str, Any]) -> Reply | None:
        """Make a reply of the numbers that were kept, with all that can be asked of it."""
        entry, numbers = self._ledger.entry(number), written.get("numbers")
        plan = None if numbers is None else self._plan(entry)
        if numbers is None or plan is None:
            return None
        return Reply.of(read_answer(numbers, plan), dict(entry.charge))

    def _plan(self, entry: Entry) -> QuestionPlan | None:
        """Plan the question of an entry anew; None where that is another plan now."""
        with contextlib.suppress(DiscreetError):
            question = parse(entry.what, schemas=self._tables, policy=self._policy)
            for plan in list_offers(question, self._tables, self._policy):
                if find_plan_digest(plan) == entry.plan:
                    return plan
        return None

    def _find_receipt(self, number: int) -> Receipt | None:
        # Its place tells how many others asked, of this data set or of any other one in the book.
        return None if self._ledger.tells_others else self._ledger.receipt(number)


def _pack(written: Mapping[str, Any]) -> bytes:
    return zlib.compress(json.dumps(written, separators=(",", ":"), allow_nan=False).encode())


def _unpack(packed: bytes | None) -> dict[str, Any]:
    """Return what was packed; nothing where nothing was kept."""
    found: dict[str, Any] = {} if packed is None else json.loads(zlib.decompress(packed))
    return found


FAILURE = _pack(FAILED)
"""The same as it is kept."""

_FAILED = hashlib.sha256(FAILURE).hexdigest()
"""The digest that an entry has of it."""
