"""Whether an answer would say anything: decided from public facts, before it is charged.

An interval that spans most of what is possible anyway is no answer. How wide it will be follows from the
noise and from how many rows a group has. The first is public; the second is what the owner has said about
the table's size, or a hypothesis that is public already, and without either nobody knows: then only a count
whose noise exceeds any plausible one is of no use. No data are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.core.bounds import each_of
from discreet.core.errors import Refused
from discreet.core.search import first_integer
from discreet.data.plan.facts import Measure, SetFacts
from discreet.data.plan.nodes import Aggregate, Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.budget import Budget, budget
from discreet.data.pricing.estimates import enclosure

MOST_OF_RANGE = Fraction(1, 2)
"""An interval that spans this part of the public range says nothing: the one constant of the rule."""

PLAUSIBLE_ROWS = 10**10
"""More rows than there are people; no table is taken to have more where nobody says how many it has."""

_BETA = Fraction(1, 20)
_FINER = 8  # steps of the search between an epsilon and its double
_DOUBLINGS = 24


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


def find_useless(made: Budget, rows: Fraction | None = None) -> tuple[UselessColumn, ...]:
    """List the columns of an answer that would say nothing.

    A column counts where a group of average size says nothing in any grouping set.

    Parameters
    ----------
    made
        The noise of every measure.
    rows
        About how many rows the question is about. Left out: what the schema says.
    """
    known = made.facts
    said = _read_rows(made) if rows is None else rows
    found = []
    for output in known.plan.outputs:
        if isinstance(output.what, Aggregate):
            words = [_judge(made, output.what, place, said) for place in range(len(known.sets))]
            if all(words):
                found.append(UselessColumn(output.name, str(words[0])))
    return tuple(found)


def require_useful(made: Budget, rows: Fraction | None = None, *, most: Fraction | None = None) -> None:
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


def describe_use(made: Budget, rows: Fraction | None = None) -> tuple[str, ...]:
    """Say of what use an answer would be: what it would take, or where nobody knows its rows, how many."""
    said = _read_rows(made) if rows is None else rows
    if said is None:
        needed = find_rows(made)
        if needed is None or needed <= 1:
            return ()
        return (f"intervals span less than half of what is possible from about {needed} rows on",)
    useless = find_useless(made, said)
    return (
        *(f"{one.name}: {one.words}" for one in useless),
        *([_advise(made, said, None)] if useless else ()),
    )


def find_rows(made: Budget) -> int | None:
    """Return about how many rows a question must be about to be of use; None where no number is enough."""

    def is_enough(rows: int) -> bool:
        return not find_useless(made, Fraction(rows))

    if not is_enough(PLAUSIBLE_ROWS):
        return None
    return 1 if is_enough(1) else first_integer(is_enough, low=1, high=PLAUSIBLE_ROWS)


def _advise(made: Budget, rows: Fraction | None, most: Fraction | None) -> str:
    epsilon = find_epsilon(made, rows)
    if epsilon is None:
        return "No budget makes it useful: ask about more rows, fewer groups or a narrower range"
    enough = f"An epsilon of {float(epsilon):.3g} would make it useful"
    if most is not None and epsilon > most:
        enough += f", the owner allows {float(most):.3g} for a question: ask for fewer groups or columns"
    return enough


def find_epsilon(made: Budget, rows: Fraction | None = None) -> Fraction | None:
    """Return about the smallest epsilon at which no column says nothing; None where none is large enough."""
    question = replace(made.facts.plan, options=replace(made.facts.plan.options, epsilon=None))

    def is_enough(step: int) -> bool:
        return not find_useless(
            _price(question, made.facts.tables, _grow(made.epsilon, step), made.delta), rows
        )

    last = _DOUBLINGS * _FINER
    if not is_enough(last):
        return None
    return _grow(made.epsilon, first_integer(is_enough, low=0, high=last))


def _grow(epsilon: Fraction, step: int) -> Fraction:
    doubled, part = divmod(step, _FINER)
    return epsilon * (1 << doubled) * (1 + Fraction(part, _FINER))


def _price(question: Plan, tables: PlanTables, epsilon: Fraction, delta: Fraction) -> Budget:
    return budget(question, tables, Policy(epsilon=epsilon, delta=delta))


def _read_rows(made: Budget) -> Fraction | None:
    """Return what the owner said about the size of the table; None about a join of private tables."""
    known = made.facts
    rows = known.tables.schema(known.plan.table).rows
    return None if rows is None or len(known.kept) > 1 else Fraction(rows)


def _judge(made: Budget, what: Aggregate, place: int, rows: Fraction | None) -> str | None:
    """Say how wide the interval of an average group of a grouping set would be, where it is too wide."""
    one, measures = made.facts.sets[place], made.facts.measured[what]
    if what.kind in ("count", "count_units"):
        reach = _reaches(made, measures, one)[0]
        most = Fraction(PLAUSIBLE_ROWS) if rows is None else max(rows, Fraction(1))
        if reach < most:
            return None
        return f"its error at 95 % would be {float(reach):.3g}, and there are about {float(most):.3g} rows"
    if rows is None:
        return None
    size = max(Fraction(1), rows / (one.cells or 1))
    part = _span(made, what, one, size)
    if part is None or part < MOST_OF_RANGE:
        return None
    where = f"in a group of {float(size):.3g} rows" if one.keys else f"for about {float(size):.3g} rows"
    return (
        f"its interval at 95 % would span {min(100, round(100 * float(part)))} % of what is possible {where}"
    )


def _span(made: Budget, what: Aggregate, one: SetFacts, size: Fraction) -> Fraction | None:
    """Return which part of the possible values an interval would span; None where nobody can say."""
    measures = made.facts.measured[what]
    if what.kind == "quantile":
        ends = [
            Fraction(2 * abs(made.aim(choice, choice.cells or 1).shift) - 1, choice.step.point.denominator)
            for choice in made.choices
            if choice.side and choice.keys == one.keys and choice.step.point in what.points
        ]
        return 2 * max(ends) / size
    reaches = _reaches(made, measures, one)
    if what.kind == "sum":
        lowest, highest = measures[0].each_row
        return 2 * reaches[0] / (size * max(1, highest - lowest))
    if what.kind != "average" and not what.kind.startswith(("variance", "deviation")):
        return None
    # The middle of what is possible: where squares are half of the largest, and the rest is in balance.
    middle = [_typical(measure, size) for measure in measures]
    box = [(round(value - off), round(value + off)) for value, off in zip(middle, reaches, strict=True)]
    low, high = enclosure(what.kind, measures, box)
    least, largest = enclosure(what.kind, measures, [(0, 0)] * len(measures))  # of no rows: all there is
    return Fraction(high - low) / Fraction(largest - least) if largest > least else None


def _typical(measure: Measure, size: Fraction) -> Fraction:
    """Return the number that a group of so many rows may have."""
    if measure.kind == "rows":
        return size
    low, high = measure.each_row
    return size * (low + high) / 2


def _reaches(made: Budget, measures: Sequence[Measure], one: SetFacts) -> list[Fraction]:
    """Return how far off each measure of a group may be, all groups and measures at once, in steps."""
    found = []
    for measure in measures:
        vectors = [vector for vector in made.vectors if vector.measure == measure]
        beta = each_of(sum(vector.cells or 1 for vector in vectors) * len(measures), _BETA)
        vector = next(vector for vector in vectors if vector.keys == one.keys)
        found.append(Fraction((vector.noise.reach(beta) + (vector.dropped > 0)) << vector.dropped))
    return found
