"""A schema to fill in, written from the names and types of columns alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from discreet.core.errors import InvalidParameter
from discreet.data.engines import EngineField, open_source
from discreet.data.schema.columns import check_name
from discreet.data.schema.toml_file import toml_value

_HEAD: Final = """\
# What is public about the table {name}. Everything written here may be seen by every analyst,
# so write what you knew before you looked at the data: never its own minimum, maximum or values.

name = {quoted}

# Which change a guarantee hides: "add-remove" hides whether a unit is there at all;
# "replace" hides what a unit's data say and makes the number of units public.
neighbours = "add-remove"

# About how many rows there are, if everybody may know: then questions whose answers would say nothing
# are refused before they are charged.
# rows = 10000

# Which column, of kind "date", says when a row happened, where counts are asked day by day.
# time = "day"

# Whom a guarantee protects. As it stands: one row. Where one person may have several rows, say whose
# a row is and how many rows, and groups of one query, count for each person.
# [unit]
# column = "user_id"      # a column of kind "identifier"
# max_rows = 1
# max_groups = 1

# Kinds: category (values), integer (lower, upper), decimal (lower, upper, grid), boolean,
# date (lower, upper), identifier, text. Columns that are left out are never read.
# Missing cells stay missing; to count them as a value instead, add: null = <that value>
# The numbers and dates of a CSV file come as text (VARCHAR) too: give them their kind.
"""

_BOUNDS = "lower =               # the smallest value that makes sense\nupper =               # the largest"
_BODIES: Final = {
    "integer": f'kind = "integer"\n{_BOUNDS}',
    "real": f'kind = "decimal"\n{_BOUNDS}\ngrid = 0.01           # round to multiples of this',
    "boolean": 'kind = "boolean"',
    "date": f'kind = "date"\n{_BOUNDS}',
    "text": 'kind = "category"     # or any other\n'
    "values = []           # every value, in order\n"
    '# other = ""          # the value that others count as',
    "uuid": 'kind = "identifier"',
}
_LIKE: Final = {"decimal": "real", "timestamp": "date", "zoned": "date"}


def template(data: object, *, name: str) -> str:
    """Return a commented TOML schema for data that `Table` takes, to be completed by its owner.

    Only names and types of columns are looked at. The text is not valid before the bounds are filled in:
    there is no bound that is right without knowing what the data mean.

    Parameters
    ----------
    data
        As for `Table`.
    name
        What queries will call the table.
    """
    check_name(name=name)
    source = open_source({name: data})
    try:
        columns = source.columns(name)
    finally:
        source.close()
    return "\n".join([_HEAD.format(name=name, quoted=toml_value(name)), *_sections(columns)])


def _sections(columns: tuple[EngineField, ...]) -> Iterator[str]:
    for column in columns:
        try:
            check_name(**{"column name": column.name})
        except InvalidParameter:
            several = len(columns) == 1 and any(sign in column.name for sign in ";\t|")
            way_out = "put commas between its names" if several else "rename it"
            yield (
                f"# The column {toml_value(column.name)} ({column.type}) cannot be declared: {way_out},\n"
                "# with the letters a to z, digits and _.\n"
            )
            continue
        body = _BODIES.get(_LIKE.get(column.family, column.family))
        if body is None:
            yield f"# The column {column.name} is of type {column.type}, which cannot be declared.\n"
            continue
        yield f"# {column.type}\n[columns.{column.name}]\n{body}\n"
