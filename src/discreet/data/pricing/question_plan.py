"""What a question would cost and how well it would be answered: known without reading a row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakSet

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.errors import InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.rounding import up
from discreet.data.plan.after import has_interval, linear_parts
from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import After, Aggregate, Plan, Shown, leaves
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.budget import Budget, ModeChoice, QuantileChoice, Vector
from discreet.data.pricing.quantiles import rank_error, units_off
from discreet.data.pricing.usefulness import RowsKnown, describe_use
from discreet.data.schema.schema import Schema
from discreet.noise import DiscreteLaplace

_BETA = Fraction(1, 20)
_priced: WeakSet[QuestionPlan] = WeakSet()


@dataclass(frozen=True, slots=True)
class ColumnError:
    """The error of one column at 95 %, all declared groups at once.

    Attributes
    ----------
    name
        The column.
    error
        For counts and sums: none is further off. For quantiles: no rank is more rows off. None where it
        depends on the noisy count, which is part of the answer.
    words
        The same in words.
    """

    name: str
    error: float | None
    words: str


@dataclass(frozen=True, slots=True, repr=False, eq=False, weakref_slot=True)
class QuestionPlan:
    """A question that is planned and priced, and not yet asked: from public facts alone.

    Only what was priced here is answered: a plan that somebody put together says nothing true of its noise.

    Attributes
    ----------
    budget
        The noise of every measure.
    columns
        The error of each column.
    bounds
        What is bounded of a unit's contribution, in words.
    """

    budget: Budget
    columns: tuple[ColumnError, ...]
    bounds: tuple[str, ...]

    @property
    def question(self) -> Plan:
        """What is asked."""
        return self.budget.facts.plan

    @property
    def tables(self) -> PlanTables:
        """The tables it is asked of."""
        return self.budget.facts.tables

    @property
    def guarantee(self) -> Guarantee:
        """What the answer costs, for every accountant."""
        return self.budget.guarantee

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of the answer."""
        return self.budget.epsilon

    @property
    def delta(self) -> Fraction:
        """The delta of the answer: 0 where neither a threshold nor Gaussian noise needs it."""
        return self.budget.spent_delta

    @property
    def price(self) -> str:
        """What the answer costs, in one line."""
        return (
            f"epsilon {float(self.epsilon):.6g}, delta {float(self.delta):.3g} for {self.budget.neighbours}"
        )

    @property
    def caps(self) -> tuple[str, ...]:
        """How much of one unit counts, in words. Answers and intervals are about what counts."""
        return tuple(_caps(self.budget))

    @property
    def parts(self) -> tuple[Vector | QuantileChoice | ModeChoice, ...]:
        """Everything that is measured or chosen."""
        return (*self.budget.vectors, *self.budget.choices)

    def error(self, name: str) -> float | None:
        """Return the error of a column at 95 %; None where it is not public."""
        known = {one.name: one.error for one in self.columns}
        return known[checks.one_of(tuple(known), name=name)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "neighbours": str(self.budget.neighbours),
            "noise": self.budget.route,
            "measurements": [_describe(part) for part in self.parts],
            "contribution_bounds": list(self.bounds),
            "columns": [
                {"name": one.name, "error_95": one.error, "words": one.words} for one in self.columns
            ],
        }

    def __repr__(self) -> str:
        return self.describe()

    def describe(self, rows: RowsKnown | None = None) -> str:
        """Return everything about it in words.

        Parameters
        ----------
        rows
            How many rows there are, where that is public. Left out: what the schema says.
        """
        lines = [f"price    {self.price}", f"noise    {self.budget.route}"]
        for part in self.parts:
            described = _describe(part)
            lines.append(f"           {described['what']}: {described['noise']}")
        lines += [f"bounds   {line}" for line in self.bounds]
        lines += [f"error    {one.name}: {one.words}" for one in self.columns]
        lines += [f"use      {line}" for line in describe_use(self.budget, rows)]
        if self.question.after != After():
            lines.append("after    HAVING, ORDER BY and LIMIT look at the noisy values and cost nothing")
        return "\n".join(lines)


def price_question(made: Budget) -> QuestionPlan:
    """Say what noise of some size means for the answer."""
    priced = QuestionPlan(made, column_errors(made, _BETA), _bounds(made))
    _priced.add(priced)
    return priced


def column_errors(made: Budget, beta: Fraction) -> tuple[ColumnError, ...]:
    """Return the error of each column, but for probability beta; words are those of 95 %."""
    listed: tuple[Vector | QuantileChoice | ModeChoice, ...] = (*made.vectors, *made.choices)
    parts: dict[Measure, list[Any]] = {}
    for part in listed:
        parts.setdefault(part.measure, []).append(part)
    columns = []
    for output in made.facts.plan.outputs:
        found = []
        for what in made.facts.plan.list_column(output.name):
            if isinstance(what, Aggregate):
                used = [parts[measure] for measure in made.facts.measured[what]]
                found.append(_column(output.name, what, used, made, beta))
            elif has_interval(what, made.facts.tables):
                found.append(_computed(output.name, what, parts, made, beta))
        columns += [_worst(found)] if found else []
    return tuple(columns)


