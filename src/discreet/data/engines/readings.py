"""How an input is read: its codes, which rows of each user are kept, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from sqlglot import exp

Family = Literal[
    "integer", "real", "decimal", "boolean", "date", "timestamp", "zoned", "text", "uuid", "other"
]
"""What an engine's type is good for. "zoned" is a timestamp with a time zone."""

RAW = "discreet_raw"
"""What the queries given to `Source.load` call the input they read."""
CODES = "discreet_codes"
"""What the choice of users' rows calls the rows it chooses from."""
PLACE = "discreet_place"
"""The column with a row's place among those of its user. No owner can declare the name."""


@dataclass(frozen=True, slots=True)
class UserRows:
    """How the rows of users are chosen and numbered, as a query over all of them.

    Attributes
    ----------
    column
        The column that says whose row it is.
    joined
        Whether other tables are joined on it.
    query
        Reads the relation `CODES`.
    """

    column: str
    joined: bool
    query: exp.Select

    def over(self, codes: exp.Select) -> exp.Select:
        """Return the choice among the rows of a query."""

        def point(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Table) and node.name == CODES:
                return exp.Subquery(this=codes.copy(), alias=exp.TableAlias(this=exp.to_identifier(CODES)))
            return node

        return cast("exp.Select", self.query.transform(point))


@dataclass(frozen=True, slots=True)
class RowReading:
    """How an input is read, as queries over it: its codes, and how many cells say what is not declared."""

    codes: exp.Select
    unread: exp.Select | None
    """One count for each column that may lose cells, under the column's name."""
    lost: Mapping[str, str] = field(default_factory=dict)
    """What the counted cells of each of them are, with a place for how many, and what becomes of them."""
    users: UserRows | None = None
    """Which rows of each user are kept; all rows, where there are no users."""
