"""Desks: what a curator keeps for each analyst, and what it does for whoever sits at one."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from discreet.core import checks
from discreet.curator.amounts import Amounts
from discreet.curator.history import History, Quote
from discreet.curator.reply import Reply
from discreet.curator.standing.standing_answer import StandingAnswer
from discreet.curator.ticks import FairLock
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.query_release.synopses.synthetic import SyntheticTable


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Desk:
    """What a curator keeps for one analyst.

    Attributes
    ----------
    name, share
        Who asks, and the most she may use of the budget for priced questions.
    line
        Whoever has a turn in it is the one thread of this analyst that buys an answer.
    history
        What she asked.
    """

    name: str
    share: Fraction
    line: FairLock = field(default_factory=FairLock)
    history: History = field(default_factory=History)


class StandingService(Protocol):
    """What a curator does for questions that stand over time."""

    def plan(
        self, desk: Desk, text: str, *, epsilon: checks.Number, delta: checks.Number, study: str | None
    ) -> Quote:
        """Say what one would cost."""

    def open(
        self,
        desk: Desk,
        text: str,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        study: str | None,
        key: str | None,
        insist: bool,
    ) -> str:
        """Open one."""

    def find_all(self, desk: Desk) -> dict[str, str]:
        """Return those of an analyst."""

    def answer(self, desk: Desk, name: str, through: datetime.date | None) -> StandingAnswer:
        """Answer one."""


class DoorService(Protocol):
    """What a curator does for whoever sits at a desk."""

    @property
    def standing(self) -> StandingService:
        """What answers questions that stand over time."""

    def universe(self, desk: Desk, conversation: str | None) -> Universe:
        """Return what linear queries are built over."""

    def plan(self, desk: Desk, text: str, *, study: str | None, **how: Any) -> Quote:
        """Say what a question would cost."""

    def sql(
        self,
        desk: Desk,
        text: str,
        *,
        insist: bool,
        pay: bool,
        study: str | None,
        key: str | None,
        **how: Any,
    ) -> Reply:
        """Answer a question."""

    def ask(
        self, desk: Desk, query: LinearQuery | Workload, conversation: str | None
    ) -> OnlineAnswer | tuple[OnlineAnswer, ...]:
        """Answer linear queries."""

    def synthetic(self, desk: Desk, rows: int, conversation: str | None) -> SyntheticTable:
        """Make up rows."""

    def open(self, desk: Desk, columns: Iterable[str], **offered: Any) -> str:
        """Open a conversation of one's own."""

    def plan_own(self, desk: Desk, columns: Iterable[str], **offered: Any) -> Quote:
        """Say what a conversation of one's own would cost."""

    def close_own(self, desk: Desk, conversation: str) -> None:
        """End a conversation of one's own."""

    def left(self, desk: Desk) -> Amounts:
        """Return what may still be spent."""
