"""Questions that stand over time: opened at a price, answered whenever a day is over."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from discreet.core.errors import InvalidParameter
from discreet.curator.doors import Analyst
from discreet.curator.kept.written_reply import write_quote
from discreet.server.replies import OpenedBody, QuoteBody, StandingBody, StandingsBody, answers
from discreet.server.requests import AskersKey, StandingAsked, StandingPlanAsked, Through
from discreet.server.strict_route import StrictRoute
from discreet.server.visits import VisitOf

router = APIRouter(prefix="/v1/datasets/{name}/standing", route_class=StrictRoute, tags=["standing"])
Called = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="What the question is called.")]


@router.post("", responses=answers(OpenedBody), operation_id="openStanding")
async def open_standing(visit: VisitOf, asked: StandingAsked, key: AskersKey = None) -> Response:
    """Charge for a question that stands, once for all its answers. No row is read yet."""

    def begin(door: Analyst) -> dict[str, object]:
        return {"standing": door.open_standing(asked.sql, key=key, insist=asked.insist, **_offer(asked))}

    return await visit.ask(begin, asked.study)


@router.post("/plans", responses=answers(QuoteBody), operation_id="planStanding")
async def plan_standing(visit: VisitOf, asked: StandingPlanAsked) -> Response:
    """Say what a standing question would cost and how far off its numbers may be. No row is read."""

    def price(door: Analyst) -> dict[str, object]:
        return write_quote(door.plan_standing(asked.sql, **_offer(asked)))

    return await visit.ask(price, asked.study)


@router.get("", responses=answers(StandingsBody), operation_id="listStanding")
async def list_standing(visit: VisitOf) -> Response:
    """Return the analyst's standing questions."""
    return await visit.ask(lambda door: {"standing": door.standing})


@router.get("/{standing}", responses=answers(StandingBody), operation_id="readStanding")
async def read_standing(visit: VisitOf, standing: Called, through: Through = None) -> Response:
    """Answer a standing question for all periods that are over, at no further cost."""

    def read(door: Analyst) -> dict[str, object]:
        answer = door.read_standing(standing, through=_read_day(through))
        return {
            "standing": answer.name,
            "question": answer.question,
            "running": answer.is_running,
            "periods": [day.isoformat() for day in answer.periods],
            "values": list(answer.values),
            "errors": list(answer.errors),
            "together": answer.together,
            "left": answer.left,
        }

    return await visit.ask(read)


def _offer(asked: StandingPlanAsked) -> dict[str, Any]:
    return {"epsilon": asked.epsilon, "delta": asked.delta, "study": asked.study}


def _read_day(through: str | None) -> datetime.date | None:
    try:
        return None if through is None else datetime.date.fromisoformat(through)
    except ValueError:
        raise InvalidParameter(name="through", rule="a day, such as 2026-03-01", value=through) from None
