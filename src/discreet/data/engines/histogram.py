"""Counts over the declared columns of a table: one GROUP BY, whose rows come back as arrays of positions.

The engine groups the codes it holds and then looks up, for each group it found, the position of every code
among the declared values of its column. A missing cell is the last position, as in `Universe.from_columns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from sqlglot import exp

from discreet.core.errors import InvalidParameter, Refused
from discreet.data.engines.base import Source
from discreet.data.engines.bounding import up_to
from discreet.data.engines.rendering.render_expressions import (
    alias,
    cast,
    column,
    literal,
    name_relation,
    own_column,
    select,
    table,
    whole,
)
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import is_declared
from discreet.data.schema.columns import Category, Column, Ranged
from discreet.data.schema.schema import Schema, User
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe

_FOUND, _ROWS = "discreet_found", "discreet_rows"


def choose_columns(schema: Schema, columns: Iterable[str] | None) -> tuple[Column, ...]:
    """Return the named columns, or all whose values are declared; refuse one whose values are not."""
    if columns is None:
        return tuple(one for one in schema.columns if is_declared(one))
    if isinstance(columns, str):
        raise InvalidParameter(name="columns", rule="a list of names", value=columns)
    listed = tuple(schema.column(name) for name in columns)
    for one in listed:
        if not is_declared(one):
            raise Refused(
                what=one.name,
                why="its values are not declared, so they span no universe",
                way_out="Name columns with declared values",
            )
    return listed


def count(source: Source, schema: Schema, columns: Sequence[Column], *, sparse: bool | None) -> Histogram:
    """Return how many rows hold which values of some columns, at most `max_rows` rows of a user."""
    universe = Universe.from_columns(columns)
    if sparse is False:
        universe.require_dense()
    rows: exp.Expr = table(schema.name)
    if isinstance(schema.unit, User):
        rows = up_to(schema.unit.max_rows, schema)
    *positions, counts = source.arrays(_group(schema, columns, rows))
    made = Histogram(universe, counts, np.stack(positions, axis=1), rows_per_unit=schema.unit.max_rows)
    return made if sparse or not universe.is_dense else made.to_dense()


def _group(schema: Schema, columns: Sequence[Column], relation: exp.Expr) -> exp.Query:
    """Return the query for the positions of every group that is there, and its number of rows."""
    keys = [column(Field(schema.name, one.name)) for one in columns]
    listed = [alias(key, f"k{i}") for i, key in enumerate(keys)]
    counted = alias(exp.Count(this=exp.Star()), _ROWS)
    groups = select(
        [*listed, counted], name_relation(relation, schema.name), groups=[key.copy() for key in keys]
    )
    joins = [_places(one, i) for i, one in enumerate(columns) if isinstance(one, Category)]
    positions = [alias(_position(one, i), f"p{i}") for i, one in enumerate(columns)]
    return select([*positions, own_column(_ROWS)], name_relation(groups, _FOUND), joins=joins)


def _position(one: Column, i: int) -> exp.Expr:
    found: exp.Expr = exp.column("place", table=f"discreet_places_{i}", quoted=True)
    if isinstance(one, Ranged):
        code = cast(own_column(f"k{i}"), "bigint")  # its own type may be too small for the difference
        found = exp.Sub(this=code, expression=whole(one.code_lower))
    return cast(exp.Coalesce(this=found, expressions=[whole(one.size or 0)]), "int")


def _places(one: Category, i: int) -> exp.Join:
    """Return the join that looks up the place of a category's value; every row stays, exactly once."""
    rows = [exp.Tuple(expressions=[literal(value), whole(place)]) for place, value in enumerate(one.codes())]
    name, columns = f"discreet_places_{i}", ("value", "place")
    values = exp.Values(
        expressions=rows,
        alias=exp.TableAlias(
            this=exp.to_identifier(name, quoted=True),
            columns=[exp.to_identifier(each, quoted=True) for each in columns],
        ),
    )
    value = exp.column("value", table=name, quoted=True)
    return exp.Join(this=values, side="LEFT", on=exp.EQ(this=own_column(f"k{i}"), expression=value))
