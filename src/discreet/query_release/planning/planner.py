"""Planning a release: which mechanism, with what error, for how much. No private data are looked at."""

from __future__ import annotations

import dataclasses
import math
import weakref
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from discreet import plots
from discreet.accounting.units import PrivacyUnit
from discreet.core import checks
from discreet.core.bounds import LARGEST_EPSILON
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.neighbours import ROWS, Neighbours, Replace
from discreet.core.progress import bars, track
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import shorten_up
from discreet.core.search import narrow
from discreet.core.shown import html_table
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.union import Union
from discreet.queries.workload import Workload
from discreet.queries.written import write_workload
from discreet.query_release.asked import Countable, TableWorkload, read_asked, read_countable
from discreet.query_release.base import WorkloadRelease, require_rows
from discreet.query_release.planning.candidates import CANDIDATES, PlanCandidate, ReleaseFacts
from discreet.query_release.planning.population import Public, alike, population
from discreet.query_release.planning.predict import Prediction, choose, make_splitting, predict, say_why
from discreet.query_release.planning.released import Released

GUESSED_ROWS = 10_000
"""How many rows are assumed where nobody says."""
_STEPS = 5  # bisections of a factor of two: within 2 %
_SMALLEST_EPSILON = Fraction(1, 1000)
_SCORED = {"answers": "errors of answers", "rows": "errors of synthetic rows"}
_PLOTTED = (Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(3), Fraction(10))


_Whereabouts = Callable[[], Countable | Histogram | None]


def _nowhere() -> None:
    """Point to no data."""


