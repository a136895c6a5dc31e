"""Requests: what an analyst asks for, in one form however it is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from dataclasses import dataclass, field

from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Plan
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.printing import to_sql


class QuestionForm:
    """What numbers a question asks for: how it is written, or they are shown, makes no other form of it.

    Forms are looked up again and again, so what they are told apart by is worked out once.
    """

    __slots__ = ("_hash", "_parts", "_written")

    def __init__(self, plan: Plan) -> None:
        self._parts = canonicalise(plan), plan.shown_sets
        self._hash, self._written = hash(self._parts), ""

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, QuestionForm) and self._hash == other._hash and self._parts == other._parts
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        if not self._written:
            canonical, sets = self._parts
            self._written = f"{canonical!r}, {sets!r}"
        return self._written


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A question as it was read, with what follows from it alone.

    Attributes
    ----------
    plan, tables
        What is asked, and of what.
    form
        What its numbers are found by.
    """

    plan: Plan
    tables: PlanTables
    form: QuestionForm = field(init=False, compare=False)
    _text: str = field(init=False, compare=False, repr=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "form", QuestionForm(self.plan))

    @property
    def noted(self) -> str | ReadQuestion:
        """The question as a history notes it: its text where that was written, since it is smaller."""
        return self._text or self

    @property
    def text(self) -> str:
        """The question in its canonical form, written when it is first asked for."""
        if not self._text:
            object.__setattr__(self, "_text", to_sql(self.plan, self.tables))
        return self._text


@dataclass(frozen=True, slots=True)
class DoorRequest:
    """A question that is read, and how it is to be answered.

    Attributes
    ----------
    read
        What is asked, and of what.
    owner
        Whose record it is; None where all analysts share one.
    fresh, insist, pay, study, key
        As in `Analyst.sql`. What it may cost is in the plan.
    version
        Which state of the table it is asked of, where its owner said.
    """

    read: ReadQuestion
    owner: str | None
    fresh: bool
    insist: bool = False
    pay: bool = True
    study: str | None = None
    key: str | None = None
    version: str | None = None

    @property
    def plan(self) -> Plan:
        """What is asked."""
        return self.read.plan

    @property
    def tables(self) -> PlanTables:
        """What it is asked of."""
        return self.read.tables

    @property
    def text(self) -> str:
        """The question in its canonical form."""
        return self.read.text

    @property
    def record(self) -> Hashable:
        """What its numbers are kept by."""
        return self.owner, self.read.form, self.fresh

    @property
    def question(self) -> str:
        """The digest of the numbers that are asked for, which a later process finds them by."""
        return hashlib.sha256(repr((self.record, self.version)).encode()).hexdigest()

    @property
    def digest(self) -> str:
        """The digest of the whole request, which its key stands for."""
        told = [self.text, self.fresh, self.insist, self.study]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()