def _worst(found: list[ColumnError]) -> ColumnError:
    """Return the largest error of a column in several SELECTs, all that is said of it one after the other."""
    errors = [one.error for one in found]
    known = [error for error in errors if error is not None]
    words = "; ".join(dict.fromkeys(one.words for one in found))
    return ColumnError(found[0].name, max(known) if len(known) == len(errors) else None, words)


def require_priced(plan: QuestionPlan, tables: PlanTables) -> None:
    """Refuse a plan that was not priced here, or that was priced for other tables. Nothing is read yet.

    Raises
    ------
    InvalidParameter
        Where it is no such plan.
    """
    if checks.exactly(QuestionPlan, plan=plan) not in _priced:
        raise InvalidParameter(name="plan", rule="as `plan` returned it", got="one that was changed")
    if plan.tables != tables:
        rule, hint = "made for the schemas of this table", "Plan the question again with this table's `plan`"
        raise InvalidParameter(name="plan", rule=rule, got="one for other schemas", hint=hint)


def _column(name: str, what: Aggregate, used: list[list[Any]], made: Budget, beta: Fraction) -> ColumnError:
    if what.kind == "quantile":
        return _quantile(name, what, used[0], made, beta)
    if what.kind in ("minimum", "maximum"):
        return _extreme(name, what, used[0], made, beta)
    if what.kind == "mode":
        return _mode(name, used[0], beta)
    errors = [_vector_error(vectors, draws=len(used), beta=beta) for vectors in used]
    groups = ", in every group at once" if _are_declared(made) else ", in each group that is shown"
    if not any(one.keys for one in made.facts.sets):
        groups = ""
    if len(used) == 1:
        return ColumnError(name, errors[0], f"at most {errors[0]:.6g} at 95 %{groups}")
    sums = " and ".join(f"{error:.6g}" for error in dict.fromkeys(errors[:-1]))
    words = f"from sums within {sums} and a count within {errors[-1]:.6g} at 95 %{groups}"
    return ColumnError(name, None, words)


def _computed(
    name: str, what: Shown, parts: dict[Measure, list[Any]], made: Budget, beta: Fraction
) -> ColumnError:
    """Say how far off a sum of aggregates may be; anything else depends on the answer."""
    aggregates = dict.fromkeys(leaf for leaf in leaves(what) if isinstance(leaf, Aggregate))
    measured = {one: made.facts.measured[one] for one in aggregates}
    draws = len(dict.fromkeys(measure for listed in measured.values() for measure in listed))
    coefficients = linear_parts(what)
    if coefficients is None or any(one.kind not in ("count", "count_units", "sum") for one in aggregates):
        each = [_column(_name(one), one, [parts[m] for m in measured[one]], made, beta) for one in aggregates]
        known = "; ".join(f"{one.name} {one.words}" for one in each)
        return ColumnError(name, None, f"computed from the noisy values, with an interval: {known}")
    errors = [
        abs(c) * Fraction(_vector_error(parts[measured[one][0]], draws=draws, beta=beta))
        for one, c in coefficients.items()
    ]
    total = up(sum(errors, Fraction(0)))
    groups = ", in every group at once" if _are_declared(made) else ", in each group that is shown"
    return ColumnError(name, total, f"at most {total:.6g} at 95 %{groups if made.facts.plan.keys else ''}")


def _are_declared(made: Budget) -> bool:
    return all(one.cells is not None for one in made.facts.sets)


def _vector_error(found: list[Vector], *, draws: int, beta: Fraction) -> float:
    """Return the largest error of one measure over all groups of all grouping sets."""
    measure = found[0].measure
    groups = sum(vector.cells or 1 for vector in found)
    each = each_of(groups * draws, beta)
    unit = measure.unit**2 if measure.kind == "squares" else measure.unit
    return max(
        up((noise.reach(each) + (dropped > 0)) * (1 << dropped) * unit)
        for noise, dropped in dict.fromkeys((vector.noise, vector.dropped) for vector in found)
    )


def _quantile(
    name: str, what: Aggregate, choices: list[QuantileChoice], made: Budget, beta: Fraction
) -> ColumnError:
    asked = set(what.points)
    found = [choice for choice in choices if choice.step.point in asked]
    values = [choice for choice in found if choice.side == 0]
    total = sum(choice.cells or 1 for choice in values)
    error = max(
        rank_error(
            point=choice.step.point, span=choice.step.span, rate=choice.step.rate, choices=total, beta=beta
        )
        for choice in values
    )
    # An end is aimed `shift` off the quantile's rank, and misses that by less; so is the other.
    sides = {(one.step.point, one.step.rate, one.cells): one for one in found if one.side}
    ends = max(
        (2 * abs(made.aim(one, one.cells or 1).shift) - 1) / one.step.point.denominator
        for one in sides.values()
    )
    words = f"its rank is off by at most {error:.6g} rows at 95 %, that of its interval's ends by {ends:.6g}"
    return ColumnError(name, error, words)


