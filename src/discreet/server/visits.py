"""Visits: who asks, about what, and when it is her turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request
from starlette.responses import Response

from discreet.curator.doors import Analyst
from discreet.server.access import KeyFacts
from discreet.server.fair_queue import FairQueue
from discreet.server.open_datasets import OpenDataset, OpenDatasets
from discreet.server.problems import NO_KEY, NOT_FOUND, TOO_OFTEN
from discreet.server.rates import RequestRates
from discreet.server.strict_json import write_json
from discreet.server.strict_route import json_response

_BEARER = HTTPBearer(auto_error=False, description="A key that `discreet analysts add` printed.")
DatasetName = Annotated[
    str,
    Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,62}$", description="What the data set is called."),
]


@dataclass(frozen=True, slots=True, eq=False)
class Reception:
    """What all visits share.

    Attributes
    ----------
    datasets
        What is served.
    queue, rates
        Whose turn it is, and how often anybody may come.
    """

    datasets: OpenDatasets
    queue: FairQueue
    rates: RequestRates


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """One request of somebody whose key opens a data set.

    Attributes
    ----------
    reception, key, dataset
        Where, who, and about what.
    """

    reception: Reception
    key: KeyFacts
    dataset: OpenDataset

    async def ask(self, work: Callable[[Analyst], Any], study: str | None = None) -> Response:
        """Reply with what comes of work at an analyst's door; not for those who may only look."""
        if self.key.role == "auditor":
            raise NOT_FOUND

        def knock() -> bytes:
            datasets = self.reception.datasets
            door = datasets.find_door(self.dataset, self.key)
            if door is None:
                raise NOT_FOUND
            if study is not None:
                datasets.register_study(self.dataset, study)
            return write_json(work(door))

        return json_response(await self.reception.queue.run(self.key.name, knock))

    async def look(self, work: Callable[[OpenDataset], Any]) -> Response:
        """Reply with something about the data set that its analysts, auditors and owner may see."""
        return json_response(
            await self.reception.queue.run(self.key.name, lambda: write_json(work(self.dataset)))
        )


def find_reception(request: Request) -> Reception:
    """Return what all visits share."""
    found: Reception = request.app.state.reception
    return found


async def find_key(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
) -> KeyFacts:
    """Return whose key came with a request. A key in the address is none: addresses are written down."""
    return admit(find_reception(request), None if credentials is None else credentials.credentials)


def admit(reception: Reception, credentials: str | None) -> KeyFacts:
    """Return whose key it is, unless it is none, or she comes too often."""
    key = None if credentials is None else reception.datasets.access.find(credentials)
    if key is None:
        raise NO_KEY
    if not reception.rates.take(key.name):
        raise TOO_OFTEN
    return key


Key = Annotated[KeyFacts, Depends(find_key)]


async def find_visit(request: Request, name: DatasetName, key: Key) -> Visit:
    """Return a visit to the data set of an address."""
    return enter(find_reception(request), name, key)


def enter(reception: Reception, name: str, key: KeyFacts) -> Visit:
    """Return a visit; what does not exist and what the key does not open are the same."""
    dataset = reception.datasets.get(name)
    if dataset is None or not may_see(reception.datasets, dataset, key):
        raise NOT_FOUND
    return Visit(reception, key, dataset)


VisitOf = Annotated[Visit, Depends(find_visit)]


def may_see(datasets: OpenDatasets, dataset: OpenDataset, key: KeyFacts) -> bool:
    """Tell whether a key opens a data set."""
    return key.role != "analyst" or datasets.access.find_share(key.name, dataset.facts.name) is not None
