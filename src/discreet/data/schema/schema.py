"""What the owner declares about a table, and nothing the table itself says.

A schema is public and free of data. Everything an analyst can learn without paying (names, bounds, declared
values, whom the table protects) comes from here, and sensitivities are derived from here alone.

The loaded relation has the schema's name and exactly its columns, in codes (see `schema.columns`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.data.schema.columns import (
    Boolean,
    Category,
    Column,
    Date,
    Decimal,
    Identifier,
    Integer,
    Ranged,
    Text,
    check_name,
    print_declaration,
)

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Decimal",
    "Dimension",
    "Identifier",
    "Integer",
    "Ranged",
    "Row",
    "Schema",
    "Text",
    "User",
]

MAX_COLUMNS = 1000
"""Columns of one table."""


@dataclass(frozen=True, slots=True)
class Row:
    """The privacy unit is one row."""

    @property
    def name(self) -> str:
        """The word for one unit."""
        return "row"

    @property
    def column(self) -> None:
        """There is no column that says whose row it is."""
        return None

    @property
    def max_rows(self) -> int:
        """Rows of one unit."""
        return 1

    @property
    def max_groups(self) -> int:
        """Groups of one query that one unit may touch."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """The privacy unit is everyone who shares one value of an `Identifier` column.

    Parameters
    ----------
    column
        The identifier column.
    max_rows
        Rows of one user that count; which ones is decided by a keyed hash of the user's own rows.
    max_groups
        Groups of one query that one user may touch.
    """

    column: str
    max_rows: int
    max_groups: int

    def __post_init__(self) -> None:
        check_name(**{"unit.column": self.column})
        if self.column.casefold() == Row().name:  # a guarantee says whom it protects by this word
            raise InvalidParameter(
                name="unit.column",
                rule="called something else: 'row' is the word for one row, and a user has several",
                value=self.column,
                hint="Rename the column, or read it from a view that calls it by another name",
            )
        checks.integer(1, **{"unit.max_rows": self.max_rows})
        checks.integer(1, **{"unit.max_groups": self.max_groups})

    @property
    def name(self) -> str:
        """The word for one unit."""
        return self.column


@dataclass(frozen=True, slots=True, repr=False)
class Dimension:
    """A public table that may be joined on its unique key.

    Parameters
    ----------
    name
        The table's name.
    key
        Name of the column whose values are unique: a category, or an integer on grid 1.
    columns
        All columns, the key among them.
    """

    name: str
    _: KW_ONLY
    key: str
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        check_name(**{"dimension name": self.name})
        object.__setattr__(self, "columns", _check_columns(self.name, self.columns))
        for column in self.columns:
            if isinstance(column, Identifier | Text):
                rule = "a kind with declared values in a public table"
                raise InvalidParameter(
                    name=f"{self.name}.{column.name}", rule=rule, value=type(column).__name__
                )
        names = [column.name for column in self.columns]
        if self.key not in names:
            rule = f"one of the columns {', '.join(names)}"
            raise InvalidParameter(name=f"{self.name}.key", rule=rule, value=self.key)
        key = self.column(self.key)
        if not isinstance(key, Category) and not (isinstance(key, Integer) and key.grid == 1):
            rule = "a category or an integer on grid 1"
            raise InvalidParameter(name=f"{self.name}.key", rule=rule, value=self.key)

    def __repr__(self) -> str:
        return print_declaration(self)

    def column(self, name: str) -> Column:
        """Return a column by name."""
        return _find(self.name, self.columns, name)


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """The public description of one private table.

    Parameters
    ----------
    name
        What queries call the table.
    columns
        The columns, in order. Columns of the source that are not declared are never read.
    unit
        Whom a guarantee protects: `Row()` or `User(...)`.
    neighbours
        Which change is hidden: `AddRemove(unit.name)`, or `Replace(unit.name)`, which makes the number of
        units public.
    dimensions
        Public tables that queries may join.
    rows
        About how many rows there are, where that may be known to all: it only helps to say beforehand which
        answers would be of no use.
    time
        The date column that says when a row happened, for questions that stand over time. A row keeps its
        date: whoever corrects one in a later version of the data removes a row and adds another.
    """

    name: str
    _: KW_ONLY
    columns: tuple[Column, ...]
    unit: Row | User
    neighbours: Neighbours
    dimensions: tuple[Dimension, ...] = ()
    rows: int | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        check_name(**{"schema name": self.name})
        if self.rows is not None:
            checks.integer(1, **{f"{self.name}.rows": self.rows})
        object.__setattr__(self, "columns", _check_columns(self.name, self.columns))
        object.__setattr__(self, "dimensions", tuple(self.dimensions))
        self._check_unit()
        self._check_time()
        tables = [self.name]
        for dimension in self.dimensions:
            checks.instance(Dimension, **{f"{self.name}.dimensions": dimension})
            tables.append(dimension.name)
        _refuse_repeats(f"{self.name}.dimensions", tables)

    def _check_unit(self) -> None:
        if not isinstance(self.unit, Row | User):
            raise InvalidParameter(name=f"{self.name}.unit", rule="Row() or User(...)", value=self.unit)
        identifiers = [column.name for column in self.columns if isinstance(column, Identifier)]
        if isinstance(self.unit, User) and self.unit.column not in identifiers:
            rule = f"an identifier column ({', '.join(identifiers) or 'none is declared'})"
            raise InvalidParameter(name=f"{self.name}.unit.column", rule=rule, value=self.unit.column)
        allowed = (AddRemove(self.unit.name), Replace(self.unit.name))
        if self.neighbours not in allowed:
            rule = f"AddRemove({self.unit.name!r}) or Replace({self.unit.name!r})"
            raise InvalidParameter(name=f"{self.name}.neighbours", rule=rule, value=self.neighbours)

    def _check_time(self) -> None:
        dates = [column.name for column in self.columns if isinstance(column, Date)]
        if self.time is not None and self.time not in dates:
            rule = f"a date column ({', '.join(dates) or 'none is declared'})"
            raise InvalidParameter(name=f"{self.name}.time", rule=rule, value=self.time)

    def __repr__(self) -> str:
        return print_declaration(self)

    def column(self, name: str) -> Column:
        """Return a column by name."""
        return _find(self.name, self.columns, name)

    def dimension(self, name: str) -> Dimension:
        """Return a public table by name."""
        for dimension in self.dimensions:
            if dimension.name == name:
                return dimension
        known = ", ".join(dimension.name for dimension in self.dimensions) or "none is declared"
        raise InvalidParameter(name="table", rule=f"a public table of {self.name} ({known})", value=name)


def _find(table: str, columns: tuple[Column, ...], name: str) -> Column:
    for column in columns:
        if column.name == name:
            return column
    known = ", ".join(column.name for column in columns)
    raise InvalidParameter(name="column", rule=f"a column of {table} ({known})", value=name)


def _check_columns(table: str, columns: object) -> tuple[Column, ...]:
    field = f"{table}.columns"
    if not isinstance(columns, tuple | list) or not 1 <= len(columns) <= MAX_COLUMNS:
        raise InvalidParameter(name=field, rule=f"a list of 1 to {MAX_COLUMNS} columns", value=columns)
    for column in columns:
        checks.instance(Column, **{field: column})
    _refuse_repeats(field, [column.name for column in columns])
    return tuple(columns)


def _refuse_repeats(field: str, names: list[str]) -> None:
    """Refuse names that some engine would take for one another."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InvalidParameter(
                name=field, rule="a list of names that differ beyond upper case", value=name
            )
        seen.add(name.lower())
