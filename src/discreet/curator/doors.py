"""Doors: what an analyst holds of a curator.

A door says what may be asked and nothing about who asks: it has no attribute at all. Whose it is, her share,
her history and the way to the curator are kept here, under the door itself, which cannot be made by hand.
This keeps analysts' mistakes apart, not hostile code: whatever runs in the curator's own process can reach
into it. Until a server stands between, hand doors to code that is trusted.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NoReturn
from weakref import WeakKeyDictionary

from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.curator.amounts import Amounts
from discreet.curator.desks import Desk, DoorService
from discreet.curator.history import AskedQuestions, Quote
from discreet.curator.reply import Reply
from discreet.curator.standing.standing_answer import StandingAnswer
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.query_release.synopses.synthetic import SyntheticTable


class Analyst:
    """One analyst's door to a curator. Made by `Curator.analyst`; it has no attribute that can be set."""

    __slots__ = ("__weakref__",)

    def __init__(self) -> None:
        raise InvalidParameter(name="Analyst", rule="made by Curator.analyst(name)", got="a call of its own")

    @property
    def name(self) -> str:
        """Who asks."""
        return _behind(self)[1].name

    @property
    def share(self) -> Fraction:
        """The most she may use of the budget for priced questions."""
        return _behind(self)[1].share

    @property
    def universe(self) -> Universe:
        """What queries for `ask` are built over."""
        return self.universe_of(None)

    def universe_of(self, conversation: str | None) -> Universe:
        """Return what queries for a conversation of one's own are built over."""
        service, desk = _behind(self)
        return service.universe(desk, conversation)

    def plan(
        self,
        query: str,
        *,
        fresh: bool = False,
        epsilon: checks.Number | None = None,
        delta: checks.Number | None = None,
        study: str | None = None,
    ) -> Quote:
        """Say what a question would cost and how well it would be answered. No row is read, nothing spent.

        Parameters
        ----------
        query, fresh, epsilon, delta, study
            As in `sql`.
        """
        service, desk = _behind(self)
        return service.plan(desk, query, fresh=fresh, epsilon=epsilon, delta=delta, study=study)

    def sql(
        self,
        query: str,
        *,
        fresh: bool = False,
        insist: bool = False,
        pay: bool = True,
        epsilon: checks.Number | None = None,
        delta: checks.Number | None = None,
        study: str | None = None,
        key: str | None = None,
    ) -> Reply:
        """Answer a question.

        Parameters
        ----------
        query
            One SELECT, plain or with BigQuery's WITH DIFFERENTIAL_PRIVACY clause.
        fresh
            Measure it by itself and pay for it, even where the shared hypothesis could answer.
        insist
            Buy an answer even where its interval would span most of what is possible.
        pay
            Whether it may cost anything. If not, a question that has a price is refused.
        epsilon, delta
            The most it may cost, where that is less than the owner's price of a question.
        study
            What it is asked for: a study that the owner registered. What it costs counts there too.
        key
            A name of her own for this request, of 1 to 255 visible ASCII characters. The same request under
            the same key has the very same reply, for ever, and is charged once: so whoever does not know
            whether she was answered can ask again.

        Raises
        ------
        KeyReused
            When the key came with another request before. Nothing was read or charged.
        NotFree
            Where it has a price and `pay` is False. Nothing was read or charged.
        Refused
            For anything outside the language, for an answer that would say nothing, for more work than one
            question may ask for at no cost, or once the curator is closed. Nothing was read or charged.
        BudgetExceeded
            Where it does not fit in what is left. Nothing was read or charged.
        EngineFailed
            Where the engine gave up. The charge stays.
        """
        service, desk = _behind(self)
        return service.sql(
            desk,
            query,
            fresh=fresh,
            insist=insist,
            pay=pay,
            epsilon=epsilon,
            delta=delta,
            study=study,
            key=key,
        )

    def ask(
        self, query: LinearQuery | Workload, *, conversation: str | None = None
    ) -> OnlineAnswer | tuple[OnlineAnswer, ...]:
        """Answer linear queries over `universe` from the shared hypothesis: one, or a workload.

        Parameters
        ----------
        query
            What to count.
        conversation
            Which conversation of her own answers, in place of the shared hypothesis.
        """
        service, desk = _behind(self)
        return service.ask(desk, query, conversation)

    def synthetic(self, rows: int, *, conversation: str | None = None) -> SyntheticTable:
        """Make up rows that are as the hypothesis says, at no cost. They describe nobody.

        Parameters
        ----------
        rows
            How many.
        conversation
            Whose hypothesis: the shared one by default.
        """
        service, desk = _behind(self)
        return service.synthetic(desk, rows, conversation)

    def open_conversation(
        self,
        columns: Iterable[str],
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        study: str | None = None,
        key: str | None = None,
        insist: bool = False,
    ) -> str:
        """Open a conversation of her own about some columns, and return what it is called.

        All small tables of the columns are measured; from then on `ask` and `synthetic` cost nothing. It
        lives as long as the ledger does, until it is closed. One whose counts would be off by as much as
        there are rows is refused before it is charged. See `discreet.curator.hypotheses.own_conversations`.

        Parameters
        ----------
        columns
            Columns with declared values.
        epsilon, delta
            What is charged for it.
        study, key
            As in `sql`; under the same key it is the same conversation, as long as that is open.
        insist
            Buy it even where it would say nothing.
        """
        service, desk = _behind(self)
        return service.open(desk, columns, epsilon=epsilon, delta=delta, study=study, key=key, insist=insist)

    def plan_conversation(
        self,
        columns: Iterable[str],
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        study: str | None = None,
    ) -> Quote:
        """Say what a conversation of her own would be charged and how well it would count; nothing is spent.

        Parameters
        ----------
        columns, epsilon, delta, study
            As in `open_conversation`.
        """
        service, desk = _behind(self)
        return service.plan_own(desk, columns, epsilon=epsilon, delta=delta, study=study)

    def close_conversation(self, conversation: str) -> None:
        """End a conversation of her own. What it cost stays charged."""
        service, desk = _behind(self)
        service.close_own(desk, conversation)

    def plan_standing(
        self, query: str, *, epsilon: checks.Number, delta: checks.Number, study: str | None = None
    ) -> Quote:
        """Say what a standing question would be charged and how well it would be answered; nothing is spent.

        Parameters
        ----------
        query, epsilon, delta, study
            As in `open_standing`.
        """
        service, desk = _behind(self)
        return service.standing.plan(desk, query, epsilon=epsilon, delta=delta, study=study)

    def open_standing(
        self,
        query: str,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        study: str | None = None,
        key: str | None = None,
        insist: bool = False,
    ) -> str:
        """Open a question that stands: charged once, answered whenever a day is over. It outlives restarts.

        Parameters
        ----------
        query
            A count by the table's time column, or by a week or month of it: `SELECT day, COUNT(*) ...
            GROUP BY day`, or with `SUM(COUNT(*)) OVER (ORDER BY day)` the count of all days so far.
        epsilon, delta
            What is charged, for all answers together.
        study, key, insist
            As in `sql`; under the same key it is the same question, for ever.
        """
        service, desk = _behind(self)
        return service.standing.open(
            desk, query, epsilon=epsilon, delta=delta, study=study, key=key, insist=insist
        )

    def read_standing(self, name: str, *, through: datetime.date | None = None) -> StandingAnswer:
        """Answer a standing question for all periods that are over, at no further cost.

        Parameters
        ----------
        name
            What `open_standing` called it.
        through
            The last day that is of interest. What comes later is then not measured yet, and counts rows that
            arrive until it is.
        """
        service, desk = _behind(self)
        return service.standing.answer(desk, name, through)

    @property
    def standing(self) -> dict[str, str]:
        """What her standing questions are called, each with its question."""
        service, desk = _behind(self)
        return service.standing.find_all(desk)

    @property
    def history(self) -> AskedQuestions:
        """The latest of what this analyst asked that was answered or charged, in order, with what it cost."""
        return _behind(self)[1].history.list_questions()

    @property
    def left(self) -> Amounts:
        """What this analyst may still spend on questions that are priced; 0 of what is used up."""
        service, desk = _behind(self)
        return service.left(desk)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} of a door cannot be set: whose it is was decided when it was made")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} of a door cannot be deleted")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a door cannot be copied or pickled: ask the curator's owner for one")

    def __repr__(self) -> str:
        desk = _behind(self)[1]
        return f"<Analyst {desk.name}: {desk.history}>"


def _open_doors() -> tuple[
    Callable[[DoorService, Desk], Analyst], Callable[[Analyst], tuple[DoorService, Desk]]
]:
    behind: WeakKeyDictionary[Analyst, tuple[DoorService, Desk]] = WeakKeyDictionary()

    def make(service: DoorService, desk: Desk) -> Analyst:
        door = object.__new__(Analyst)
        behind[door] = service, desk
        return door

    def look(door: Analyst) -> tuple[DoorService, Desk]:
        try:
            return behind[door]
        except (KeyError, TypeError):
            raise InvalidParameter(name="door", rule="one that a curator made", got="another") from None

    return make, look


make_door, _behind = _open_doors()
