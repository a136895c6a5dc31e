"""Arithmetic that is total: sums and products of bounded atoms, kept as exact polynomials.

Nothing here could fail on some row. Division by a constant is a coefficient; every other quotient, and every
function, is an atom with a range of its own (`plan.atoms`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.errors import Refused
from discreet.data.plan.effort import spend
from discreet.data.plan.row_nodes import Atom, Field, Monomial, Polynomial, Span
from discreet.data.plan.tables import PlanTables

MAX_DEGREE = 4
MAX_TERMS = 32
MAX_COEFFICIENT = 10**18
MAX_UNITS = 1 << 62
"""No row's value may leave 64-bit integers, whatever the order of evaluation."""
_MADE, _SCALED, _TERM, _CORNER = 800, 1_500, 400, 100
"""Steps that the arithmetic of polynomials takes: see `plan.effort`."""
_MAX_LINKED = 6
"""Columns whose products meet in one another, of which every corner is looked at."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A polynomial in codes: `unit` times a whole number that lies in `span` for every row."""

    unit: Fraction
    terms: tuple[tuple[Monomial, int], ...]
    span: Span


def constant(value: Fraction | int) -> Polynomial:
    """Return a polynomial without columns."""
    return _make({(): Fraction(value)})


def variable(atom: Atom) -> Polynomial:
    """Return a column, or what is computed from columns, as a polynomial."""
    return _make({(atom,): Fraction(1)})


def value_of(number: Polynomial) -> Fraction | None:
    """Return the value of a polynomial without atoms; None for any other."""
    if any(monomial for monomial, _ in number.terms):
        return None
    return sum((coefficient for _, coefficient in number.terms), Fraction(0))


def split_constant(number: Polynomial) -> tuple[Polynomial, Fraction]:
    """Return a polynomial without its constant term, and that."""
    rest = tuple(term for term in number.terms if term[0])
    return Polynomial(rest), dict(number.terms).get((), Fraction(0))


def add(left: Polynomial, right: Polynomial) -> Polynomial:
    """Return left + right."""
    terms = dict(left.terms)
    for monomial, coefficient in right.terms:
        terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
    return _make(terms)


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    """Return left * right."""
    for factor, number in ((left, right), (right, left)):
        value = value_of(factor)
        if value is not None:
            return number if value == 1 else _make({names: value * c for names, c in number.terms})
    terms: dict[Monomial, Fraction] = {(atom,): Fraction(0) for atom in (*left.atoms, *right.atoms)}
    order = _Order()
    for (a, x), (b, y) in itertools.product(left.terms, right.terms):
        monomial = tuple(sorted((*a, *b), key=order))
        terms[monomial] = terms.get(monomial, Fraction(0)) + x * y
    return _make(terms)


def negate(number: Polynomial) -> Polynomial:
    """Return -number."""
    return multiply(constant(-1), number)


def primitive(number: Polynomial) -> Polynomial:
    """Return the positive multiple whose coefficients are whole numbers without a common factor."""
    unit = common_unit(coefficient for _, coefficient in number.terms)
    return _make({monomial: coefficient / unit for monomial, coefficient in number.terms})


def scale(
    number: Polynomial,
    tables: PlanTables,
    *,
    narrowed: Mapping[Field, Span] | None = None,
    unit: Fraction | None = None,
) -> Scaled:
    """Return a polynomial in codes with the exact range of its values: in the largest unit, or a given one.

    Where some columns are known to lie in less than their declared span, the range is that of those values;
    but whatever the columns hold, nothing may leave 64-bit integers.

    Raises
    ------
    Refused
        When a value could leave 64-bit integers.
    """
    spend(_SCALED + 2 * _TERM * len(number.terms))
    steps = [(names, _in_codes(c, names, tables)) for names, c in number.terms]
    unit = unit or common_unit(coefficient for _, coefficient in steps)
    terms = tuple((names, int(c if unit == 1 else c / unit)) for names, c in steps)
    spans = {atom: tables.span(atom) for atom in number.atoms}
    largest = sum(abs(c) * math.prod(max(map(abs, spans[f])) for f in monomial) for monomial, c in terms)
    if largest > MAX_UNITS:
        raise Refused(
            what="arithmetic",
            why="the declared bounds allow values beyond 64-bit integers",
            way_out="Use fewer products, or ask the owner for narrower bounds or a coarser grid",
        )
    spans.update((field, span) for field, span in (narrowed or {}).items() if field in spans)
    return Scaled(unit, terms, _range(terms, spans))


