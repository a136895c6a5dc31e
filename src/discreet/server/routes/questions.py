"""Questions: prices, answers, and many counts at once."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Header
from starlette.responses import Response

from discreet.core.errors import InvalidParameter
from discreet.curator.doors import Analyst
from discreet.curator.written_reply import write_quote, write_reply
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.server.replies import CountsBody, QuoteBody, ReplyBody, answers
from discreet.server.requests import CountsAsked, PlanAsked, QuestionAsked
from discreet.server.strict_route import StrictRoute
from discreet.server.visits import VisitOf

router = APIRouter(prefix="/v1/datasets/{name}", route_class=StrictRoute, tags=["questions"])
AskersKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Your own name for this question. Sent again with the same question, it returns the same "
        "bytes at no cost, for ever.",
    ),
]


@router.post("/plans", responses=answers(QuoteBody), operation_id="planQuestion")
async def plan_question(visit: VisitOf, asked: PlanAsked) -> Response:
    """Say what a question would cost and how far off it may be. No row is read, nothing is charged."""
    return await visit.ask(lambda door: write_quote(door.plan(asked.sql, fresh=asked.fresh)))


@router.post("/queries", responses=answers(ReplyBody), operation_id="askQuestion")
async def ask_question(visit: VisitOf, asked: QuestionAsked, key: AskersKey = None) -> Response:
    """Answer a question, from what is paid for already or by itself at the price that /plans says."""
    return await visit.ask(
        lambda door: write_reply(
            door.sql(
                asked.sql,
                fresh=asked.fresh,
                insist=asked.insist,
            )
        )
    )


@router.post("/counts", responses=answers(CountsBody), operation_id="askCounts")
async def ask_counts(visit: VisitOf, asked: CountsAsked) -> Response:
    """Answer many counts at once from the shared hypothesis, at no cost."""
    return await visit.ask(lambda door: _count(door, asked))


def _count(door: Analyst, asked: CountsAsked) -> dict[str, Any]:
    answers = door.ask(Conjunctions(door.universe, [_read_clause(one) for one in asked.conjunctions]))
    listed = (answers,) if isinstance(answers, OnlineAnswer) else answers
    return {
        "values": [one.value for one in listed],
        "errors": [_finite(one.own) for one in listed],
        "together": [_finite(one.error) for one in listed],
        "kinds": [one.kind for one in listed],
    }


def _read_clause(clause: dict[str, Any]) -> dict[str, Any]:
    """Return a clause with the values that a universe has."""
    for values in clause.values():
        if any(isinstance(value, Decimal) for value in values):
            rule = "text, whole numbers, true, false or null"
            raise InvalidParameter(name="conjunctions", rule=rule, got="a number with a point")
    return clause


def _finite(error: float) -> float | None:
    return error if error < float("inf") else None