def _extreme(
    name: str, what: Aggregate, choices: list[QuantileChoice], made: Budget, beta: Fraction
) -> ColumnError:
    """Say how many rows lie beyond the smallest or largest value that is shown: it is aimed for 95 %."""
    found = [one for one in choices if one.extreme and one.step.point == (what.kind == "maximum")]
    rows = float(max(2 * abs(made.aim(one, one.cells or 1).shift) - 1 for one in found))
    beyond = "above" if what.kind == "maximum" else "below"
    words = f"not the very end: at most {rows:.6g} rows lie {beyond} it at 95 %"
    return ColumnError(name, rows if beta >= _BETA else None, words)


def _mode(name: str, choices: list[ModeChoice], beta: Fraction) -> ColumnError:
    """Say how many more rows the most frequent value may have than the one that is shown."""
    total = sum(one.cells or 1 for one in choices)
    each = each_of(total, beta)
    rows = float(max(units_off((0, one.measure.width - 1), one.step.rate, each) for one in choices))
    return ColumnError(name, rows, f"at most {rows:.6g} rows fewer have it than the most frequent at 95 %")


def cap_rows(schema: Schema, rows: int) -> str:
    """Say how many rows of one unit count."""
    return f"at most {rows} row{'s' * (rows > 1)} of one {schema.unit.name} in {schema.name} count"


def _caps(made: Budget) -> list[str]:
    """Say how much of one unit counts; nothing where a unit is a row."""
    known = made.facts
    lines = [cap_rows(known.tables.schema(name), rows) for name, rows in known.kept]
    if lines and any(one.keys for one in known.sets):
        most = f"at most {known.groups_per_unit} group{'s' * (known.groups_per_unit > 1)}"
        lines.append(
            f"one {known.tables.schema(known.plan.table).unit.name} counts in {most} of each grouping"
        )
    return lines


def _bounds(made: Budget) -> tuple[str, ...]:
    known = made.facts
    lines = _caps(made) or ["one row is protected"]
    for measure in dict.fromkeys(measure for one in known.sets for measure, _ in one.measures):
        if measure.number is not None and measure.kind in ("sum", "histogram"):
            low, high = (float(end * measure.unit) for end in measure.row)
            lines.append(f"{_numbers(measure)} is clamped to [{low:g}, {high:g}] in each row")
        if measure.group is not None:
            low, high = (float(end * measure.unit) for end in measure.group)
            lines.append(f"one unit's {_what(measure)} is clamped to [{low:g}, {high:g}] in each group")
    return tuple(dict.fromkeys(lines))


def _name(aggregate: Aggregate) -> str:
    numbers = [one for one in (aggregate.number, aggregate.other) if one is not None]
    fields = [field for one in numbers for field in one.fields]
    fields += [] if aggregate.column is None else [aggregate.column]
    return f"{aggregate.kind}({', '.join(field.name for field in fields)})".replace("()", "")


def _describe(part: Vector | QuantileChoice | ModeChoice) -> dict[str, Any]:
    by = f" by {', '.join(key.name for key in part.keys)}" if part.keys else ""
    if isinstance(part, QuantileChoice | ModeChoice):
        what = f"{_chosen(part)} of {_numbers(part.measure)}{by}"
        noise = f"exact choice, epsilon {float(part.loss.range_):.6g}"
        return {"what": what, "noise": noise, "rate": float(part.step.rate)}
    law = part.noise
    # A scale is shown in the column's own unit, rounded up.
    unit = part.measure.unit**2 if part.measure.kind == "squares" else part.measure.unit
    step = unit * (1 << part.dropped)
    if isinstance(law, DiscreteLaplace):
        scale, kind = up(law.scale * step), "discrete Laplace, scale"
    else:
        scale, kind = up(Fraction(up(law.variance) ** 0.5) * step), "discrete Gaussian, standard deviation"
    described: dict[str, Any] = {"what": f"{_what(part.measure)}{by}", "scale": scale}
    described["noise"] = f"{kind} {scale:.6g}"
    if part.threshold is not None:
        described["noise"] += f"; groups of {part.threshold} or more, delta {float(part.failure):.3g}"
        described["threshold"] = part.threshold
    return described


def _chosen(part: QuantileChoice | ModeChoice) -> str:
    if isinstance(part, ModeChoice):
        return "most frequent value"
    if part.extreme:
        return "largest value" if part.step.point else "smallest value"
    side = {-1: "lower end of ", 0: "", 1: "upper end of "}[part.side]
    return f"{side}quantile {float(part.step.point):g}"


def _what(measure: Measure) -> str:
    if measure.kind == "units":
        return "number of units"
    if measure.kind == "rows":
        all_rows = measure.number is None and measure.column is None
        return "number of rows" if all_rows else f"number of rows with {_numbers(measure)}"
    if measure.kind == "distinct":
        return f"number of different values of {_numbers(measure)}"
    return {"sum": "sum of ", "squares": "sum of squares of "}.get(measure.kind, "") + _numbers(measure)


def _numbers(measure: Measure) -> str:
    """Name the columns a measure is computed from."""
    if measure.column is not None:
        return measure.column.name
    return ", ".join(field.name for field in measure.number.fields) if measure.number else "rows"
