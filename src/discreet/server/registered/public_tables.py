"""Public tables: what they say is told without noise, so none of them may hold rows of a data set."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.core.errors import InvalidParameter
from discreet.server.registered.registration import Dataset, Registration


def require_public(registration: Registration) -> None:
    """Refuse a registration that calls rows of one data set the public table of another, or of itself.

    Links are followed to files, and on a server names to tables, their parts and what views read. What
    somebody copied is not known again, nor what a private view reads, nor a server by another address.
    """
    listed = tuple(registration.datasets.values())
    for facts in listed:
        for name, where in facts.public.items():
            for private in listed:
                if _holds_rows(facts, where, private):
                    raise InvalidParameter(
                        name=f"datasets.{facts.name}.public.{name}",
                        rule="a table in which nobody is to be hidden: what it says is told without noise",
                        got=f"the rows of {private.name}",
                        hint="Name another one, or declare what it tells as columns of the data",
                    )


def _holds_rows(facts: Dataset, where: Path | str, private: Dataset) -> bool:
    """Tell whether a public table of a data set holds rows of one, which may be the same."""
    if isinstance(where, Path):
        return private.data is not None and _is_same_file(where, private.data)
    dsn, other = (os.environ.get(one.dsn_env or "") for one in (facts, private))
    if private.table is None or not dsn or not other:  # said once it is opened
        return False
    if where == private.table and dsn == other:
        return True
    from discreet.data.engines.postgres import is_same_database, reads_table  # noqa: PLC0415  an extra

    return is_same_database(dsn, other) and reads_table(
        dsn, public=where, private=private.table, timeout=facts.timeout
    )


def _is_same_file(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to one file, or one into a folder of files that the other is."""
    if one.is_relative_to(other) or other.is_relative_to(one):
        return True
    return one.exists() and other.exists() and one.samefile(other)
