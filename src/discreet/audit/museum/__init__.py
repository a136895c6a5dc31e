"""Mechanisms that are known to be broken. Every audit must flag its own; none may be used for a release."""

from __future__ import annotations

import importlib
import pkgutil

from discreet.audit.museum.exhibit import Exhibit

EXHIBITS: tuple[Exhibit, ...] = tuple(
    exhibit
    for found in pkgutil.iter_modules(__path__, prefix=f"{__name__}.")
    for exhibit in getattr(importlib.import_module(found.name), "EXHIBITS", ())
)
"""Everything on show: each module of this package adds its own `EXHIBITS`."""

__all__ = ["EXHIBITS", "Exhibit"]
