"""The rows of each user that count: chosen once, when a table is read, and numbered from 1 on.

Which rows of a user are kept, and in which order, is a function of the user's own rows and of a secret that
is drawn when the table is opened. So nobody else's presence matters, whatever is asked, and a bound that a
question tightens takes the first of the same rows. The order is that of a keyed hash, which each engine
computes in its own way: for every secret it is some order of the user's own rows, and that is all that a
sensitivity rests on. Rows of one hash are told apart by what they hold, so only equal rows are alike to it.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.core.errors import InternalError
from discreet.data.engines.base import Source
from discreet.data.engines.readings import CODES, PLACE, RowReading, UserRows
from discreet.data.engines.rendering.render_expressions import (
    alias,
    cast,
    name_relation,
    own_column,
    select,
    table,
    whole,
)
from discreet.data.schema.schema import Schema, User

_RANKED = "discreet_ranked"


def bound_rows(
    source: Source, reading: RowReading, schema: Schema, *, key: str, joined: bool = False
) -> RowReading:
    """Return how an input is read as at most `max_rows` rows of each user, with their places.

    Parameters
    ----------
    source
        The engine.
    reading
        How all its rows are read.
    schema
        What is declared of them.
    key
        The secret.
    joined
        Whether there are other tables of the same users.
    """
    if not isinstance(schema.unit, User):
        raise InternalError("only users' rows are bounded")
    unit = own_column(schema.unit.column)
    others = [one for one in schema.columns if one.name != schema.unit.column]
    hashed = source.hash_row(key, unit, [(own_column(one.name), one) for one in others])
    order = [exp.Ordered(this=one) for one in (hashed, *(own_column(one.name) for one in others))]
    place = exp.Window(this=exp.RowNumber(), partition_by=[unit.copy()], order=exp.Order(expressions=order))
    names = [own_column(one.name) for one in schema.columns]
    ranked = select([*names, alias(place, PLACE)], table(CODES))
    few = exp.LTE(this=own_column(PLACE), expression=whole(schema.unit.max_rows))
    kept = [*(name.copy() for name in names), alias(cast(own_column(PLACE), "int"), PLACE)]
    query = select(kept, name_relation(ranked, _RANKED), tests=[few])
    return replace(reading, users=UserRows(schema.unit.column, joined, query))


def up_to(rows: int, schema: Schema) -> exp.Select:
    """Return the query for at most so many loaded rows of each user, with their places."""
    if not isinstance(schema.unit, User) or not 1 <= rows <= schema.unit.max_rows:
        raise InternalError(f"{rows} rows of a user are more than were read")
    names = [own_column(name) for name in (*(one.name for one in schema.columns), PLACE)]
    few = exp.LTE(this=own_column(PLACE), expression=whole(rows))
    return select(names, table(schema.name), tests=[few])
