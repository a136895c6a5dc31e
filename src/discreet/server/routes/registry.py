"""The epsilon registry over HTTP: for anybody, and in full for the owner and auditors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from discreet.server.open_datasets import OpenDataset
from discreet.server.problems import NOT_FOUND, TOO_OFTEN
from discreet.server.rates import RequestRates
from discreet.server.registry.bodies import RegistryBody, RegistryListBody, RegistryReceipt
from discreet.server.registry.export import list_registries
from discreet.server.registry.kept import Registries
from discreet.server.replies import answers
from discreet.server.strict_json import write_json
from discreet.server.strict_route import StrictRoute, json_response
from discreet.server.visits import DatasetName, Visit, VisitOf, find_reception

router = APIRouter(route_class=StrictRoute, tags=["registry"])
RATE, BURST = 50.0, 500
"""How many requests a second without a key are taken in the long run, and how many at once."""

ANYBODY = ""
"""Who asks without a key: all of them wait in one line, and count as one. No analyst has this name."""

Rho = Annotated[bool, Query(description="Tell amounts in rho too.")]
Before = Annotated[
    int | None, Query(ge=0, le=10**9, description="List releases with numbers below this one.")
]


def find_registries(request: Request) -> Registries:
    """Return what tells registries."""
    found: Registries = request.app.state.registries
    return found


def admit_anybody(request: Request) -> None:
    """Let somebody in without a key, unless too many come."""
    rates: RequestRates = request.app.state.public_rates
    if not rates.take(ANYBODY):
        raise TOO_OFTEN


async def run_for_anybody(request: Request, work: Callable[[], bytes]) -> bytes:
    """Return what comes of work for somebody without a key, once it is their turn."""
    return await find_reception(request).queue.run(ANYBODY, work)


async def find_public(request: Request, name: DatasetName) -> OpenDataset:
    """Return a data set that is served; that it exists is public."""
    dataset = find_reception(request).datasets.get(name)
    if dataset is None:
        raise NOT_FOUND
    return dataset


PublicDataset = Annotated[OpenDataset, Depends(find_public)]
Anybody = Depends(admit_anybody)


@router.get(
    "/v1/registry", responses=answers(RegistryListBody), operation_id="listRegistry", dependencies=[Anybody]
)
async def list_registry(request: Request) -> Response:
    """List all data sets with their guarantees and what is left. Public: no key is needed."""
    registries = find_registries(request)
    return json_response(await run_for_anybody(request, lambda: write_json(summarise(registries))))


@router.get(
    "/v1/registry/{name}",
    responses=answers(RegistryBody),
    operation_id="readRegistry",
    dependencies=[Anybody],
)
async def read_registry(
    request: Request, dataset: PublicDataset, rho: Rho = False, before: Before = None
) -> Response:
    """Tell what a data set is used for and what that costs those in it. Public: no key is needed."""
    registries = find_registries(request)
    return json_response(
        await run_for_anybody(request, lambda: registries.write(dataset, "public", rho=rho, before=before))
    )


@router.get("/v1/datasets/{name}/ledger", responses=answers(RegistryBody), operation_id="readLedger")
async def read_ledger(request: Request, visit: VisitOf, rho: Rho = False, before: Before = None) -> Response:
    """Tell the same with everything in it: for the owner and auditors."""
    require_auditor(visit)
    registries = find_registries(request)
    return await visit.look(lambda dataset: registries.tell(dataset, "owner", rho=rho, before=before))


@router.get(
    "/v1/datasets/{name}/receipts/{number}", responses=answers(RegistryReceipt), operation_id="readReceipt"
)
async def read_receipt(visit: VisitOf, number: Annotated[int, Path(ge=0, le=10**9)]) -> Response:
    """Return the receipt of an entry: of one's own, or of any for the owner and auditors."""
    return await visit.look(lambda dataset: find_receipt(visit, dataset, number))


def require_auditor(visit: Visit) -> None:
    """Refuse analysts."""
    if visit.key.role == "analyst":
        raise NOT_FOUND


def find_receipt(visit: Visit, dataset: OpenDataset, number: int) -> dict[str, Any]:
    """Return a receipt as plain values, where whoever asks may have it.

    It says how many rows the book has, and thereby what others asked: no analyst has one where a data set of
    the book is under a promise between analysts.
    """
    datasets, ledger = visit.reception.datasets, dataset.curator.ledger
    if visit.key.role == "analyst" and datasets.is_apart:
        raise NOT_FOUND
    count = datasets.book.look(lambda: len(datasets.book.state.data(dataset.table.schema.name).records))
    if number >= count:
        raise NOT_FOUND
    if visit.key.role == "analyst" and ledger.entry(number).analyst != visit.key.name:
        raise NOT_FOUND
    receipt = ledger.receipt(number)
    if receipt is None:
        raise NOT_FOUND
    return asdict(receipt)


def summarise(registries: Registries) -> dict[str, Any]:
    """Return the list of all data sets as plain values."""
    return list_registries(registries.tell(one, "public") for one in registries.datasets)
