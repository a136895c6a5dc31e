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
from discreet.data.plan.facts import Measure
from discreet.data.plan.nodes import Aggregate, Plan
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.budget import Budget, QuantileChoice, Vector
from discreet.data.pricing.quantiles import rank_error
from discreet.data.pricing.usefulness import describe_use
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
    def parts(self) -> tuple[Vector | QuantileChoice, ...]:
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

    def describe(self, rows: Fraction | None = None) -> str:
        """Return everything about it in words.

        Parameters
        ----------
        rows
            About how many rows the question is about, where that is public. Left out: what the schema says.
        """
        lines = [f"price    {self.price}", f"noise    {self.budget.route}"]
        for part in self.parts:
            described = _describe(part)
            lines.append(f"           {described['what']}: {described['noise']}")
        lines += [f"bounds   {line}" for line in self.bounds]
        lines += [f"error    {one.name}: {one.words}" for one in self.columns]
        lines += [f"use      {line}" for line in describe_use(self.budget, rows)]
        return "\n".join(lines)


def price_question(made: Budget) -> QuestionPlan:
    """Say what noise of some size means for the answer."""
    listed: tuple[Vector | QuantileChoice, ...] = (*made.vectors, *made.choices)
    parts: dict[Measure, list[Any]] = {}
    for part in listed:
        parts.setdefault(part.measure, []).append(part)
    columns = []
    for output in made.facts.plan.outputs:
        if isinstance(output.what, Aggregate):
            used = [parts[measure] for measure in made.facts.measured[output.what]]
            columns.append(_column(output.name, output.what, used, made))
    priced = QuestionPlan(made, tuple(columns), _bounds(made))
    _priced.add(priced)
    return priced


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


def _column(name: str, what: Aggregate, used: list[list[Any]], made: Budget) -> ColumnError:
    if what.kind == "quantile":
        return _quantile(name, what, used[0], made)
    errors = [_vector_error(vectors, draws=len(used)) for vectors in used]
    groups = ", in every group at once" if _are_declared(made) else ", in each group that is shown"
    if not any(one.keys for one in made.facts.sets):
        groups = ""
    if len(used) == 1:
        return ColumnError(name, errors[0], f"at most {errors[0]:.6g} at 95 %{groups}")
    words = f"from sums within {errors[0]:.6g} and a count within {errors[-1]:.6g} at 95 %{groups}"
    return ColumnError(name, None, words)


def _are_declared(made: Budget) -> bool:
    return all(one.cells is not None for one in made.facts.sets)


def _vector_error(found: list[Vector], *, draws: int) -> float:
    """Return the largest error of one measure over all groups of all grouping sets."""
    measure = found[0].measure
    groups = sum(vector.cells or 1 for vector in found)
    beta = each_of(groups * draws, _BETA)
    unit = measure.unit**2 if measure.kind == "squares" else measure.unit
    return max(
        up((vector.noise.reach(beta) + (vector.dropped > 0)) * (1 << vector.dropped) * unit)
        for vector in found
    )


def _quantile(name: str, what: Aggregate, choices: list[QuantileChoice], made: Budget) -> ColumnError:
    asked = set(what.points)
    found = [choice for choice in choices if choice.step.point in asked]
    values = [choice for choice in found if choice.side == 0]
    total = sum(choice.cells or 1 for choice in values)
    error = max(
        rank_error(
            point=choice.step.point, span=choice.step.span, rate=choice.step.rate, choices=total, beta=_BETA
        )
        for choice in values
    )
    # An end is aimed `shift` off the quantile's rank, and misses that by less.
    ends = max(
        (2 * abs(made.aim(choice, choice.cells or 1).shift) - 1) / choice.step.point.denominator
        for choice in found
        if choice.side
    )
    words = f"its rank is off by at most {error:.6g} rows at 95 %, that of its interval's ends by {ends:.6g}"
    return ColumnError(name, error, words)


def _bounds(made: Budget) -> tuple[str, ...]:
    known = made.facts
    lines = [
        f"at most {rows} rows of one {known.tables.schema(name).unit.name} in {name} count"
        for name, rows in known.kept
    ]
    if not lines:
        lines.append("one row is protected")
    elif any(one.keys for one in known.sets):
        most = f"at most {known.groups_per_unit} group{'s' * (known.groups_per_unit > 1)}"
        lines.append(
            f"one {known.tables.schema(known.plan.table).unit.name} counts in {most} of each grouping"
        )
    for measure in dict.fromkeys(measure for one in known.sets for measure, _ in one.measures):
        if measure.number is not None and measure.kind in ("sum", "histogram"):
            low, high = (float(end * measure.unit) for end in measure.row)
            lines.append(f"{_numbers(measure)} is clamped to [{low:g}, {high:g}] in each row")
        if measure.group is not None:
            low, high = (float(end * measure.unit) for end in measure.group)
            lines.append(f"one unit's {_what(measure)} is clamped to [{low:g}, {high:g}] in each group")
    return tuple(dict.fromkeys(lines))


def _describe(part: Vector | QuantileChoice) -> dict[str, Any]:
    by = f" by {', '.join(field.name for field in part.keys)}" if part.keys else ""
    if isinstance(part, QuantileChoice):
        side = {-1: "lower end of ", 0: "", 1: "upper end of "}[part.side]
        what = f"{side}quantile {float(part.step.point):g} of {_numbers(part.measure)}{by}"
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


def _what(measure: Measure) -> str:
    if measure.kind == "units":
        return "number of units"
    if measure.kind == "rows":
        return "number of rows" if measure.number is None else f"number of rows with {_numbers(measure)}"
    return {"sum": "sum of ", "squares": "sum of squares of "}.get(measure.kind, "") + _numbers(measure)


def _numbers(measure: Measure) -> str:
    """Name the columns a measure is computed from."""
    return ", ".join(field.name for field in measure.number.fields) if measure.number else "rows"
