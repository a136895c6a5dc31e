"""The application: routes behind a gate."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from discreet import __version__
from discreet.curator.ticks import Ticks
from discreet.server.fair_queue import FairQueue
from discreet.server.gate import App, Gate
from discreet.server.open_datasets import OpenDatasets
from discreet.server.problems import INTERNAL, NOT_ALLOWED, NOT_FOUND, Problem
from discreet.server.rates import RequestRates
from discreet.server.registry.kept import Registries
from discreet.server.routes import conversations as conversation_routes
from discreet.server.routes import datasets as dataset_routes
from discreet.server.routes import pages as page_routes
from discreet.server.routes import questions as question_routes
from discreet.server.routes import registry as registry_routes
from discreet.server.routes import standing as standing_routes
from discreet.server.routes.shortcuts import Shortcuts
from discreet.server.strict_route import problem_response
from discreet.server.visits import Reception

THREADS = 32
"""How many questions are worked on at once; most of them wait for the disk or the engine."""

RATE, BURST = 200.0, 2000
"""How many requests a second of one name are taken in the long run, and how many at once."""


def make_app(datasets: OpenDatasets) -> App:
    """Return the application that answers for open data sets. Whoever opened them closes them.

    Parameters
    ----------
    datasets
        What is served.
    """
    app = FastAPI(
        title="discreet",
        version=__version__,
        description="A curator: SQL about private tables, on one budget that cannot be overspent.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _say},
    )
    reception = Reception(datasets, FairQueue(THREADS), RequestRates(a_second=RATE, at_once=BURST))
    app.state.reception = reception
    app.state.registries = Registries(datasets)
    app.state.public_rates = RequestRates(a_second=registry_routes.RATE, at_once=registry_routes.BURST)
    asked = dataset_routes, question_routes, conversation_routes, standing_routes
    for routes in (*asked, registry_routes, page_routes):
        app.include_router(routes.router)
    _forget_validation(app)
    ticks = Ticks(datasets.registration.tick)

    def find_name(key: str) -> str | None:
        found = datasets.access.find(key)
        return None if found is None else found.name

    return Gate(Shortcuts(app, reception), ticks=ticks, find_name=find_name)


async def _say(request: Request, error: Exception) -> Response:
    """Say in our own form what the framework refuses: addresses and methods that do not exist."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: NOT_FOUND, 405: NOT_ALLOWED, 500: INTERNAL}
    return problem_response(known.get(status, Problem(status, "invalid", "The request cannot be read.")))


def _forget_validation(app: FastAPI) -> None:
    """Take the framework's own form of validation errors out of the description: ours is sent."""
    make: Any = app.openapi

    def describe() -> dict[str, Any]:
        said: dict[str, Any] = make()
        for name in ("HTTPValidationError", "ValidationError"):
            said.get("components", {}).get("schemas", {}).pop(name, None)
        return said

    app.openapi = describe  # type: ignore[method-assign]