class ReleasePlan:
    """Predicted errors of every mechanism, and the one to use.

    Public: made of public facts, and the same whenever they are.

    Attributes
    ----------
    facts
        What was planned for. Its budget is that of one row.
    epsilon, delta
        The budget of one unit of the table, or of one row of a histogram.
    predictions
        One a mechanism, in the order of preference; some do not apply.
    best
        The recommended mechanism; `why` says why where another one has a smaller error.
    """

    def __init__(
        self,
        facts: ReleaseFacts,
        *,
        epsilon: Fraction,
        delta: Fraction,
        unit: PrivacyUnit | None,
        people: Histogram,
        of: _Whereabouts = _nowhere,
    ) -> None:
        self.facts, self.epsilon, self.delta = facts, epsilon, delta
        self._unit, self._people, self._of = unit, people, of
        self._candidates: tuple[PlanCandidate, ...] = CANDIDATES
        if isinstance(facts.workload, Union):
            self._candidates += (make_splitting(facts.workload, people),)
        tried = track(self._candidates, total=len(self._candidates), label="trying mechanisms")
        self.predictions = tuple(predict(each, facts, people) for each in tried)
        self.best = choose(self.predictions, facts)

    @property
    def applicable(self) -> tuple[Prediction, ...]:
        """The mechanisms that can be used, that with the smallest error first."""
        usable = [each for each in self.predictions if each.mechanism is not None]
        return tuple(sorted(usable, key=lambda each: each.error(self.facts.by)))

    @property
    def mechanism(self) -> WorkloadRelease:
        """The recommended mechanism, ready to release."""
        mechanism: WorkloadRelease = checks.instance(WorkloadRelease, mechanism=self.best.mechanism)
        return mechanism

    @property
    def guarantee(self) -> Guarantee:
        """What a release costs, in terms of what the table protects: a person, say, with all their rows."""
        of_rows = self.mechanism.guarantee
        return of_rows if self._unit is None else self._unit.per_unit(of_rows)

    @property
    def bought(self) -> Guarantee:
        """The budget that was asked for, which the guarantee is within."""
        loss = ApproxLoss(self.epsilon, self.delta) if self.delta else PureLoss(self.epsilon)
        return Guarantee(loss, self.guarantee.neighbours)

    @property
    def price(self) -> str:
        """What a release costs, in one line."""
        return f"epsilon {float(self.epsilon):g}, delta {float(self.delta):g} for {self.bought.neighbours}"

    @property
    def why(self) -> str:
        """Why another mechanism is recommended than that with the smallest error; empty where none is."""
        smallest = self.applicable[0]
        return "" if smallest is self.best else say_why(self.best, smallest, self.facts)

    def error(self, beta: checks.Number) -> float:
        """Return what is proved of the largest error, but for a probability beta; see `Release.error`."""
        return self.mechanism.error(beta)

    def release(
        self, data: Countable | Histogram | None = None, *, rng: Rng = SYSTEM, progress: bool = False
    ) -> Released:
        """Measure the data once by the recommended mechanism, and make a synopsis.

        Privacy: `guarantee`, within (epsilon, delta) for one unit of the table or one row of a histogram.
        Accuracy: as predicted here, and `Released.standard_errors` afterwards.

        Parameters
        ----------
        data
            The table that was planned for, or a histogram. Left out: what the plan was made with, as long
            as that is there; the plan itself holds no data.
        rng
            Where the noise comes from.
        progress
            Whether to show a bar.
        """
        data = self._find_data() if data is None else data
        self._require_unit(data)
        if not self.guarantee.implies(epsilon=self.epsilon, delta=self.delta):
            raise InternalError(f"the plan gives {self.guarantee}, which is not within {self.bought}")
        counted = _count(data, self.facts.workload)
        made = self.mechanism.release(counted, rng=rng, progress=progress)
        return Released(
            value=made.value, mechanism=made.mechanism, unsafe_seeded=made.unsafe_seeded, plan=self
        )

    def _find_data(self) -> Countable | Histogram:
        data = self._of()
        if data is None:
            raise InvalidParameter(
                name="data",
                rule="given: a table or a histogram",
                got="nothing",
                hint="A plan remembers what it was made with only as long as somebody else holds it",
            )
        return data

    def _require_unit(self, data: Countable | Histogram) -> None:
        """Refuse data that protect something else than was planned for."""
        planned = self._unit or PrivacyUnit(self.facts.neighbours, 1)
        if isinstance(data, Histogram):
            fits = self._unit is None or data.rows_per_unit <= planned.rows
        else:
            fits = PrivacyUnit.of(read_countable(data)) == planned
        if not fits:
            raise InvalidParameter(
                name="data",
                rule=f"planned for: this is for {planned.neighbours}, of up to {planned.rows} rows",
                got="data that protect something else",
                hint="Plan with the table, as in dp.plan((table, workload), ...)",
            )

    def at(self, epsilon: checks.Number) -> ReleasePlan:
        """Return the plan for another epsilon."""
        whole = checks.positive(epsilon=epsilon)
        return ReleasePlan(
            self._facts_at(whole),
            epsilon=whole,
            delta=self.delta,
            unit=self._unit,
            people=self._people,
            of=self._of,
        )

    def _facts_at(self, epsilon: Fraction) -> ReleaseFacts:
        each, less = epsilon, self.delta
        if self._unit is not None:
            each, less = self._unit.row_budget(epsilon=epsilon, delta=self.delta)
        return dataclasses.replace(self.facts, epsilon=each, delta=less)

    def epsilon_for(self, error: checks.Number) -> Fraction:
        """Return about the smallest epsilon, at the same delta, for a predicted error of the best mechanism.

        Parameters
        ----------
        error
            The wanted average error of a query in rows, or the largest one where the plan goes by that.

        Raises
        ------
        InvalidParameter
            Where no sensible epsilon is enough.
        """
        wanted, high = float(checks.positive(error=error)), self.epsilon
        candidate = next(each for each in self._candidates if each.name == self.best.name)
        known = {high: self.best.error(self.facts.by)}

        def fits(epsilon: Fraction) -> bool:
            if epsilon not in known:
                facts = self._facts_at(epsilon)
                known[epsilon] = predict(candidate, facts, self._people).error(facts.by)
            return known[epsilon] <= wanted

        while not fits(high):
            high *= 2
            if high > LARGEST_EPSILON:
                rule = f"reachable with epsilon <= {LARGEST_EPSILON}"
                raise InvalidParameter(name="error", rule=rule, value=error)
        while high > _SMALLEST_EPSILON and fits(high / 2):
            high /= 2
        _, high = narrow(fits, high / 2, high, steps=_STEPS, middle=_between)
        return shorten_up(high, 3)

    def plot(
        self, epsilons: Iterable[checks.Number] | None = None, *, progress: bool = False
    ) -> plots.Picture:
        """Draw predicted error against epsilon as SVG text; every mechanism is tried at every epsilon.

        Parameters
        ----------
        epsilons
            Where left out, from a tenth of the plan's to ten times as much.
        progress
            Whether to show a bar: every epsilon takes as long as a plan.
        """
        if epsilons is None:
            wanted = [self.epsilon * share for share in _PLOTTED]
        else:
            wanted = sorted(checks.each(checks.positive, epsilons=epsilons))
        with bars(progress):
            each_at = track(wanted, total=len(wanted), label="planning")
            plans = [self if epsilon == self.epsilon else self.at(epsilon) for epsilon in each_at]
        lines = {}
        for each in self.applicable:
            points = [(float(p.epsilon), p.of(each.name).error(p.facts.by)) for p in plans]
            lines[each.name] = [(x, y) for x, y in points if 0 < y < math.inf]
        return plots.curves(
            {name: line for name, line in lines.items() if line},
            title=f"Predicted {self.facts.by} error of {len(self.facts.workload)} queries",
            x_label="epsilon",
            y_label="rows",
        )

    def of(self, name: str) -> Prediction:
        """Return the prediction for a mechanism, by the name of its card."""
        checks.one_of(tuple(each.name for each in self.predictions), name=name)
        return next(each for each in self.predictions if each.name == name)

    @property
    def _cells(self) -> list[list[str]]:
        rows = [["mechanism", "average", "largest", "95 % bound", ""]]
        for each in self.applicable:
            bound = f"{each.bound:.4g}" if each.bound < math.inf else "none"
            mark = "<- recommended" if each is self.best else ""
            rows.append([each.name, f"{each.average:.4g}", f"{each.largest:.4g}", bound, mark])
        return rows

    @property
    def _notes(self) -> list[str]:
        why = [f"{self.best.name} is recommended: {self.why}"] if self.why else []
        unused = [each for each in self.predictions if each.mechanism is None]
        return [*why, *(f"{each.name} does not apply: {each.why_not}" for each in unused)]

    @property
    def _heading(self) -> str:
        facts = self.facts
        tried = "a made-up population" if facts.made_up else "public data"
        return (
            f"{len(facts.workload)} queries, {self.price}; "
            f"{_SCORED[facts.score]}, tried on {facts.rows} rows of {tried}"
        )

    def __str__(self) -> str:
        lines = [f"{name:18} {a:>10} {b:>10} {c:>11}  {mark}".rstrip() for name, a, b, c, mark in self._cells]
        return "\n".join([self._heading, *lines, *self._notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._cells, [self._heading, *self._notes])


def _between(low: Fraction, high: Fraction) -> Fraction:
    return shorten_up(Fraction(math.sqrt(low * high)), 6)


def _count(data: Countable | Histogram, workload: Workload) -> Histogram:
    return data if isinstance(data, Histogram) else data.histogram(workload.universe.names)


def plan(
    wanted: Workload | TableWorkload | tuple[Any, Workload],
    *,
    epsilon: checks.Number,
    delta: checks.Number,
    rows: int | None = None,
    neighbours: Neighbours | None = None,
    public: Public | None = None,
    by: str = "average",
    score: str = "answers",
) -> ReleasePlan:
    """Predict how well every mechanism would answer a workload, and recommend one.

    No private data are looked at, and the same public facts have the same plan. Errors that are noise alone
    are exact up to the number of trials; others depend on the data, and are those of a release of public or
    made-up people.

    Time: that of one release of every mechanism that applies; seconds for a few ten thousand cells.

    Parameters
    ----------
    wanted
        A workload, or one together with the table it is about, which is not read: what it declares is enough.
    epsilon, delta
        The budget of one unit of the table, or of one row where there is none.
    rows
        About how many rows there are; exactly how many where a row is replaced. Where left out: their number
        where that is public, as many as `public` has, or else 10,000.
    neighbours
        The change that is hidden; where left out, what the table declares, or one row.
    public
        Data like the private ones that may be looked at: public, or released already. Where left out, a
        population that is made up from the schema; see `discreet.query_release.planning.population`.
    by
        What to make small: the "average" or the "largest" error of the queries.
    score
        What it is the error of: "answers" of the synopsis, or counts of its synthetic "rows". A synopsis may
        answer well and make poor rows: no rows need fit all of its tables.

    Examples
    --------
    >>> from discreet.queries import Prefixes, Universe
    >>> ages = Prefixes(Universe([("age", range(1000))]), ["age"])
    >>> plan(ages, epsilon=1, delta=0, by="largest").best.name
    'range-tree'
    """
    request = read_asked(wanted, None) if isinstance(wanted, tuple) else None
    workload = write_workload(wanted) if request is None else request.workload  # type: ignore[arg-type]
    unit, hidden = _read_unit(request, neighbours)
    whole, missed = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
    each, less = (whole, missed) if unit is None else unit.row_budget(epsilon=whole, delta=missed)
    count = None if rows is None else checks.integer(1, rows=rows)
    if request is not None and count is None and isinstance(hidden, Replace):
        count = max(1, _count(request.data, workload).total)  # public where a row is replaced
    if public is None:
        people = population(workload.universe, GUESSED_ROWS if count is None else count)
    else:
        people = alike(workload.universe, public, count)
    facts = ReleaseFacts(
        workload=workload,
        epsilon=each,
        delta=less,
        neighbours=hidden,
        rows=people.total,
        by=checks.one_of(("average", "largest"), by=by),
        score=checks.one_of(("answers", "rows"), score=score),
        made_up=public is None,
    )
    of = _nowhere if request is None else _point_to(request.data)
    return ReleasePlan(facts, epsilon=whole, delta=missed, unit=unit, people=people, of=of)


def _point_to(data: Countable | Histogram) -> _Whereabouts:
    """Remember where data are, and nothing of them: a plan is public."""
    try:
        return weakref.ref(data)
    except TypeError:  # an object of a class that cannot be pointed to
        return _nowhere


def _read_unit(
    request: TableWorkload | None, neighbours: Neighbours | None
) -> tuple[PrivacyUnit | None, Neighbours]:
    """Return whom the table protects, if there is one, and the change of rows that is hidden."""
    if request is None or isinstance(request.data, Histogram):
        return None, require_rows(ROWS if neighbours is None else neighbours)
    if neighbours is not None:
        raise InvalidParameter(
            name="neighbours", rule="left to the table, which declares them", value=neighbours
        )
    unit = PrivacyUnit.of(request.data)
    return unit, unit.row_neighbours
