"""Whether an answer would say anything: decided from public facts, before it is charged.

An interval that spans most of what is possible anyway is no answer. How wide it will be follows from the
noise and from how many rows a group has. The first is public; the second is what the owner has said about
the table's size, or a hypothesis that is released already, and without either nobody knows. What cannot be
judged is not refused. No data are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.core.bounds import each_of
from discreet.core.errors import Refused
from discreet.core.search import first_integer
from discreet.data.plan.facts import SetFacts
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.kinds import Kind
from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import Aggregate, Policy, leaves
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.budget import Budget, ModeChoice, QuantileChoice, Vector, budget
from discreet.data.pricing.estimates import enclosure
from discreet.data.pricing.pairs import PAIRS, enclose_pair
from discreet.data.pricing.quantiles import units_off

MOST_OF_RANGE = Fraction(1, 2)
"""An interval that spans this part of the public range says nothing: the one constant of the rule."""

PLAUSIBLE_ROWS = 10**10
"""More rows than there are people; no table is taken to have more where nobody says how many it has."""

MOST_PARTS = 30
"""Questions that measure more in a group are judged, and get no advice: that would take too long."""

SPREAD = Fraction(1, 8)
"""The standard deviation of people's numbers, of the declared range: owners declare more than people have.

A correlation, a slope or an intercept divides by it, so it says nothing where noise may be as large.
"""

_COUNTS: tuple[Kind, ...] = ("count", "count_units")
_SPREADS: tuple[Kind, ...] = ("variance_pop", "variance_samp", "deviation_pop", "deviation_samp")
_BETA = Fraction(1, 20)
_FINER = 4  # steps of the search between an epsilon and its double
_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class RowsKnown:
    """What is public about how many rows there are.

    Attributes
    ----------
    asked
        About so many, at most, a question is about.
    table
        About so many there are.
    """

    asked: Fraction
    table: Fraction


@dataclass(frozen=True, slots=True)
class UselessColumn:
    """A column whose intervals would span most of what is possible.

    Attributes
    ----------
    name
        The column.
    words
        How wide they would be, and where.
    """

    name: str
    words: str


def find_useless(made: Budget, rows: RowsKnown | None = None) -> tuple[UselessColumn, ...]:
    """List the columns of an answer that would say nothing.

    A column counts where a group of average size says nothing in any grouping set; one that is computed,
    where everything but plain counts that it is computed from says nothing.

    Parameters
    ----------
    made
        The noise of every measure.
    rows
        How many there are. Left out: what the schema says.
    """
    return _Judge(made).find_useless(_read_rows(made) if rows is None else rows)


def require_useful(made: Budget, rows: RowsKnown | None = None, *, most: Fraction | None = None) -> None:
    """Refuse a question with a column that would say nothing, and say what it would take.

    Parameters
    ----------
    made, rows
        As in `find_useless`.
    most
        The largest epsilon that may be asked for; None where the asker chooses it.
    """
    useless = find_useless(made, rows)
    if useless:
        raise Refused(
            what=", ".join(one.name for one in useless),
            why=f"{useless[0].words}; nothing was charged",
            way_out=f"{_advise(made, rows, most)}; or pass insist=True",
        )


def describe_use(made: Budget, rows: RowsKnown | None = None) -> tuple[str, ...]:
    """Say of what use an answer would be: what it would take, or where nobody knows its rows, how many."""
    said = _read_rows(made) if rows is None else rows
    useless = find_useless(made, said)
    if useless:
        return (*(f"{one.name}: {one.words}" for one in useless), _advise(made, said, None))
    needed = find_rows(made) if said is None and _is_small(made) else None
    if needed is None or needed <= 1:
        return ()
    return (f"intervals span less than half of what is possible from about {needed} rows on",)


def describe_answered(made: Budget, rows: Fraction) -> tuple[str, ...]:
    """Say which columns of an answer say almost nothing, by its own noisy number of rows."""
    counted = max(rows, Fraction(1))
    names = ", ".join(one.name for one in find_useless(made, RowsKnown(counted, counted)))
    if not names:
        return ()
    needed = find_rows(made) if _is_small(made) else None
    enough = "" if needed is None else f"{needed:,} rows would do, and "
    return (f"{names}: hardly more than is declared anyway; {enough}about {_say_rows(counted)} were counted",)


def find_rows(made: Budget) -> int | None:
    """Return about how many rows a question must be about to be of use; None where no number is enough."""
    judge = _Judge(made)

    def is_enough(rows: int) -> bool:
        return not judge.find_useless(RowsKnown(Fraction(rows), Fraction(rows)))

    if not is_enough(PLAUSIBLE_ROWS):
        return None
    return 1 if is_enough(1) else first_integer(is_enough, low=1, high=PLAUSIBLE_ROWS)


def find_epsilon(made: Budget, rows: RowsKnown | None = None) -> Fraction | None:
    """Return about the smallest epsilon at which no column says nothing; None where none is large enough."""
    plan, tables = made.facts.plan, PlanTables.of(made.facts.tables.schemas)
    question = replace(plan, options=replace(plan.options, epsilon=None))

    def is_enough(step: int) -> bool:
        policy = Policy(epsilon=_grow(made.epsilon, step), delta=made.delta)
        return not find_useless(budget(question, tables, policy), rows)

    last = _DOUBLINGS * _FINER
    if not is_enough(last):
        return None
    return _grow(made.epsilon, first_integer(is_enough, low=0, high=last))


def _grow(epsilon: Fraction, step: int) -> Fraction:
    doubled, part = divmod(step, _FINER)
    return epsilon * (1 << doubled) * (1 + Fraction(part, _FINER))


def _advise(made: Budget, rows: RowsKnown | None, most: Fraction | None) -> str:
    if not _is_small(made):
        return "Ask for fewer columns at once, or at a larger epsilon"
    epsilon = find_epsilon(made, rows)
    if epsilon is None:
        return "No budget makes it useful: ask about more rows, fewer groups or a narrower range"
    enough = f"An epsilon of {float(epsilon):.3g} would make it useful"
    if most is not None and epsilon > most:
        enough += f", the owner allows {float(most):.3g} for a question: ask for fewer groups or columns"
    return enough


def _say_rows(size: Fraction) -> str:
    return f"{float(size):,.0f} rows" if size >= 100 else f"{float(size):.3g} rows"


def _is_small(made: Budget) -> bool:
    return len(made.vectors) + len(made.choices) <= MOST_PARTS


def _read_rows(made: Budget) -> RowsKnown | None:
    """Return what the owner said about the size of the table; None where rows of two meet, or of one twice.

    One row for each unit is at most as many as there are rows.
    """
    known = made.facts
    source = known.plan if known.plan.units is None else known.plan.units
    said = known.tables.schema(source.table).rows
    if said is None or len(known.read) > 1:
        return None
    rows = Fraction(min(said, PLAUSIBLE_ROWS))
    return RowsKnown(rows, rows)


class _Judge:
    """Says how wide intervals would be, for any number of rows."""

    def __init__(self, made: Budget) -> None:
        self._made = made
        self._vectors: dict[Measure, list[Vector]] = {}
        for vector in made.vectors:
            self._vectors.setdefault(vector.measure, []).append(vector)
        self._choices: dict[tuple[tuple[Key, ...], Measure], list[QuantileChoice | ModeChoice]] = {}
        for choice in made.choices:
            self._choices.setdefault((choice.keys, choice.measure), []).append(choice)
        self._reached: dict[tuple[tuple[Key, ...], Measure, int], Fraction] = {}

    def find_useless(self, rows: RowsKnown | None) -> tuple[UselessColumn, ...]:
        """List the columns that would say nothing."""
        found: dict[Aggregate, str | None] = {}
        useless = []
        for output in self._made.facts.plan.outputs:
            column = self._made.facts.plan.list_column(output.name)
            read = (leaf for what in column for leaf in leaves(what))
            used = dict.fromkeys(leaf for leaf in read if isinstance(leaf, Aggregate))
            judged = [one for one in used if one.kind not in _COUNTS] or list(used)
            for one in judged:
                if one not in found:
                    found[one] = self._judge(one, rows)
            words = [found[one] for one in judged]
            if words and all(words):
                useless.append(UselessColumn(output.name, str(words[0])))
        return tuple(useless)

    def _judge(self, what: Aggregate, rows: RowsKnown | None) -> str | None:
        """Say how wide the interval of an average group would be, where it is too wide in every set."""
        known = self._made.facts
        sets = (one for one in known.sets if what in known.plan.list_measured(one.keys))
        words = [self._judge_set(what, one, rows) for one in sets]
        return words[0] if all(words) else None

    def _judge_set(self, what: Aggregate, one: SetFacts, rows: RowsKnown | None) -> str | None:
        measures = self._made.facts.measured[what]
        if any(measure.group is not None for measure in measures):
            return None  # what is possible then depends on how many units there are
        if what.kind in _COUNTS:
            reach = self._reaches(measures, one)[0]
            most = Fraction(PLAUSIBLE_ROWS) if rows is None else max(rows.table, Fraction(1))
            if reach < most:
                return None
            return f"its error at 95 % would be {float(reach):.3g}, and there are about {_say_rows(most)}"
        size = None if rows is None else max(Fraction(1), rows.asked / (one.cells or 1))
        part = self._span(what, one, size)
        if part is None or part < MOST_OF_RANGE:
            return None
        where = ""
        if size is not None:
            where = f" {'in a group of' if one.keys else 'for about'} {_say_rows(size)}"
        percent = min(100, math.floor(100 * part))
        return f"its interval at 95 % would span {percent} % of what is possible{where}"

    def _span(self, what: Aggregate, one: SetFacts, size: Fraction | None) -> Fraction | None:
        """Return which part of the possible values an interval would span; None where nobody can say."""
        measures = self._made.facts.measured[what]
        if what.kind == "count_distinct":
            possible = min(Fraction(measures[0].width), PLAUSIBLE_ROWS if size is None else size)
            return 2 * self._reaches(measures, one)[0] / possible
        if size is None:
            return None
        if what.kind in ("quantile", "minimum", "maximum", "mode"):
            return self._choose(what, one) / size
        reaches = self._reaches(measures, one)
        if what.kind == "sum":
            lowest, highest = measures[0].each_row
            return 2 * reaches[0] / (size * max(1, highest - lowest))
        if what.kind != "average" and what.kind not in (*_SPREADS, *PAIRS):
            return None
        # The middle of what is possible: where squares are half of the largest, and the rest is in balance.
        middle = [_typical(measure, size, pair=what.kind in PAIRS) for measure in measures]
        box = [(round(value - off), round(value + off)) for value, off in zip(middle, reaches, strict=True)]
        enclose = enclose_pair if what.kind in PAIRS else enclosure
        low, high = enclose(what.kind, measures, box)
        if not (math.isfinite(low) and math.isfinite(high)):
            return Fraction(1)
        least, largest = enclose(what.kind, measures, [(0, 0)] * len(measures))  # of no rows: all there is
        if not (math.isfinite(largest) and math.isfinite(least) and largest > least):
            return None
        return Fraction(high - low) / Fraction(largest - least)

    def _choose(self, what: Aggregate, one: SetFacts) -> Fraction:
        """Return between how many rows a chosen value, or the interval of it, may lie."""
        measures = self._made.facts.measured[what]
        listed = self._choices[one.keys, measures[0]]
        modes = [each for each in listed if isinstance(each, ModeChoice)]
        if what.kind == "mode":
            beta, span = each_of(sum(each.cells or 1 for each in modes), _BETA), (0, measures[0].width - 1)
            return max(Fraction(units_off(span, each.step.rate, beta)) for each in modes)
        quantiles = [each for each in listed if isinstance(each, QuantileChoice)]
        if what.kind == "quantile":
            ends = [each for each in quantiles if each.side and each.step.point in what.points]
            return 2 * max(self._aim(each) for each in ends if not each.extreme)
        ends = [each for each in quantiles if each.extreme]
        return max(self._aim(each) for each in ends if each.step.point == (what.kind == "maximum"))

    def _aim(self, choice: QuantileChoice) -> Fraction:
        """Return how many rows an end may lie off."""
        shift = self._made.aim(choice, choice.cells or 1).shift
        return Fraction(2 * abs(shift) - 1, choice.step.point.denominator)

    def _reaches(self, measures: Iterable[Measure], one: SetFacts) -> list[Fraction]:
        """Return how far off each measure of a group may be, all groups and measures at once, in steps."""
        listed = tuple(measures)
        found = []
        for measure in listed:
            key = one.keys, measure, len(listed)
            if key not in self._reached:
                vectors = self._vectors[measure]
                beta = each_of(sum(vector.cells or 1 for vector in vectors) * len(listed), _BETA)
                vector = next(vector for vector in vectors if vector.keys == one.keys)
                reach = (vector.noise.reach(beta) + (vector.dropped > 0)) << vector.dropped
                self._reached[key] = Fraction(reach)
            found.append(self._reached[key])
        return found


def _typical(measure: Measure, size: Fraction, *, pair: bool) -> Fraction:
    """Return the number that a group of so many rows may have; squares of pairs are divided by."""
    if measure.kind == "rows":
        return size
    low, high = measure.each_row
    if pair and measure.kind == "squares":
        return size * high * (2 * SPREAD) ** 2  # the largest is that of half the range
    return size * (low + high) / 2
