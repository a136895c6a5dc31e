"""What a question says of single rows: columns, numbers that are computed from them, and conditions.

Numbers are polynomials with exact coefficients over *atoms*: columns, and whole numbers that are computed
from columns in each row (`Steps`, `Choice`, `Quotient`), or missing there. Conditions hold no NOT: it has
been pushed down to sets of codes and to signs. A comparison with a missing value is not true (SQL's
three-valued logic says the same of a WHERE clause), so two truth values are enough.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from dataclasses import field as dataclass_field
from fractions import Fraction
from functools import cache
from hashlib import blake2b
from typing import Literal

from discreet.data.plan.effort import spend
from discreet.data.plan.kinds import UnitKind

_SPELT = 8
"""Steps for each character that a node is told apart by."""
_FEW = 8
Sign = Literal["<", "<=", "=", "<>"]
Span = tuple[int, int]
"""Codes from the first to the second, both included."""


@dataclass(frozen=True, slots=True, order=True)
class Field:
    """A column of a table of the plan."""

    table: str
    name: str


class _Computed:
    """A node that is looked up and ordered many times: by a digest of all that it holds, made once.

    It is the same in every process, so that a plan is always written the same way.
    """

    __slots__ = ()

    @property
    def digest(self) -> str:
        """What tells this node from every other of its kind."""
        known: str | None = getattr(self, "_digest")  # noqa: B009  # every subclass has it
        if known is None:
            spelt = _spell(self)
            spend(_SPELT * len(spelt))
            known = blake2b(spelt.encode(), digest_size=16).hexdigest()
            object.__setattr__(self, "_digest", known)
        return known


def _spell(node: object) -> str:
    """Return all that a node holds as text, nodes within it by their digests."""
    if isinstance(node, tuple):
        if len(node) > _FEW and type(node[0]) is tuple and type(node[0][0]) is int:
            # Spans and pieces, of which there may be thousands: the same text, sooner.
            return f"({','.join([f'({a},{b})' for a, b in node])})"
        return f"({','.join(map(_spell_part, node))})"
    held = [getattr(node, name) for name in _list_names(type(node))]  # type: ignore[arg-type]
    return f"{type(node).__name__}({','.join(map(_spell_part, held))})"


@cache
def _list_names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.compare)


def _spell_part(part: object) -> str:
    if isinstance(part, _Computed):
        return part.digest
    if isinstance(part, Fraction):
        return str(part)
    return _spell(part) if isinstance(part, tuple) or is_dataclass(part) else repr(part)


@dataclass(frozen=True, slots=True)
class StepFunction(_Computed):
    """A function of one declared column, computed on its declared values when the question was read.

    Parameters
    ----------
    field
        The column.
    pieces
        Ascending: the last code of each piece, and the whole number there; None where it is missing. The
        pieces cover all codes of the column (for a category: positions of its values).
    missing
        The number where the column is missing.
    """

    field: Field
    pieces: tuple[tuple[int, int | None], ...]
    missing: int | None
    _digest: str | None = dataclass_field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, slots=True)
class Choice(_Computed):
    """The first number whose condition holds: a whole number in `span`, or missing. See `atoms.choose`."""

    cases: tuple[tuple[Condition, Polynomial | None], ...]
    otherwise: Polynomial | None
    span: Span
    _digest: str | None = dataclass_field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, slots=True)
class Quotient(_Computed):
    """The whole part of a quotient, rounded down, where the denominator is positive; missing elsewhere.

    It lies in `span`. Made by `atoms.floor_quotient`.
    """

    numerator: Polynomial
    denominator: Polynomial
    span: Span
    _digest: str | None = dataclass_field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.digest)


Atom = Field | StepFunction | Choice | Quotient
Monomial = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Polynomial(_Computed):
    """A sum of coefficients times products of atoms, in the columns' own values.

    Terms are sorted by their atoms. A coefficient is 0 only for an atom that cancels: its value does not
    matter, but that it is there does. Made by the functions of `plan.numbers`.
    """

    terms: tuple[tuple[Monomial, Fraction], ...]
    _digest: str | None = dataclass_field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms that occur, each once, in the order of the terms."""
        return tuple(dict.fromkeys(atom for monomial, _ in self.terms for atom in monomial))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that it is computed from, sorted."""
        return tuple(sorted({one for atom in self.atoms for one in fields_of(atom)}))


@dataclass(frozen=True, slots=True)
class Within:
    """The column's code lies in one of the spans; or it is missing, where `missing` is set.

    Spans ascend and do not touch. For a category the codes are positions among the declared values.
    """

    field: Field
    spans: tuple[Span, ...]
    missing: bool


@dataclass(frozen=True, slots=True)
class Compare:
    """A polynomial compared with 0: of several columns, or of one with too many values to be listed."""

    number: Polynomial
    sign: Sign


@dataclass(frozen=True, slots=True)
class TextLike:
    """Free text is there and like one of some patterns; or like none of them, where `negated` is set.

    In a pattern `%` is any text, `_` any character and `!` says that the next one is meant itself; made by
    `sql.rows.free_texts`, sorted, each once. Where `folded` is set, A to Z of the text are read as a to z.
    """

    field: Field
    patterns: tuple[str, ...]
    folded: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class And:
    """Every part holds. Without parts it is true."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some part holds. Without parts it is false."""

    parts: tuple[Condition, ...]


