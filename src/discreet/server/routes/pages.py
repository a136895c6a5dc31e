"""Pages for people: they show what the public JSON shows, and the console asks by a key that stays there."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from discreet.server.problems import NOT_FOUND
from discreet.server.rendering import (
    ASSETS,
    SERVED,
    read_asset,
    render_console,
    render_dataset,
    render_list,
)
from discreet.server.routes.registry import (
    Anybody,
    PublicDataset,
    find_registries,
    run_for_anybody,
    summarise,
)
from discreet.server.strict_route import StrictRoute
from discreet.server.visits import find_reception

router = APIRouter(route_class=StrictRoute, include_in_schema=False)


@router.get("/", dependencies=[Anybody])
async def show_list(request: Request) -> Response:
    """Show all data sets."""
    registries = find_registries(request)
    return HTMLResponse(
        await run_for_anybody(request, lambda: render_list(summarise(registries), SERVED).encode())
    )


@router.get("/registry/{name}", dependencies=[Anybody])
async def show_dataset(request: Request, dataset: PublicDataset) -> Response:
    """Show the registry of one data set."""
    registries = find_registries(request)
    return HTMLResponse(
        await run_for_anybody(
            request, lambda: render_dataset(registries.tell(dataset, "public"), SERVED).encode()
        )
    )


@router.get("/console")
async def show_console(request: Request) -> Response:
    """Show the page to ask from."""
    return HTMLResponse(render_console([one.facts.name for one in find_reception(request).datasets]))


@router.get("/web/{name}")
async def send_asset(name: str) -> Response:
    """Send what pages load."""
    if name not in ASSETS:
        raise NOT_FOUND
    return Response(read_asset(name), media_type=ASSETS[name])
