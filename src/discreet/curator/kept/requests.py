"""Requests: what an analyst asks for, in one form however it is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from dataclasses import dataclass

from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Plan
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.printing import to_sql


@dataclass(frozen=True, slots=True)
class DoorRequest:
    """A question that is read, and how it is to be answered.

    Attributes
    ----------
    plan, tables
        What is asked, and of what.
    owner
        Whose record it is; None where all analysts share one.
    fresh, insist, pay, study, key
        As in `Analyst.sql`. What it may cost is in the plan.
    version
        Which state of the table it is asked of, where its owner said.
    """

    plan: Plan
    tables: PlanTables
    owner: str | None
    fresh: bool
    insist: bool = False
    pay: bool = True
    study: str | None = None
    key: str | None = None
    version: str | None = None

    @property
    def text(self) -> str:
        """The question in its canonical form."""
        return to_sql(self.plan, self.tables)

    @property
    def record(self) -> Hashable:
        """What its numbers are kept by: how they are shown makes no other question of it."""
        return self.owner, canonicalise(self.plan), self.plan.shown_sets, self.fresh

    @property
    def question(self) -> str:
        """The digest of the numbers that are asked for, which a later process finds them by."""
        return hashlib.sha256(repr((self.record, self.version)).encode()).hexdigest()

    @property
    def digest(self) -> str:
        """The digest of the whole request, which its key stands for."""
        told = [self.text, self.fresh, self.insist, self.study]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()
