"""A registry as a folder of plain files that anybody can host, read and check.

::

    index.html                        all data sets
    schema.json                       what registry.json holds, as JSON Schema
    style.css, icon.svg
    datasets/NAME/index.html          one data set
    datasets/NAME/registry.json       the same with exact numbers, and every release

Every page follows from the JSON beside it, so `discreet registry verify` can draw it again and compare.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.core.errors import InvalidParameter
from discreet.server.registry.bodies import FORMAT, describe_schema
from discreet.server.registry.view import summarise_registry
from discreet.server.rendering import Links, read_asset, render_dataset, render_list

FEED, SCHEMA = "registry.json", "schema.json"
TOP = Links(".", "index.html", ("datasets/", "/index.html"), ("datasets/", f"/{FEED}"))
"""Where the page of all data sets leads."""

BELOW = Links("../..", "../../index.html", ("../", "/index.html"), ("../", f"/{FEED}"))
"""Where the page of one data set leads."""

_ASSETS = ("style.css", "icon.svg")


def write_site(
    registries: Iterable[Mapping[str, Any]], folder: Path, *, is_private: bool = False
) -> list[Path]:
    """Write a folder of plain files, and return them.

    Parameters
    ----------
    registries
        What `write_registry` returned for each data set, with all releases.
    folder
        Where: a new folder, an empty one, or one that holds such an export already.
    is_private
        Whether nobody else on this machine may read the files.

    Raises
    ------
    InvalidParameter
        Where the folder holds something else.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / SCHEMA).is_file():
        rule = "a new folder, an empty one or an earlier export"
        raise InvalidParameter(name="out", rule=rule, got=f"{folder.name}, which holds other things")
    files = render_site([dict(one) for one in registries])
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if is_private else 0o777)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600 if is_private else 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
    return [folder / name for name in files]


def render_site(registries: list[dict[str, Any]]) -> dict[str, bytes]:
    """Return all files of an export by their names in it.

    The list is in the order of the names: what is read back from a folder has no other.
    """
    files = {name: read_asset(name) for name in _ASSETS}
    files[SCHEMA] = _write(describe_schema())
    for told in registries:
        home = f"datasets/{told['name']}"
        files[f"{home}/{FEED}"] = _write(told)
        files[f"{home}/index.html"] = render_dataset(told, BELOW).encode()
    files["index.html"] = render_list(list_registries(sorted(registries, key=_name)), TOP).encode()
    return files


def compare_site(folder: Path, registries: list[dict[str, Any]]) -> list[str]:
    """Return the files of an export that do not say what its JSON says.

    Pages of another version may look otherwise: they are not compared.
    """
    is_ours = all(told["made_by"] == f"discreet {__version__}" for told in registries)
    files = render_site(registries) if is_ours else {}
    return [name for name, body in files.items() if _read(folder / name) != body]


def list_registries(registries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the list of all data sets as plain values."""
    listed = [summarise_registry(told) for told in registries]
    return {"format": FORMAT, "made_by": f"discreet {__version__}", "datasets": listed}


def _name(told: Mapping[str, Any]) -> str:
    return str(told["name"])


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _write(told: Any) -> bytes:
    return json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"
