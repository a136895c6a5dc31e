"""Registries read from elsewhere: from files, or from a server that runs."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.core.errors import InvalidParameter
from discreet.server.registry.bodies import RegistryBody, RegistryListBody, RegistryReceipt
from discreet.server.registry.export import FEED
from discreet.server.requests import say_fields
from discreet.server.strict_json import read_json

SECONDS = 30
MOST = 1 << 28
"""The most bytes of one registry."""

_TRIES = 5
_MOVED = ("spent", "releases_total", "releases", "uses", "retired", "studies", "shares")


def read_registries(where: str) -> tuple[dict[str, Any], ...]:
    """Return registries as plain values, checked for their shape.

    Parameters
    ----------
    where
        The address of a server, a folder that was exported, or a file of JSON.

    Raises
    ------
    InvalidParameter
        Where there is nothing like that.
    """
    if where.startswith(("http://", "https://")):
        return fetch_registries(where)
    path = Path(where)
    files = sorted(path.glob(f"datasets/*/{FEED}")) if path.is_dir() else [path]
    if not files:
        raise InvalidParameter(name="registry", rule="a folder that was exported", got=f"{path.name}")
    return tuple(read_registry(_read_file(file)) for file in files)


def read_registry(body: bytes) -> dict[str, Any]:
    """Return one registry as plain values, checked for its shape."""
    told = read_json(body)
    try:
        RegistryBody.model_validate(told)
    except ValidationError as error:
        said = say_fields(error.errors())
        raise InvalidParameter(name="registry", rule="of the documented shape", got=said) from None
    plain: dict[str, Any] = told
    return plain


def read_receipts(path: Path) -> tuple[dict[str, Any], ...]:
    """Return receipts that somebody kept: one, or a list; each by itself, or as a part of a reply."""
    said = read_json(_read_file(path))
    listed = said if isinstance(said, list) else [said]
    found = [one.get("receipt", one) if isinstance(one, dict) else one for one in listed]
    try:
        return tuple(RegistryReceipt.model_validate(one).model_dump() for one in found if one is not None)
    except ValidationError as error:
        rule = "of receipts, as replies hold them"
        raise InvalidParameter(name=path.name, rule=rule, got=say_fields(error.errors())) from None


def fetch_registries(address: str) -> tuple[dict[str, Any], ...]:
    """Return all registries of a running server, with all their releases."""
    base = address.rstrip("/")
    try:
        listed = RegistryListBody.model_validate(read_json(_fetch(f"{base}/v1/registry")))
    except ValidationError:
        raise InvalidParameter(name="address", rule="that of a registry", got="something else") from None
    return tuple(_fetch_one(base, one.name) for one in listed.datasets)


def _fetch_one(base: str, name: str) -> dict[str, Any]:
    """Return one registry with all releases, all of one moment."""
    place = f"{base}/v1/registry/{urllib.parse.quote(name, safe='')}?rho=true"
    for _ in range(_TRIES):
        told = read_registry(_fetch(place))
        releases = list(told["releases"])
        while releases and releases[-1]["number"]:
            page = read_registry(_fetch(f"{place}&before={releases[-1]['number']}"))
            releases += page["releases"]
        again = read_registry(_fetch(place))
        if all(again[field] == told[field] for field in _MOVED):
            return told | {"releases": releases}
    raise InvalidParameter(
        name="registry",
        rule="one that stays the same while it is read",
        got=f"{name}, which changed {_TRIES} times",
        hint="Try again later, or export it beside the book",
    )


def _fetch(address: str) -> bytes:
    host = urllib.parse.urlsplit(address).hostname
    # A proxy has nothing to do with what is on this machine.
    direct = [urllib.request.ProxyHandler({})] if host in ("127.0.0.1", "::1", "localhost") else []
    opener = urllib.request.build_opener(*direct)
    try:
        with opener.open(address, timeout=SECONDS) as reply:
            body: bytes = reply.read(MOST + 1)
    except (urllib.error.URLError, OSError, ValueError) as problem:
        got = f"status {problem.code}" if isinstance(problem, urllib.error.HTTPError) else "no reply"
        raise InvalidParameter(name="address", rule="that of a registry", got=got) from None
    if len(body) > MOST:
        raise InvalidParameter(name="registry", rule=f"at most {MOST} bytes", got="more")
    return body


def _read_file(path: Path) -> bytes:
    try:
        body = path.read_bytes()
    except OSError as problem:
        raise InvalidParameter(
            name=path.name, rule="a file that can be read", got=str(problem.strerror)
        ) from None
    return body
