"""Registries of a running server, kept until something happens in the book."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from discreet.server.open_datasets import OpenDataset, OpenDatasets
from discreet.server.registry.sources import Audience, RegistrySource, copy_open
from discreet.server.registry.view import drop_rho, write_registry, write_releases
from discreet.server.strict_json import write_json

PATIENCE = 1.0
"""Seconds for which a registry is told again although something happened: anybody may ask for it."""

_PART = 20
"""How many times as long as it took to make a registry it is told: many entries take a while to look at."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    version: int
    since: float
    took: float
    source: RegistrySource
    told: dict[str, Any]
    written: dict[bool, bytes] = field(default_factory=dict)  # with rhos, and without


class Registries:
    """Writes the registries of a server.

    Parameters
    ----------
    datasets
        What is served.
    patience
        Seconds for which one is told again although something happened.
    """

    def __init__(self, datasets: OpenDatasets, *, patience: float = PATIENCE) -> None:
        self.datasets, self._patience = datasets, patience
        self._kept: dict[tuple[str, Audience], _Kept] = {}
        self._locks = {one.facts.name: threading.Lock() for one in datasets}
        # Then when a registry was made anew would tell when somebody asked about another data set.
        self._hides_others = datasets.is_apart

    def tell(
        self, dataset: OpenDataset, audience: Audience, *, rho: bool = False, before: int | None = None
    ) -> dict[str, Any]:
        """Return the registry of a data set as plain values.

        Parameters
        ----------
        dataset, audience
            Of what, and for whom.
        rho
            Whether amounts are told in rho too.
        before
            List releases with numbers below this one; by default the last ones.
        """
        kept = self._find(dataset, audience)
        told = kept.told
        if before is not None and told["releases_total"] is not None:
            told = told | {"releases": write_releases(kept.source, audience, before=before)}
        plain: dict[str, Any] = told if rho else drop_rho(told)
        return plain

    def write(
        self, dataset: OpenDataset, audience: Audience, *, rho: bool = False, before: int | None = None
    ) -> bytes:
        """Return the same as JSON; what most people ask for is written once."""
        if before is not None:
            return write_json(self.tell(dataset, audience, rho=rho, before=before))
        kept = self._find(dataset, audience)
        if rho not in kept.written:
            kept.written[rho] = write_json(kept.told if rho else drop_rho(kept.told))
        return kept.written[rho]

    def _find(self, dataset: OpenDataset, audience: Audience) -> _Kept:
        if dataset.is_apart and audience == "public":
            # Made anew each time: what is kept, and since when, would tell that somebody asked something.
            return self._make(dataset, audience)
        with self._locks[dataset.facts.name]:
            place = dataset.facts.name, audience
            kept, now = self._kept.get(place), time.monotonic()
            is_fresh = kept is not None and now < kept.since + max(self._patience, _PART * kept.took)
            if kept is None or not (is_fresh or self._is_same(kept, now)):
                kept = self._kept[place] = self._make(dataset, audience)
            return kept

    def _is_same(self, kept: _Kept, now: float) -> bool:
        """Tell whether nothing happened: but the rate a day changes with time alone, if slowly."""
        if self._hides_others:
            return False
        return kept.version == self.datasets.book.version and now < kept.since + 60 * self._patience

    def _make(self, dataset: OpenDataset, audience: Audience) -> _Kept:
        version, since = self.datasets.book.version, time.monotonic()
        source = copy_open(self.datasets, dataset, audience)
        told = write_registry(source, audience)
        return _Kept(version, since, time.monotonic() - since, source, told)
