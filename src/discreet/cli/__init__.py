"""The `discreet` command."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from discreet.core.errors import MissingExtra


def main() -> None:
    """Run the command line; without its extra, say which one brings it."""
    for package in ("click", "rich"):
        if find_spec(package) is None:
            sys.exit(str(MissingExtra(package=package, extra="cli")))
    from discreet.cli.main import commands  # noqa: PLC0415  click is an extra

    commands()
