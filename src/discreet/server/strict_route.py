"""Routes whose bodies are strict JSON and whose every error is one of ours."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from discreet.server.log import note
from discreet.server.problems import INTERNAL, Problem, find_problem
from discreet.server.requests import say_fields
from discreet.server.strict_json import read_json, write_json


class StrictRoute(APIRoute):
    """A route that reads bodies by `read_json`, and lets no exception out."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            try:
                body = await request.body()
                said = read_json(body) if body and request.method != "GET" else None
                return await handle(_ReadRequest(request, said))
            except RequestValidationError as error:
                return problem_response(Problem(422, "invalid", say_fields(error.errors())))
            except HTTPException:
                raise
            except Exception as error:
                return error_response(error, self.path)

        return strict


class _ReadRequest(Request):
    """A request whose body is read already."""

    def __init__(self, request: Request, said: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._said = said
        self._body = b"" if said is None else b"read"

    async def json(self) -> Any:
        """Return what the body says."""
        return self._said


def error_response(error: Exception, route: str) -> Response:
    """Return the reply that tells of an error; what is a fault of ours is noted for the owner."""
    problem = find_problem(error)
    if problem is INTERNAL:
        note("failed", route=route, error=type(error).__name__, at=_places(error))
    return problem_response(problem)


def problem_response(problem: Problem) -> Response:
    """Return the reply that tells of a problem."""
    return json_response(problem.body, status=problem.status, headers=problem.headers)


def json_response(said: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return plain values as a reply."""
    body = said if isinstance(said, bytes) else write_json(said)
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def _places(error: BaseException) -> list[str]:
    """Return where an error came from: files and lines, and never its words, which may quote data."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return [f"{frame.filename.rsplit('/discreet/', 1)[-1]}:{frame.lineno}" for frame in frames]
