"""What may be sent: plain data of a declared shape, and nothing else."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from fastapi import Header, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, WithJsonSchema

from discreet.curator.kept.keys import KEY_PATTERN, MOST

SQL = 20_000
"""The most characters of a question."""

COUNTS = 20_000
"""The most counts of one batch."""

LONGEST_NAME = 63
"""The most characters of a field that a fault of it is told with: no field of ours has more."""

Question = Annotated[str, Field(min_length=1, max_length=SQL, description="One SELECT.")]
StudyName = Annotated[
    str, Field(min_length=1, max_length=63, description="A study that the owner registered.")
]


def _read_exact(value: object) -> object:
    """Take whole numbers as decimals: 1 is as good as 1.0."""
    return Decimal(value) if type(value) is int else value


def _describe(least: float, most: float, words: str) -> dict[str, Any]:
    """Return how an exact number is described: as JSON's number, not as text."""
    return {"type": "number", "minimum": least, "maximum": most, "description": words}


def _number(described: dict[str, Any]) -> tuple[Any, ...]:
    """Return how an exact number is read."""
    bounds = Field(ge=Decimal(repr(described["minimum"])), le=Decimal(repr(described["maximum"])))
    return BeforeValidator(_read_exact), bounds, WithJsonSchema(described)


def _refuse_null(value: object) -> object:
    """Refuse null: what costs the owner's price says nothing of its own."""
    if value is None:
        raise ValueError("it is a number, or left out")
    return value


_EPSILON = _describe(1e-6, 20.0, "The most this may cost; of a question, the owner's price by default.")
_DELTA = _describe(0.0, 1e-3, "Of the same; the owner's delta by default.")
Epsilon = Annotated[Decimal, *_number(_EPSILON)]
Delta = Annotated[Decimal, *_number(_DELTA)]
MostEpsilon = Annotated[Epsilon | None, BeforeValidator(_refuse_null), WithJsonSchema(_EPSILON)]
MostDelta = Annotated[Delta | None, BeforeValidator(_refuse_null), WithJsonSchema(_DELTA)]
Rows = Annotated[int, Query(ge=1, le=100_000, description="How many rows.")]
Through = Annotated[
    str | None,
    Query(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="The last day that is of interest."),
]
AskersKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MOST,
        pattern=f"^{KEY_PATTERN}$",
        description="Your own name for this question. Sent again with the same question, it returns the same "
        "bytes at no cost, for ever.",
    ),
]
Scalar = str | int | bool | Decimal | None


class _Asked(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class PlanAsked(_Asked):
    """A question whose price and error are wanted; nothing is charged, and no row is read."""

    sql: Question
    fresh: bool = Field(default=False, description="Measure it by itself, even where it could be free.")
    study: StudyName | None = None
    epsilon: MostEpsilon = None
    delta: MostDelta = None


class QuestionAsked(PlanAsked):
    """A question."""

    insist: bool = Field(default=False, description="Buy it even where the answer would say almost nothing.")
    pay: bool = Field(
        default=True, description="Whether it may cost anything; if not, what has a price is refused."
    )


class ConversationPlanAsked(_Asked):
    """Columns that an analyst wants a conversation of her own about, and what she would give for it."""

    columns: Annotated[list[Annotated[str, Field(max_length=63)]], Field(min_length=1, max_length=20)]
    epsilon: Epsilon
    delta: Delta
    study: StudyName | None = None


class ConversationAsked(ConversationPlanAsked):
    """The same, to be opened."""

    insist: bool = Field(default=False, description="Buy it even where it would say almost nothing.")


class StandingPlanAsked(_Asked):
    """A question that is to stand over time, and what an analyst would give for all its answers."""

    sql: Question
    epsilon: Epsilon
    delta: Delta
    study: StudyName | None = None


class StandingAsked(StandingPlanAsked):
    """The same, to be opened."""

    insist: bool = Field(default=False, description="Buy it even where it would say almost nothing.")


class CountsAsked(_Asked):
    """Many counts at once, each of the rows that have one of the listed values in every listed column."""

    # Each stops at its first fault: whoever sends a million of them shall not have a million errors made.
    conjunctions: Annotated[
        list[dict[str, Annotated[list[Scalar], Field(min_length=1), FailFast()]]],
        Field(min_length=1, max_length=COUNTS),
        FailFast(),
    ]


def say_fields(errors: Any) -> str:
    """Return what is wrong with a request: fields and rules, not what was sent."""
    listed = [f"{'.'.join(map(_shorten, one['loc']))}: {one['msg']}" for one in errors]
    more = "" if len(listed) <= 5 else f" and {len(listed) - 5} more"
    return "; ".join(listed[:5]) + more


def _shorten(part: object) -> str:
    """Return the name of a field; whoever sends one without end is not sent it back."""
    text = str(part)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"