def _in_codes(coefficient: Fraction, names: Monomial, tables: PlanTables) -> Fraction:
    for grid in map(tables.grid, names):
        coefficient = coefficient if grid == 1 else coefficient * grid
    return coefficient


Terms = Sequence[tuple[Monomial, int]]


def _range(terms: Terms, spans: Mapping[Atom, Span]) -> Span:
    """Return the smallest and largest value: exact where few columns meet and none is multiplied by itself.

    Terms that have no column in common, directly or through others, are extreme each on its own.
    """
    ranges = [_linked_range(linked, spans) for linked in _link(terms)]
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def _link(terms: Terms) -> Iterable[Terms]:
    """Part terms into those that have columns in common, directly or through others."""
    parts: dict[Atom, list[tuple[Monomial, int]]] = {}
    for term in terms:
        met = {id(parts[field]): parts[field] for field in term[0] if field in parts}
        joined = [term, *(one for part in met.values() for one in part)]
        parts.update((field, joined) for monomial, _ in joined for field in monomial)
        if not term[0]:
            yield joined
    yield from {id(part): part for part in parts.values()}.values()


def _linked_range(terms: Terms, spans: Mapping[Atom, Span]) -> Span:
    fields = list(dict.fromkeys(field for monomial, _ in terms for field in monomial))
    multilinear = all(len(set(monomial)) == len(monomial) for monomial, _ in terms)
    if len(terms) == 1 or not multilinear or len(fields) > _MAX_LINKED:
        ranges = [_term_range(monomial, c, spans) for monomial, c in terms]
        return sum(low for low, _ in ranges), sum(high for _, high in ranges)
    # A function that is linear in each column on its own is extreme at a corner of the box.
    spend(_CORNER * len(terms) << len(fields))
    corners = []
    for ends in itertools.product(*(spans[field] for field in fields)):
        corner = dict(zip(fields, ends, strict=True))
        corners.append(sum(c * math.prod(corner[field] for field in monomial) for monomial, c in terms))
    return min(corners), max(corners)


def _term_range(monomial: Monomial, coefficient: int, spans: Mapping[Atom, Span]) -> Span:
    low = high = coefficient
    for field in dict.fromkeys(monomial):
        power = monomial.count(field)
        ends = [end**power for end in spans[field]]
        if power % 2 == 0 and spans[field][0] < 0 < spans[field][1]:
            ends.append(0)
        products = [a * b for a in (low, high) for b in ends]
        low, high = min(products), max(products)
    return low, high


def common_unit(numbers: Iterable[int | Fraction]) -> Fraction:
    """Return the largest number of which all are multiples; some number where all are 0."""
    listed = list(numbers)
    common = math.gcd(*(number.numerator for number in listed))
    return Fraction(common, math.lcm(*(number.denominator for number in listed))) if common else Fraction(1)


def _make(terms: Mapping[Monomial, Fraction]) -> Polynomial:
    spend(_MADE + _TERM * len(terms))
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient != 0}
    # A column that cancels still makes the whole missing where it is missing: x - x = 0 asks for x.
    left_over = {atom for monomial in terms for atom in monomial}
    left_over -= {atom for monomial in kept for atom in monomial}
    kept |= {(atom,): Fraction(0) for atom in left_over}
    if len(kept) > MAX_TERMS or any(len(monomial) > MAX_DEGREE for monomial in kept):
        raise Refused(
            what="arithmetic",
            why=f"at most {MAX_TERMS} terms, each a product of at most {MAX_DEGREE} columns, are understood",
            way_out="Ask for a simpler expression",
        )
    if any(abs(c) >= MAX_COEFFICIENT or c.denominator > MAX_COEFFICIENT for c in kept.values()):
        raise Refused(
            what="arithmetic",
            why="numbers have at most 18 digits on either side of the point",
            way_out="Round them",
        )
    order = _Order()
    return Polynomial(tuple(sorted(kept.items(), key=lambda term: [order(atom) for atom in term[0]])))


class _Order(dict[Atom, tuple[int, str, str]]):
    """Where atoms stand in a polynomial: columns by name, then what is computed. Each is looked at once."""

    def __call__(self, atom: Atom) -> tuple[int, str, str]:
        return self[atom]

    def __missing__(self, atom: Atom) -> tuple[int, str, str]:
        place = (0, atom.table, atom.name) if isinstance(atom, Field) else (1, atom.digest, "")
        self[atom] = place
        return place
