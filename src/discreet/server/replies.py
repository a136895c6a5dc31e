"""What is sent back: the shape of every reply, for whoever writes a client."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Exact = dict[str, str]
"""Amounts by coordinate, as fractions written out: "1/3"."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorBody(_Body):
    """What goes wrong."""

    error: str = Field(description="One word for programs.")
    message: str = Field(description="A sentence for people. It never quotes data.")


class DatasetsBody(_Body):
    """What there is to ask about."""

    datasets: list[str]


class DatasetBody(_Body):
    """The public facts of a data set."""

    name: str
    purpose: str
    table_schema: dict[str, Any] = Field(
        alias="schema", description="Declared columns, bounds, values and unit."
    )
    schema_toml: str = Field(description="The same as the owner's file has it.")
    guarantee: str
    epsilon: str
    delta: str
    promise: str | None = Field(description="What is hidden between analysts.")
    shared_columns: list[str] | None = Field(
        description="What the shared hypothesis is about; null for none."
    )


class BudgetBody(_Body):
    """What is left for whoever asks."""

    left: Exact
    share: str


class AskedBody(_Body):
    """One question of a history."""

    number: int
    what: str
    kind: str
    repeated: bool
    cost: Exact


class HistoryBody(_Body):
    """What an analyst asked."""

    questions: list[AskedBody]


class ErrorOfColumn(_Body):
    """How far off a column may be at 95 %; null where none is known beforehand."""

    name: str
    error: float | None
    words: str


class QuoteBody(_Body):
    """What a question would cost."""

    kind: str
    columns: list[ErrorOfColumn]
    together: list[ErrorOfColumn]
    cost: Exact
    guarantee: str | None
    words: str
    refusal: str | None = Field(description="Why it would be refused now; null where there is room for it.")


class ReceiptBody(_Body):
    """The row of the ledger that proves a charge."""

    book: str
    ledger: str
    number: int
    place: int
    digest: str


class ReplyBody(_Body):
    """An answer. Values other than text, whole numbers, floats, true, false and null are tagged objects."""

    columns: list[str]
    rows: list[list[Any]]
    intervals: dict[str, list[list[Any]]] = Field(description="Low and high of every row, at 95 %.")
    together: dict[str, list[list[Any]]] | None = Field(
        description="The same for all counts of all questions at once; null where they are that already."
    )
    confidence: str
    holds: str = Field(description="What the intervals hold.")
    groups: int
    keys: list[str]
    kind: str
    cost: Exact
    repeated: bool
    caps: list[str] = Field(description="How much of one unit counts: the numbers are about that.")
    receipt: ReceiptBody | None


class CountsBody(_Body):
    """Counts in the order in which they were asked for."""

    values: list[float]
    errors: list[float | None] = Field(description="How far off each is in 95 of 100 cases.")
    together: list[float | None] = Field(description="How far off any count of any question is, proved.")
    kinds: list[str]


class SyntheticBody(_Body):
    """Made-up rows, column by column."""

    columns: dict[str, list[Any]]


class ConversationBody(_Body):
    """A conversation that was opened."""

    conversation: str
    columns: list[str]


class OpenedBody(_Body):
    """A standing question that was opened."""

    standing: str = Field(description="What it is called.")


class StandingsBody(_Body):
    """The standing questions of an analyst."""

    standing: dict[str, str] = Field(description="What each is called, with the question.")


class StandingBody(_Body):
    """What a standing question has answered so far, period by period."""

    standing: str
    question: str
    running: bool = Field(description="Whether each number is about all periods so far.")
    periods: list[str] = Field(description="The first day of each.")
    values: list[float]
    errors: list[float] = Field(description="How far off each is in 95 of 100 cases.")
    together: float = Field(description="What none of all its numbers is off by more than, at 95 %.")
    left: int = Field(description="How many periods are still to come.")


class ClosedBody(_Body):
    """A conversation that was closed."""

    closed: str


def answers(body: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Return the replies of a route: its own body, or what goes wrong."""
    wrong = (400, 401, 402, 404, 405, 408, 410, 413, 415, 422, 429, 500, 503)
    return {200: {"model": body}, **{status: {"model": ErrorBody} for status in wrong}}
