"""Conversations of one's own: opened at a price, asked without end, closed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from discreet.curator.doors import Analyst
from discreet.curator.kept.written_reply import write_quote
from discreet.server.replies import (
    ClosedBody,
    ConversationBody,
    CountsBody,
    QuoteBody,
    SyntheticBody,
    answers,
)
from discreet.server.requests import AskersKey, ConversationAsked, ConversationPlanAsked, CountsAsked, Rows
from discreet.server.routes.counting import write_counts, write_rows
from discreet.server.strict_route import StrictRoute
from discreet.server.visits import VisitOf

router = APIRouter(
    prefix="/v1/datasets/{name}/conversations", route_class=StrictRoute, tags=["conversations"]
)
Called = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="What the conversation is called.")]


@router.post("", responses=answers(ConversationBody), operation_id="openConversation")
async def open_conversation(visit: VisitOf, asked: ConversationAsked, key: AskersKey = None) -> Response:
    """Measure all small tables of some columns, and answer counts about them without end from then on."""

    def begin(door: Analyst) -> dict[str, object]:
        called = door.open_conversation(
            asked.columns,
            epsilon=asked.epsilon,
            delta=asked.delta,
            study=asked.study,
            key=key,
            insist=asked.insist,
        )
        return {"conversation": called, "columns": list(door.universe_of(called).names)}

    return await visit.ask(begin, asked.study)


@router.post("/plans", responses=answers(QuoteBody), operation_id="planConversation")
async def plan_conversation(visit: VisitOf, asked: ConversationPlanAsked) -> Response:
    """Say what a conversation would cost and how far off its counts may be. No row is read."""

    def price(door: Analyst) -> dict[str, object]:
        offered: dict[str, Any] = {"epsilon": asked.epsilon, "delta": asked.delta, "study": asked.study}
        return write_quote(door.plan_conversation(asked.columns, **offered))

    return await visit.ask(price, asked.study)


@router.post("/{conversation}/counts", responses=answers(CountsBody), operation_id="askConversation")
async def ask_conversation(visit: VisitOf, conversation: Called, asked: CountsAsked) -> Response:
    """Answer many counts at once, at no further cost."""
    return await visit.ask(lambda door: write_counts(door, asked, conversation))


@router.get(
    "/{conversation}/synthetic", responses=answers(SyntheticBody), operation_id="makeConversationRows"
)
async def make_rows(visit: VisitOf, conversation: Called, rows: Rows = 1000) -> Response:
    """Make up rows in proportion to what the conversation has learned, at no further cost."""
    return await visit.ask(lambda door: write_rows(door, rows, conversation))


@router.delete("/{conversation}", responses=answers(ClosedBody), operation_id="closeConversation")
async def close_conversation(visit: VisitOf, conversation: Called) -> Response:
    """End a conversation. What it cost stays charged."""

    def end(door: Analyst) -> dict[str, object]:
        door.close_conversation(conversation)
        return {"closed": conversation}

    return await visit.ask(end)
