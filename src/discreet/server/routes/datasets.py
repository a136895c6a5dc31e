"""What there is to ask about: data sets, schemas, budgets. Nothing here reads a row."""

from __future__ import annotations

import tomllib
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.core.errors import Refused
from discreet.curator.doors import Analyst
from discreet.curator.kept.written_reply import write_amounts, write_asked
from discreet.data.schema.toml_file import format_schema
from discreet.server.open_datasets import OpenDataset
from discreet.server.replies import BudgetBody, DatasetBody, DatasetsBody, HistoryBody, answers
from discreet.server.strict_route import StrictRoute, json_response
from discreet.server.visits import Key, VisitOf, find_reception, may_see

router = APIRouter(prefix="/v1/datasets", route_class=StrictRoute, tags=["data sets"])


@router.get("", responses=answers(DatasetsBody), operation_id="listDatasets")
async def list_datasets(request: Request, key: Key) -> Response:
    """List the data sets that the key opens."""
    datasets = find_reception(request).datasets
    seen = [one for one in datasets if may_see(datasets, one, key)]
    return json_response({"datasets": [one.facts.name for one in seen]})


@router.get("/{name}", responses=answers(DatasetBody), operation_id="describeDataset")
async def describe_dataset(visit: VisitOf) -> Response:
    """Describe a data set: what is declared about it, its privacy unit and its budget. All is public."""
    return await visit.look(write_dataset)


@router.get("/{name}/budget", responses=answers(BudgetBody), operation_id="readBudget")
async def read_budget(visit: VisitOf) -> Response:
    """Return what may still be spent on priced questions by whoever asks."""
    return await visit.ask(lambda door: {"left": write_amounts(door.left), "share": str(door.share)})


@router.get("/{name}/history", responses=answers(HistoryBody), operation_id="readHistory")
async def read_history(visit: VisitOf) -> Response:
    """Return what the analyst asked, and what each question cost."""
    return await visit.ask(_write_history)


def _write_history(door: Analyst) -> dict[str, Any]:
    return {"questions": [write_asked(one) for one in door.history]}


def write_dataset(dataset: OpenDataset) -> dict[str, Any]:
    """Return the public facts of a data set as plain values."""
    text = format_schema(dataset.table.schema)
    try:
        shared: list[str] | None = list(dataset.curator.universe.names)
    except Refused:
        shared = None
    return {
        "name": dataset.facts.name,
        "purpose": dataset.facts.purpose,
        "schema": _plain(tomllib.loads(text, parse_float=str)),
        "schema_toml": text,
        "guarantee": str(dataset.curator.guarantee),
        "epsilon": str(dataset.facts.epsilon),
        "delta": str(dataset.facts.delta),
        "promise": None if dataset.facts.promise is None else str(dataset.facts.promise),
        "shared_columns": shared,
    }


def _plain(said: Any) -> Any:
    """Return TOML's values as JSON has them: dates as text."""
    if isinstance(said, dict):
        return {name: _plain(value) for name, value in said.items()}
    if isinstance(said, list):
        return [_plain(value) for value in said]
    return said if isinstance(said, str | int | float | bool) else str(said)
