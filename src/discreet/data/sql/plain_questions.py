"""Plain questions: counts of rows with plain conditions, read without the parser, whose work they are mostly.

`SELECT COUNT(*) AS n FROM visits WHERE age BETWEEN 20 AND 29 AND ward = 'north'` leaves nothing to be said
about it: declared names that are no words of SQL, numbers and texts without anything odd, and AND between
tests of one column each. The plan is the one that `parse` makes of it. Whatever else comes, anything that
would be refused above all, is None here, and `parse` has the word. Nothing is remembered from one question to
the next: how long one takes tells nobody what others asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from discreet.core.errors import Refused
from discreet.data.plan.canonical import AnySign, conjoin_columns, conjunction, outside, within
from discreet.data.plan.nodes import Aggregate, Output, Plan, Policy
from discreet.data.plan.row_nodes import TRUE, Condition, Field, Span, Within
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Category, Column, Decimal, Integer
from discreet.data.schema.schema import Schema
from discreet.data.sql.parse import parse
from discreet.data.sql.selected.aggregates import default_name
from discreet.data.sql.text import DiscreetSql

MOST_CHARACTERS, MOST_TESTS, MOST_LISTED = 1_000, 16, 64
"""What is read here at most: far less than `parse` takes, so that nothing refused there passes."""

_GAP, _SPACE = r"[ \t\r\n]*", r"[ \t\r\n]+"
_NAME = r"[A-Za-z_]\w{0,62}"
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?(?![\w.])"
_TEXT = r"'[ -&(-\[\]-~]*'(?!')"  # printable, without quotes or anything that could be an escape
_VALUE = f"(?:{_NUMBER}|{_TEXT})"
_AFTER, _BEFORE = r"(?<=[ \t\r\n])", r"(?=[ \t\r\n])"
_BEGINNING = re.compile(
    rf"{_GAP}SELECT{_SPACE}COUNT\({_GAP}\*{_GAP}\)(?:{_SPACE}AS{_SPACE}({_NAME}))?"
    rf"{_SPACE}FROM{_SPACE}({_NAME}){_GAP}(?:{_AFTER}(WHERE){_BEFORE}|\Z)",
    re.IGNORECASE | re.ASCII,
)
_TEST = re.compile(
    rf"{_GAP}({_NAME}){_GAP}(?:"
    rf"(<>|!=|<=|>=|=|<|>){_GAP}({_VALUE})"
    rf"|{_AFTER}BETWEEN{_SPACE}({_NUMBER}){_SPACE}AND{_SPACE}({_NUMBER})"
    rf"|{_AFTER}IN{_GAP}\({_GAP}((?:{_VALUE}{_GAP},{_GAP})*{_VALUE}){_GAP}\)"
    rf"){_GAP}(?:{_AFTER}(AND){_BEFORE}|\Z)",
    re.IGNORECASE | re.ASCII,
)
_LITERAL = re.compile(rf"{_NUMBER}|{_TEXT}", re.ASCII)
_SIGNS: dict[str, AnySign] = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class PlainQuestions:
    """Reads plain questions about some tables.

    Parameters
    ----------
    tables
        What they are about.
    """

    def __init__(self, tables: PlanTables) -> None:
        self._tables = tables
        policy = Policy(epsilon=Fraction(1), delta=Fraction(0))
        self._plans: dict[str, Plan] = {}
        self._columns: dict[tuple[str, str], _PlainColumn] = {}
        for schema in tables.schemas:
            if not _is_name(schema.name):
                continue
            # All but its condition and its name is what `parse` makes of a count of all rows.
            self._plans[schema.name.lower()] = parse(
                f"SELECT COUNT(*) FROM {schema.name}",  # noqa: S608  for our own parser, with a declared name
                schemas=tables,
                policy=policy,
            )
            self._columns |= dict(_list_columns(schema, tables))

    def read(self, text: str) -> Plan | None:
        """Return the plan of a question; None where it is not plain."""
        begun = _BEGINNING.match(text) if len(text) <= MOST_CHARACTERS and text.isascii() else None
        if begun is None:
            return None
        name, table = begun.group(1), begun.group(2).lower()
        whole = self._plans.get(table)
        if whole is None or (name is not None and not _is_name(name)):
            return None
        try:
            where = TRUE if begun.group(3) is None else self._read_tests(text, begun.end(), table)
        except Refused:  # said by `parse`
            return None
        if where is None:
            return None
        what = whole.outputs[0].what
        named = name or default_name(what) if isinstance(what, Aggregate) else None
        return None if named is None else replace(whole, where=where, outputs=(Output(named, what),))

    def _read_tests(self, text: str, place: int, table: str) -> Condition | None:
        """Return what the tests from a place on ask of a row; None where one is not plain."""
        found: list[Condition] = []
        while len(found) < MOST_TESTS:
            test = _TEST.match(text, place)
            column = None if test is None else self._columns.get((table, test.group(1).lower()))
            held = None if test is None or column is None else column.read_test(test)
            if test is None or held is None:
                return None
            found.append(held)
            if test.group(7) is None:
                return self._join(found)
            place = test.end()
        return None

    def _join(self, tests: list[Condition]) -> Condition:
        columns = {test.field for test in tests if isinstance(test, Within)}
        if len(columns) == len(tests):
            return conjoin_columns(tests)
        return conjunction(tests, self._tables)


@dataclass(frozen=True, slots=True, eq=False)
class _PlainColumn:
    """A column that is compared with what is written: with numbers, or with texts that are declared.

    Attributes
    ----------
    field, tables
        Which, and of what.
    places
        Where each declared text stands; None of a number.
    grid
        What one step of a number is worth.
    """

    field: Field
    tables: PlanTables
    places: dict[Any, int] | None
    grid: Fraction

    def read_test(self, test: re.Match[str]) -> Condition | None:
        """Return a test of the column; None where it is not plain, or would be refused."""
        _, sign, value, low, high, listed, _ = test.groups()
        if low is not None:
            if self.places is not None:
                return None
            span = math.ceil(self._read_number(low)), math.floor(self._read_number(high))
            return within(self.field, [span], missing=False, tables=self.tables)
        if listed is not None:
            return self._read_list(_LITERAL.findall(listed))
        told = _SIGNS[sign]
        if told in ("=", "<>"):
            point = self._read_point(value)
            if point is None:
                return None
            spans = [(point, point)]
            if told == "<>":
                return outside(self.field, spans, tables=self.tables)
            return within(self.field, spans, missing=False, tables=self.tables)
        if self.places is not None or value[0] == "'":
            return None
        return within(
            self.field, [self._cut(told, self._read_number(value))], missing=False, tables=self.tables
        )

    def _read_list(self, listed: list[str]) -> Condition | None:
        if len(listed) > MOST_LISTED:
            return None
        points = [self._read_point(one) for one in listed]
        spans = [(point, point) for point in points if point is not None]
        if len(spans) < len(points):
            return None
        return within(self.field, spans, missing=False, tables=self.tables)

    def _read_point(self, written: str) -> int | None:
        """Return the code of a value that some row may have; None of any other."""
        if (written[0] == "'") != (self.places is not None):
            return None
        if self.places is not None:
            return self.places.get(written[1:-1])
        code = self._read_number(written)
        lower, upper = self.tables.span(self.field)
        return int(code) if code.denominator == 1 and lower <= code <= upper else None

    def _read_number(self, written: str) -> int | Fraction:
        """Return a number in steps of the column."""
        number = int(written) if "." not in written else Fraction(written)
        return number if self.grid == 1 else number / self.grid

    def _cut(self, sign: AnySign, root: int | Fraction) -> Span:
        lower, upper = self.tables.span(self.field)
        ends: dict[AnySign, Callable[[], Span]] = {
            "<": lambda: (lower, math.ceil(root) - 1),
            "<=": lambda: (lower, math.floor(root)),
            ">=": lambda: (math.ceil(root), upper),
            ">": lambda: (math.floor(root) + 1, upper),
        }
        return ends[sign]()


def _list_columns(schema: Schema, tables: PlanTables) -> Iterator[tuple[tuple[str, str], _PlainColumn]]:
    """Yield the columns that can be compared plainly, by table and name in small letters."""
    for column in schema.columns:
        field = tables.field(schema.name, column.name)
        if field is not None and _is_name(column.name) and _is_plain(column):
            is_text = isinstance(column, Category)
            places = {value: i for i, value in enumerate(column.domain())} if is_text else None
            grid = Fraction(1) if is_text else tables.grid(field)
            known = schema.name.lower(), column.name.lower()
            yield known, _PlainColumn(field, tables, places, grid)


def _is_plain(column: Column) -> bool:
    if isinstance(column, Category):
        return all(type(value) is str for value in column.values)
    return isinstance(column, Integer | Decimal)


def _is_name(name: str) -> bool:
    """Say whether a name is one wherever it stands: no word that SQL has, alone or before another."""
    return name.upper() not in _list_words()


@cache
def _list_words() -> frozenset[str]:
    words = (word for phrase in DiscreetSql.Tokenizer.KEYWORDS for word in phrase.upper().split())
    return frozenset({*words, "COUNT", "TOP", "CASE", "WHEN", "THEN", "ELSE", "END"})