TRUE = And(())
FALSE = Or(())


@dataclass(frozen=True, slots=True)
class UnitValue:
    """One value for each unit, of all its rows that count.

    Parameters
    ----------
    kind
        What is computed. An average is rounded to a grid: see `plan.derived`.
    number
        What it is computed of; None counts rows whatever they hold. Missing numbers are left out; where a
        unit has no other, its value is missing too (its count is 0).
    """

    kind: UnitKind
    number: Polynomial | None = None


@dataclass(frozen=True, slots=True)
class UnitIn:
    """The unit of a row has a row in a private table where a condition holds, or it has none.

    What is said of a row depends on the rows of its own unit alone, so nobody else's presence matters.

    Parameters
    ----------
    unit
        The column that says whose row it is.
    other
        The column that says so in the other table, or in the same one.
    where
        Which rows of that table are meant.
    negated
        Whether there is none.
    values, having
        Of units that have such a row: what is computed of these rows, sorted, and the condition on it; all
        values are read. Their columns are those of a relation of units: see `plan.derived`.
    """

    unit: Field
    other: Field
    where: Condition
    negated: bool
    values: tuple[UnitValue, ...] = ()
    having: Condition = TRUE


Condition = Within | Compare | TextLike | UnitIn | And | Or


def holds_unit(condition: Condition) -> bool:
    """Say whether a condition asks for other rows of the same unit."""
    if isinstance(condition, And | Or):
        return any(map(holds_unit, condition.parts))
    return isinstance(condition, UnitIn)


def unescape(pattern: str) -> tuple[str, bool]:
    """Return the characters of a pattern, and whether some of them stand for others."""
    plain, marks, meant = [], False, False
    for character in pattern:
        if character == "!" and not meant:
            meant = True
            continue
        marks = marks or (character in "%_" and not meant)
        plain.append(character)
        meant = False
    return "".join(plain), marks


def fields_of(node: Atom | Polynomial | Condition | None) -> frozenset[Field]:
    """Return the columns that a number or a condition looks at."""
    if isinstance(node, Field):
        return frozenset({node})
    if isinstance(node, StepFunction | Within | TextLike):
        return frozenset({node.field})
    if isinstance(node, Polynomial):
        return frozenset(node.fields)
    if isinstance(node, UnitIn):
        return frozenset({node.unit})
    if isinstance(node, Compare):
        return frozenset(node.number.fields)
    parts: tuple[Polynomial | Condition | None, ...] = ()
    if isinstance(node, Quotient):
        parts = node.numerator, node.denominator
    elif isinstance(node, Choice):
        parts = (*(part for case in node.cases for part in case), node.otherwise)
    elif node is not None:
        parts = node.parts
    return frozenset().union(*map(fields_of, parts))
