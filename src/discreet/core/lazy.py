"""What a package offers, loaded when it is first used.

The `__init__.pyi` of a package lists its names for type checkers and editors, one line each. The same lines
are read here, so that there is one list and importing a package costs next to nothing.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

_NO_EXTRAS: Mapping[str, str] = MappingProxyType({})
_NO_MARKS = str.maketrans("(),", "   ")


def offer(
    package: str, *, extras: Mapping[str, str] = _NO_EXTRAS
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package, from the stub beside its `__init__`.

    Parameters
    ----------
    package
        Its `__name__`.
    extras
        The extra that installs a third-party package which some names need.
    """
    module = sys.modules[package]
    homes = _read_stub(os.path.splitext(str(module.__file__))[0] + ".pyi")  # pathlib is slow

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_suggest(name, homes)}")
        try:
            value = _import(homes[name], name, package)
        except ModuleNotFoundError as problem:
            if problem.name is None or problem.name not in extras:
                raise
            errors = importlib.import_module("discreet.core.errors")  # slow, and seldom needed
            raise errors.MissingExtra(package=problem.name, extra=extras[problem.name]) from None
        setattr(module, name, value)
        return value

    return load, lambda: sorted(homes), sorted(homes)


def _read_stub(stub: str) -> dict[str, str]:
    """Return where each name lives, from lines such as `from home import name as name`."""
    with open(stub, encoding="utf-8") as text:
        words = text.read().translate(_NO_MARKS).split()
    homes, home = {}, ""
    for word, following in itertools.pairwise(words):
        if word == "from":
            home = following
        elif word == "as":
            homes[following] = home
    return homes


def _import(home: str, name: str, package: str) -> Any:
    if home == package:
        return importlib.import_module(f"{package}.{name}")
    found = importlib.import_module(home)
    return getattr(found, name) if hasattr(found, name) else importlib.import_module(f"{home}.{name}")


def _suggest(name: str, homes: Mapping[str, str]) -> str:
    """Suggest what was probably meant, whatever its case; nothing for a private name."""
    known = {} if name.startswith("_") else {one.lower(): one for one in sorted(homes, reverse=True)}
    found = get_close_matches(name.lower(), known, n=3, cutoff=0.65)
    return f". Did you mean {' or '.join(known[one] for one in found)}?" if found else ""
