"""An analyst's door at a server, with the face of a door in one's own process."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import quote

import numpy as np

from discreet.client.channel import Channel
from discreet.client.reading import (
    read_amounts,
    read_as,
    read_columns,
    read_conversation,
    read_counts,
    read_fraction,
    read_history,
    read_names,
    read_quote,
    read_reply,
    read_standing,
    read_standing_name,
    read_standing_names,
)
from discreet.client.writing import check_called, write_clause, write_offer, write_question
from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter, NotFree
from discreet.curator.amounts import Amounts
from discreet.curator.history import AskedQuestions, Quote
from discreet.curator.kept.keys import require_key
from discreet.curator.kept.written_reply import read_receipt
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.reply import Reply
from discreet.curator.standing.standing_answer import StandingAnswer
from discreet.data.schema.schema import Schema
from discreet.data.schema.toml_file import parse_schema
from discreet.queries.universe import Universe
from discreet.query_release.synopses.online_answer import OnlineAnswers
from discreet.query_release.synopses.synthetic import SyntheticTable

BATCH = 20_000
"""The most counts that a server takes at once."""


class RemoteAnalyst:
    """One analyst's door at a server. Made by `connect`; threads may share it.

    Attributes
    ----------
    dataset
        What is asked about.
    """

    def __init__(self, channel: Channel, dataset: str) -> None:
        self._channel, self.dataset = channel, dataset
        self._path = f"/v1/datasets/{quote(dataset, safe='')}"

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets that the key opens."""
        return read_as("list of data sets", read_names, self._channel.get("/v1/datasets"))

    @cached_property
    def schema(self) -> Schema:
        """What is declared about the table: columns, bounds, values and the privacy unit. All is public."""
        return read_as("schema", lambda said: parse_schema(said["schema_toml"]), self.facts)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The public facts of the data set, as the server says them: purpose, guarantee, budget, promise."""
        return read_as("data set", dict, self._channel.get(self._path))

    @property
    def share(self) -> Fraction:
        """The most you may use of the budget for priced questions."""
        return read_as("budget", lambda said: read_fraction(said["share"]), self._get("budget"))

    @property
    def left(self) -> Amounts:
        """What you may still spend on questions that are priced; 0 of what is used up."""
        return read_as("budget", lambda said: read_amounts(said["left"]), self._get("budget"))

    @property
    def history(self) -> AskedQuestions:
        """The latest of what you asked that was answered or charged, in order, with what it cost."""
        return read_as("history", read_history, self._get("history"))

    def receipt(self, number: int) -> Receipt:
        """Return the receipt of an entry of yours: proof of the charge, should the ledger be put back.

        A reply that was paid for carries its own. Under a promise between analysts there are none.

        Parameters
        ----------
        number
            Of the entry in the ledger.
        """
        path = f"receipts/{checks.integer(0, number=number)}"
        return read_as("receipt", read_receipt, self._get(path))

    def plan(
        self,
        query: str,
        *,
        fresh: bool = False,
        study: str | None = None,
        epsilon: checks.Number | None = None,
        delta: checks.Number | None = None,
    ) -> Quote:
        """Say what a question would cost and how well it would be answered. No row is read, nothing spent.

        Parameters
        ----------
        query, fresh, study, epsilon, delta
            As in `sql`.
        """
        said = write_question(query, fresh=fresh, study=study, epsilon=epsilon, delta=delta)
        return read_as("price", read_quote, self._channel.post(f"{self._path}/plans", said))

    def sql(
        self,
        query: str,
        *,
        fresh: bool = False,
        insist: bool = False,
        pay: bool = True,
        study: str | None = None,
        epsilon: checks.Number | None = None,
        delta: checks.Number | None = None,
        key: str | None = None,
    ) -> Reply:
        """Answer a question.

        However often it is sent, since no reply came, it is charged at most once.

        Parameters
        ----------
        query
            One SELECT.
        fresh
            Measure it by itself and pay for it, even where the shared hypothesis could answer.
        insist
            Buy an answer even where its interval would span most of what is possible.
        pay
            Whether it may cost anything. If not, a question that has a price is refused.
        study
            What it is asked for: a study that the owner registered. What it costs counts there too.
        epsilon, delta
            The most it may cost where it is priced; what the owner chose by default.
        key
            Your own name for this question: asked again under it, now or in years, it has the same answer at
            no further cost. By default every call that pays has a new one.

        Raises
        ------
        Refused, NotFree, InvalidParameter, BudgetExceeded, KeyReused
            Nothing was read or charged.
        EngineFailed
            Something went wrong there. What was charged stays charged.
        ServerUnreachable
            No reply came. Whether it was charged is not known; the error has the `key` to ask again with.
        """
        said = write_question(query, fresh=fresh, study=study, epsilon=epsilon, delta=delta)
        said["insist"] = checks.instance(bool, insist=insist)
        if key is not None:
            return self._ask_once({**said, "pay": bool(pay)}, require_key(key))
        if not fresh or not pay:
            # What is free can be asked again as it is; only what is paid for needs a place in the ledger.
            try:
                return self._ask_once({**said, "pay": False}, None)
            except NotFree:
                if not pay:
                    raise
        return self._ask_once({**said, "pay": True}, secrets.token_urlsafe(24))

    def ask(
        self, conjunctions: Iterable[Mapping[str, Sequence[Any]]], *, conversation: str | None = None
    ) -> OnlineAnswers:
        """Count rows many times at no cost: arrays of values and errors, in the order of what was asked.

        Parameters
        ----------
        conjunctions
            For every count the values that columns may have, such as {"ward": ["north"], "age": [30, 31]};
            days as dates.
            All columns must be ones that the shared hypothesis is about (`facts["shared_columns"]`).
        conversation
            Which conversation of your own answers, in place of the shared hypothesis.
        """
        asked = [write_clause(one) for one in checks.several(conjunctions=conjunctions)]
        if not 1 <= len(asked) <= BATCH:
            raise InvalidParameter(name="conjunctions", rule=f"1 to {BATCH} counts", got=str(len(asked)))
        said = self._channel.post(f"{self._find(conversation)}/counts", {"conjunctions": asked})
        return read_as("list of counts", read_counts, said)

    def synthetic(self, rows: int, *, conversation: str | None = None) -> SyntheticTable:
        """Make up rows that are as the hypothesis says, at no cost. They describe nobody.

        Parameters
        ----------
        rows
            How many.
        conversation
            Whose hypothesis: the shared one by default.
        """
        count = checks.integer(1, rows=rows)
        said = self._channel.get(f"{self._find(conversation)}/synthetic?rows={count}")
        return read_as("table", lambda said: _make_table(self.schema, read_columns(said)), said)

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
        """Open a conversation of your own about some columns, and return what it is called.

        From then on `ask` and `synthetic` cost nothing. It dies with the server's process. However often it
        is sent, since no reply came, it is charged at most once.

        Parameters
        ----------
        columns
            Columns with declared values.
        epsilon, delta
            What is charged for it.
        study, key, insist
            As in `sql`.
        """
        said = {**_name_columns(columns), **write_offer(epsilon, delta, study), "insist": bool(insist)}
        once = secrets.token_urlsafe(24) if key is None else require_key(key)
        opened = self._channel.post(f"{self._path}/conversations", said, once=once)
        return read_as("conversation", read_conversation, opened)

    def plan_conversation(
        self,
        columns: Iterable[str],
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        study: str | None = None,
    ) -> Quote:
        """Say what a conversation of your own would be charged and how well it would count.

        Parameters
        ----------
        columns, epsilon, delta, study
            As in `open_conversation`.
        """
        said = {**_name_columns(columns), **write_offer(epsilon, delta, study)}
        return read_as("price", read_quote, self._channel.post(f"{self._path}/conversations/plans", said))

    def close_conversation(self, conversation: str) -> None:
        """End a conversation of your own. What it cost stays charged."""
        self._channel.delete(self._find(conversation))

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
            A count by the table's time column, or by a week or month of it.
        epsilon, delta
            What is charged, for all answers together.
        study, key, insist
            As in `sql`; under the same key it is the same question, for ever.
        """
        said = {**_name_query(query), **write_offer(epsilon, delta, study), "insist": bool(insist)}
        once = secrets.token_urlsafe(24) if key is None else require_key(key)
        opened = self._channel.post(f"{self._path}/standing", said, once=once)
        return read_as("standing question", read_standing_name, opened)

    def plan_standing(
        self, query: str, *, epsilon: checks.Number, delta: checks.Number, study: str | None = None
    ) -> Quote:
        """Say what a standing question would be charged and how well it would be answered.

        Parameters
        ----------
        query, epsilon, delta, study
            As in `open_standing`.
        """
        said = {**_name_query(query), **write_offer(epsilon, delta, study)}
        return read_as("price", read_quote, self._channel.post(f"{self._path}/standing/plans", said))

    def read_standing(self, name: str, *, through: datetime.date | None = None) -> StandingAnswer:
        """Answer a standing question for all periods that are over, at no further cost.

        Parameters
        ----------
        name
            What `open_standing` called it.
        through
            The last day that is of interest.
        """
        path = f"standing/{check_called('open_standing', name=name)}"
        if through is not None:
            path += f"?through={checks.exactly(datetime.date, through=through).isoformat()}"
        return read_as("standing question's answer", read_standing, self._get(path))

    @property
    def standing(self) -> dict[str, str]:
        """What your standing questions are called, each with its question."""
        return read_as("list of standing questions", read_standing_names, self._get("standing"))

    def close(self) -> None:
        """Close the connections. Nothing is forgotten at the server."""
        self._channel.close()

    def __enter__(self) -> RemoteAnalyst:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a door cannot be copied or pickled: connect again, with the key")

    def __repr__(self) -> str:
        return f"<RemoteAnalyst of {self.dataset} at {self._channel.address}>"

    def _ask_once(self, said: dict[str, Any], once: str | None) -> Reply:
        return read_as("answer", read_reply, self._channel.post(f"{self._path}/queries", said, once=once))

    def _get(self, what: str) -> Any:
        return self._channel.get(f"{self._path}/{what}")

    def _find(self, conversation: str | None) -> str:
        if conversation is None:
            return self._path
        called = check_called("open_conversation", conversation=conversation)
        return f"{self._path}/conversations/{called}"


def _name_columns(columns: Iterable[str]) -> dict[str, Any]:
    return {"columns": list(checks.each(checks.text, columns=columns))}


def _name_query(query: str) -> dict[str, Any]:
    return {"sql": checks.text(query=query)}


def _make_table(schema: Schema, columns: Mapping[str, Sequence[Any]]) -> SyntheticTable:
    universe = Universe.from_columns([schema.column(name) for name in columns])
    codes = [[universe.code(axis, one) for one in columns[name]] for axis, name in enumerate(universe.names)]
    return SyntheticTable(universe, np.array(codes).T)
