"""The tables a request may name, and what is publicly known of their columns."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.errors import InternalError, InvalidParameter
from discreet.data.plan.row_nodes import (
    And,
    Atom,
    Choice,
    Compare,
    Condition,
    Field,
    Polynomial,
    Quotient,
    Span,
    StepFunction,
    TextLike,
    UnitIn,
    Within,
)
from discreet.data.schema.columns import Boolean, Category, Column, Date, Decimal, Integer, Ranged
from discreet.data.schema.schema import Dimension, Schema


@dataclass(frozen=True, slots=True)
class PlanTables:
    """Private tables with their public dimensions. Names are unique, whatever their case.

    `derived` holds relations that one plan makes of them (`plan.derived`); they hide declared ones.
    """

    schemas: tuple[Schema, ...]
    derived: tuple[Schema | Dimension, ...] = field(default=(), repr=False, compare=False)
    _relations: dict[str, Schema | Dimension] = field(init=False, repr=False, compare=False)
    _fields: dict[tuple[str, str], Field] = field(init=False, repr=False, compare=False)
    _columns: dict[Field, Column] = field(init=False, repr=False, compare=False)
    _spans: dict[Field, Span] = field(init=False, repr=False, compare=False, default_factory=dict)
    tabulated: dict[Polynomial, Any] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Numbers of one column that were computed for all its values; see `tabulate`."""

    def __post_init__(self) -> None:
        declared = (relation for schema in self.schemas for relation in _relations(schema))
        listed = [*reversed(self.derived), *declared]
        pairs = [(Field(one.name, column.name), column) for one in listed for column in one.columns]
        # A plan looks names up many times over: once for each place where a query writes them.
        object.__setattr__(self, "_relations", {one.name.lower(): one for one in reversed(listed)})
        object.__setattr__(self, "_fields", {(one.table, one.name.lower()): one for one, _ in pairs})
        object.__setattr__(self, "_columns", dict(reversed(pairs)))

    @classmethod
    def of(cls, schemas: Schema | Iterable[Schema] | PlanTables) -> PlanTables:
        """Gather one schema or several; refuse names that stand for two different tables."""
        if isinstance(schemas, PlanTables):
            return schemas
        given = (schemas,) if isinstance(schemas, Schema) else tuple(schemas)
        known: dict[str, Schema | Dimension] = {}
        for schema in given:
            checks.instance(Schema, schemas=schema)
            for relation in _relations(schema):
                if known.setdefault(relation.name.lower(), relation) != relation:
                    rule = "tables with different names"
                    raise InvalidParameter(name="schemas", rule=rule, value=relation.name)
        return cls(given)

    def apart(self) -> PlanTables:
        """Return the same tables with nothing computed of them yet: one question counts what it computes."""
        found = copy(self)
        object.__setattr__(found, "tabulated", {})
        return found

    def extend(self, *relations: Schema | Dimension) -> PlanTables:
        """Return the tables with relations of one plan beside them, or in their place."""
        if not relations:
            return self
        found = copy(self)
        pairs = [(Field(one.name, column.name), column) for one in relations for column in one.columns]
        # A question may join hundreds of times: what is declared is listed once, and copied.
        for name, more in (
            ("_relations", {one.name.lower(): one for one in relations}),
            ("_fields", {(one.table, one.name.lower()): one for one, _ in pairs}),
            ("_columns", dict(pairs)),
        ):
            object.__setattr__(found, name, getattr(self, name) | more)
        object.__setattr__(found, "derived", (*self.derived, *relations))
        for name in ("_spans", "tabulated"):
            object.__setattr__(found, name, {})
        return found

    def relation(self, name: str) -> Schema | Dimension | None:
        """Return the table with a name; None where there is none."""
        return self._relations.get(name.lower())

    def schema(self, name: str) -> Schema:
        """Return the private table with a name."""
        relation = self.relation(name)
        if not isinstance(relation, Schema):
            raise InvalidParameter(name="table", rule="a private table of the given schemas", value=name)
        return relation

    def field(self, table: str, name: str) -> Field | None:
        """Return the column of a table that has a name, whatever its case; None where there is none."""
        return self._fields.get((table, name.lower()))

    def column(self, field: Field) -> Column:
        """Return what is declared of a column."""
        if field in self._columns:
            return self._columns[field]
        relation = self.relation(field.table)
        if relation is None:
            raise InvalidParameter(name="table", rule="a table of the given schemas", value=field.table)
        return relation.column(field.name)

    def grid(self, atom: Atom) -> Fraction:
        """Return what one step of a number's, date's or truth value's code is worth."""
        if not isinstance(atom, Field):
            return Fraction(1)
        column = self.column(atom)
        if isinstance(column, Integer | Decimal):
            return column.grid
        if isinstance(column, Date | Boolean):
            return Fraction(1)
        raise InternalError(f"{atom} is not a number")

    def span(self, atom: Atom) -> Span:
        """Return between which codes an atom lies: bounds of a number, positions of a category."""
        if isinstance(atom, Choice | Quotient):
            return atom.span
        if isinstance(atom, StepFunction):
            codes = [code for _, code in atom.pieces if code is not None]
            if atom.missing is not None:
                codes.append(atom.missing)
            return min(codes), max(codes)
        if atom not in self._spans:
            self._spans[atom] = _span(self.column(atom))
        return self._spans[atom]

    def nullable(self, number: Atom | Polynomial | None, given: Condition | None = None) -> bool:
        """Say whether a number may be missing in some row, or in one where a condition holds."""
        if number is None:
            return True
        if isinstance(number, Field):
            return self.column(number).nullable and (given is None or number not in _present(given))
        if isinstance(number, Polynomial):
            return any(self.nullable(atom, given) for atom in number.atoms)
        if isinstance(number, StepFunction):
            missing = number.missing is None and self.nullable(number.field)
            return missing or any(code is None for _, code in number.pieces)
        if isinstance(number, Choice):
            cases = any(self.nullable(value, test) for test, value in number.cases)
            return cases or self.nullable(number.otherwise)
        return bool(number.denominator.atoms) or self.nullable(number.numerator)


def _span(column: Column) -> Span:
    if isinstance(column, Ranged):
        return column.code_lower, column.code_upper
    if isinstance(column, Category):
        return 0, column.size - 1
    return 0, 0  # of free text and identifiers nothing is told but whether they are there


def _present(condition: Condition) -> set[Field]:
    """Return columns that are there wherever a condition holds."""
    if isinstance(condition, Within):
        return set() if condition.missing else {condition.field}
    if isinstance(condition, TextLike):
        return {condition.field}
    if isinstance(condition, UnitIn):
        return {condition.unit}
    if isinstance(condition, Compare):
        return {atom for atom in condition.number.atoms if isinstance(atom, Field)}
    parts = [_present(part) for part in condition.parts]
    if isinstance(condition, And):
        return set().union(*parts)
    return set.intersection(*parts) if parts else set()


def is_declared(column: Column) -> bool:
    """Say whether the values of a column are public."""
    return isinstance(column, Ranged | Category)


def _relations(schema: Schema) -> tuple[Schema | Dimension, ...]:
    return schema, *schema.dimensions
