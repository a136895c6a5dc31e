"""Questions: prices, answers, and many counts at once."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from discreet.curator.doors import Analyst
from discreet.curator.kept.written_reply import write_quote, write_reply
from discreet.server.replies import CountsBody, QuoteBody, ReplyBody, SyntheticBody, answers
from discreet.server.requests import AskersKey, CountsAsked, PlanAsked, QuestionAsked, Rows
from discreet.server.routes.counting import write_counts, write_rows
from discreet.server.strict_route import StrictRoute
from discreet.server.visits import VisitOf

router = APIRouter(prefix="/v1/datasets/{name}", route_class=StrictRoute, tags=["questions"])


@router.post("/plans", responses=answers(QuoteBody), operation_id="planQuestion")
async def plan_question(visit: VisitOf, asked: PlanAsked) -> Response:
    """Say what a question would cost and how far off it may be. No row is read, nothing is charged."""
    return await visit.ask(
        lambda door: write_quote(door.plan(asked.sql, fresh=asked.fresh, **_read_offer(asked))), asked.study
    )


@router.post("/queries", responses=answers(ReplyBody), operation_id="askQuestion")
async def ask_question(visit: VisitOf, asked: QuestionAsked, key: AskersKey = None) -> Response:
    """Answer a question, from what is paid for already or by itself at the price that /plans says."""

    def answer(door: Analyst) -> dict[str, Any]:
        how: dict[str, Any] = {"fresh": asked.fresh, "insist": asked.insist, "pay": asked.pay, "key": key}
        return write_reply(door.sql(asked.sql, **how, **_read_offer(asked)))

    return await visit.ask(answer, asked.study)


def _read_offer(asked: PlanAsked) -> dict[str, Any]:
    return {"epsilon": asked.epsilon, "delta": asked.delta, "study": asked.study}


@router.post("/counts", responses=answers(CountsBody), operation_id="askCounts")
async def ask_counts(visit: VisitOf, asked: CountsAsked) -> Response:
    """Answer many counts at once from the shared hypothesis, at no cost."""
    return await visit.ask(lambda door: write_counts(door, asked, None))


@router.get("/synthetic", responses=answers(SyntheticBody), operation_id="makeRows")
async def make_rows(visit: VisitOf, rows: Rows = 1000) -> Response:
    """Make up rows in proportion to what the shared hypothesis says, at no cost. They describe nobody."""
    return await visit.ask(lambda door: write_rows(door, rows, None))
