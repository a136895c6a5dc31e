"""The tables a request may name, and what is publicly known of their columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter
from discreet.data.columns import Category, Column, Date, Decimal, Integer, Ranged
from discreet.data.plan import Field, Span
from discreet.data.schema import Dimension, Schema


@dataclass(frozen=True, slots=True)
class Tables:
    """Private tables with their public dimensions. Names are unique, whatever their case."""

    schemas: tuple[Schema, ...]

    @classmethod
    def of(cls, schemas: Schema | Iterable[Schema] | Tables) -> Self:
        """Gather one schema or several; refuse names that stand for two different tables."""
        given = schemas.schemas if isinstance(schemas, Tables) else schemas
        tables = cls((given,) if isinstance(given, Schema) else tuple(given))
        known: dict[str, Schema | Dimension] = {}
        for schema in tables.schemas:
            checks.instance(Schema, schemas=schema)
            for relation in _relations(schema):
                if known.setdefault(relation.name.lower(), relation) != relation:
                    rule = "tables with different names"
                    raise InvalidParameter(name="schemas", rule=rule, value=relation.name)
        return tables

    def relation(self, name: str) -> Schema | Dimension | None:
        """Return the table with a name; None where there is none."""
        for schema in self.schemas:
            for relation in _relations(schema):
                if relation.name.lower() == name.lower():
                    return relation
        return None

    def schema(self, name: str) -> Schema:
        """Return the private table with a name."""
        relation = self.relation(name)
        if not isinstance(relation, Schema):
            raise InvalidParameter(name="table", rule="a private table of the given schemas", value=name)
        return relation

    def column(self, field: Field) -> Column:
        """Return what is declared of a column."""
        relation = self.relation(field.table)
        if relation is None:
            raise InvalidParameter(name="table", rule="a table of the given schemas", value=field.table)
        return relation.column(field.name)

    def grid(self, field: Field) -> Fraction:
        """Return what one step of a number's or date's code is worth."""
        column = self.column(field)
        if isinstance(column, Integer | Decimal):
            return column.grid
        if isinstance(column, Date):
            return Fraction(1)
        raise InternalError(f"{field} is not a number")

    def span(self, field: Field) -> Span:
        """Return every code of a column: bounds of a number, positions of a category."""
        column = self.column(field)
        if isinstance(column, Ranged):
            return column.code_lower, column.code_upper
        if isinstance(column, Category):
            return 0, column.size - 1
        raise InternalError(f"{field} has no declared values")


def declared(column: Column) -> bool:
    """Say whether the values of a column are public."""
    return isinstance(column, Ranged | Category)


def _relations(schema: Schema) -> tuple[Schema | Dimension, ...]:
    return schema, *schema.dimensions
