"""Shortcuts: questions that are plainly right go past the framework, which costs more than most answers.

What is taken here is a request of the hottest routes whose address, headers and body leave nothing to be said
about them. It is read by the same reader, checked by the same model, let in by the same rules and answered by
the same function as its route has. Whatever else comes, anything wrong above all, takes the long way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.responses import Response

from discreet.core.errors import InvalidParameter
from discreet.server.gate import App, Message, Receive, Send, replay
from discreet.server.requests import AskersKey, CountsAsked, PlanAsked, QuestionAsked
from discreet.server.routes.questions import ask_counts, ask_question, plan_question
from discreet.server.strict_json import read_json
from discreet.server.strict_route import error_response
from discreet.server.visits import Reception, admit, enter

_ROUTES: dict[str, tuple[type[BaseModel], Callable[..., Awaitable[Response]]]] = {
    "counts": (CountsAsked, ask_counts),
    "plans": (PlanAsked, plan_question),
    "queries": (QuestionAsked, ask_question),
}
_BEFORE = ["", "v1", "datasets"]
_KEY: TypeAdapter[str | None] = TypeAdapter(AskersKey)


class Shortcuts:
    """Answers what is plainly right, and hands everything else on.

    Parameters
    ----------
    app
        The long way.
    reception
        What all visits share.
    """

    def __init__(self, app: App, reception: Reception) -> None:
        self._app, self._reception = app, reception

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        place = scope["path"].split("/") if scope["type"] == "http" and scope["method"] == "POST" else []
        if len(place) != 5 or place[:3] != _BEFORE or place[4] not in _ROUTES:
            await self._app(scope, receive, send)
            return
        message = await receive()
        asked = self._read(place[3], place[4], scope["headers"], message)
        if asked is None:
            await self._app(scope, replay(message.get("body", b""), receive), send)
            return
        credentials, arguments = asked
        try:
            visit = enter(self._reception, place[3], admit(self._reception, credentials))
            response = await _ROUTES[place[4]][1](visit, **arguments)
        except Exception as error:
            response = error_response(error, scope["path"])
        await response(scope, receive, send)

    def _read(
        self, name: str, last: str, headers: list[tuple[bytes, bytes]], message: Message
    ) -> tuple[str, dict[str, Any]] | None:
        """Return a key and what the route takes; None where the long way has something to say first."""
        found = dict(headers)
        scheme, _, credentials = found.get(b"authorization", b"").decode("latin-1").partition(" ")
        is_plain = len(found) == len(headers) and found.get(b"content-type") == b"application/json"
        # What has spaces around it is read by the framework, which takes them off.
        is_plain &= scheme == "Bearer" and credentials.strip() == credentials
        if not is_plain or self._reception.datasets.get(name) is None:
            return None
        try:
            arguments: dict[str, Any] = {"asked": _ROUTES[last][0].model_validate(read_json(message["body"]))}
            if last == "queries" and b"idempotency-key" in found:
                arguments["key"] = _KEY.validate_python(found[b"idempotency-key"].decode("latin-1"))
        except (ValidationError, InvalidParameter):
            return None
        return credentials, arguments
