"""Planning a release: which mechanism, with what error, for how much. No private data are looked at."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from fractions import Fraction
from html import escape

from discreet import plots
from discreet.core import checks
from discreet.core.bounds import LARGEST_EPSILON
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import shorten_up
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.union import Union
from discreet.queries.workload import Workload
from discreet.queries.written import write_workload
from discreet.query_release.asked import TableWorkload
from discreet.query_release.base import WorkloadRelease, about_rows
from discreet.query_release.planning.candidates import CANDIDATES, PlanCandidate, ReleaseFacts
from discreet.query_release.planning.population import Public, alike, population
from discreet.query_release.planning.predict import Prediction, predict, preferred
from discreet.query_release.planning.split_budget import splitting

GUESSED_ROWS = 10_000
"""How many rows are assumed where nobody says."""
_STEPS = 5  # bisections of a factor of two: within 2 %
_SMALLEST_EPSILON = Fraction(1, 1000)
_SCORED = {"answers": "errors of answers", "rows": "errors of synthetic rows"}
_PLOTTED = (Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(3), Fraction(10))


class ReleasePlan:
    """Predicted errors of every mechanism, and the one to use. Public: made of public facts.

    Attributes
    ----------
    facts
        What was planned for.
    predictions
        One a mechanism, in the order of preference; some do not apply.
    best
        The recommended mechanism: of those about as good as the best one, the most useful synopsis.
    """

    def __init__(
        self,
        facts: ReleaseFacts,
        people: Histogram,
        candidates: tuple[PlanCandidate, ...],
        predictions: tuple[Prediction, ...],
        *,
        source: str,
        rng: Rng,
    ) -> None:
        self.facts, self.predictions, self.best = facts, predictions, preferred(predictions, facts)
        self._people, self._candidates, self._source, self._rng = people, candidates, source, rng

    @property
    def applicable(self) -> tuple[Prediction, ...]:
        """The mechanisms that can be used, best first."""
        usable = [each for each in self.predictions if each.mechanism is not None]
        return tuple(sorted(usable, key=lambda each: each.error(self.facts.by)))

    @property
    def mechanism(self) -> WorkloadRelease:
        """The recommended mechanism, ready to release."""
        chosen: WorkloadRelease = checks.instance(WorkloadRelease, mechanism=self.best.mechanism)
        return chosen

    def at(self, epsilon: checks.Number) -> ReleasePlan:
        """Return the plan for another epsilon."""
        facts = dataclasses.replace(self.facts, epsilon=checks.positive(epsilon=epsilon))
        predictions = tuple(
            old if old.mechanism is None else predict(each, facts, self._people, self._rng)
            for each, old in zip(self._candidates, self.predictions, strict=True)
        )
        return ReleasePlan(
            facts, self._people, self._candidates, predictions, source=self._source, rng=self._rng
        )

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
        wanted, high = float(checks.positive(error=error)), self.facts.epsilon
        candidate = next(each for each in self._candidates if each.name == self.best.name)
        known = {high: self.best.error(self.facts.by)}

        def fits(epsilon: Fraction) -> bool:
            if epsilon not in known:
                facts = dataclasses.replace(self.facts, epsilon=epsilon)
                known[epsilon] = predict(candidate, facts, self._people, self._rng).error(facts.by)
            return known[epsilon] <= wanted

        while not fits(high):
            high *= 2
            if high > LARGEST_EPSILON:
                rule = f"reachable with epsilon <= {LARGEST_EPSILON}"
                raise InvalidParameter(name="error", rule=rule, value=error)
        while high > _SMALLEST_EPSILON and fits(high / 2):
            high /= 2
        low = high / 2
        for _ in range(_STEPS):
            middle = shorten_up(Fraction(math.sqrt(low * high)), 6)
            low, high = (low, middle) if fits(middle) else (middle, high)
        return shorten_up(high, 3)

    def plot(self, epsilons: Iterable[checks.Number] | None = None) -> str:
        """Draw predicted error against epsilon as SVG text; every mechanism is tried at every epsilon.

        Parameters
        ----------
        epsilons
            Where left out, from a tenth of the plan's to ten times as much.
        """
        if epsilons is None:
            wanted = [self.facts.epsilon * share for share in _PLOTTED]
        else:
            wanted = sorted(checks.positive(epsilons=epsilon) for epsilon in epsilons)
        plans = [self if epsilon == self.facts.epsilon else self.at(epsilon) for epsilon in wanted]
        lines = {}
        for each in self.applicable:
            points = [(float(p.facts.epsilon), p.of(each.name).error(p.facts.by)) for p in plans]
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
    def _heading(self) -> str:
        facts = self.facts
        return (
            f"{len(facts.workload)} queries, epsilon {float(facts.epsilon):g}, delta {float(facts.delta):g}, "
            f"{facts.neighbours}; {_SCORED[facts.score]}, tried on {facts.rows} rows of {self._source}"
        )

    def __str__(self) -> str:
        lines = [self._heading, f"{'mechanism':18} {'average':>10} {'largest':>10} {'95 % bound':>11}"]
        for each in self.applicable:
            mark = "  <- recommended" if each is self.best else ""
            numbers = f"{each.average:10.4g} {each.largest:10.4g} {_proved(each):>11}"
            lines.append(f"{each.name:18} {numbers}{mark}")
        for each in self.predictions:
            if each.mechanism is None:
                lines.append(f"{each.name:18} does not apply: {each.why_not}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("mechanism", "average", "largest", "95 % bound"))
        rows = []
        for each in self.applicable:
            name = f"<b>{escape(each.name)}</b>" if each is self.best else escape(each.name)
            cells = (f"{each.average:.4g}", f"{each.largest:.4g}", _proved(each))
            numbers = "".join(f"<td>{cell}</td>" for cell in cells)
            rows.append(f"<tr><td>{name}</td>{numbers}</tr>")
        return f"<p>{escape(self._heading)}</p><table><tr>{head}</tr>{''.join(rows)}</table>"


def _proved(prediction: Prediction) -> str:
    return f"{prediction.bound:.4g}" if prediction.bound < math.inf else "none"


def plan(
    wanted: Workload | TableWorkload,
    *,
    epsilon: checks.Number,
    delta: checks.Number,
    rows: int | None = None,
    neighbours: Neighbours = ROWS,
    public: Public | None = None,
    by: str = "average",
    score: str = "answers",
    rng: Rng = SYSTEM,
) -> ReleasePlan:
    """Predict how well every mechanism would answer a workload, and recommend one.

    No private data are looked at. Errors that are noise alone are exact up to the number of trials; others
    depend on the data, and are those of a release of public or made-up people.

    Time: that of one release of every mechanism that applies; seconds for a few ten thousand cells.

    Parameters
    ----------
    wanted
        A workload, or one together with the table it is about, which is not read.
    epsilon, delta
        The budget.
    rows
        About how many rows there are; exactly how many where a row is replaced. Where left out: as many as
        `public` has, or else 10,000.
    neighbours
        The change that is hidden.
    public
        Data like the private ones that may be looked at: public, or released already. Where left out, a
        population that is made up from the schema; see `discreet.query_release.planning.population`.
    by
        What to make small: the "average" or the "largest" error of the queries.
    score
        What it is the error of: "answers" of the synopsis, or counts of its synthetic "rows". A synopsis may
        answer well and make poor rows: no rows need fit all of its tables.
    rng
        Where the noise of the trials comes from.

    Examples
    --------
    >>> from discreet.queries import Prefixes, Universe
    >>> ages = Prefixes(Universe([("age", range(1000))]), ["age"])
    >>> plan(ages, epsilon=1, delta=0, by="largest").best.name
    'range-tree'
    """
    workload = write_workload(wanted[1] if isinstance(wanted, tuple) else wanted)
    if public is None:
        count = GUESSED_ROWS if rows is None else checks.integer(1, rows=rows)
        people, source = population(workload.universe, count), "a made-up population"
    else:
        people = alike(workload.universe, public, None if rows is None else checks.integer(1, rows=rows))
        source = "public data"
    facts = ReleaseFacts(
        workload=workload,
        epsilon=checks.positive(epsilon=epsilon),
        delta=checks.delta(delta=delta),
        neighbours=about_rows(neighbours),
        rows=people.total,
        by=checks.one_of(("average", "largest"), by=by),
        score=checks.one_of(("answers", "rows"), score=score),
    )
    candidates = (
        (*CANDIDATES, splitting(workload, people, rng)) if isinstance(workload, Union) else CANDIDATES
    )
    predictions = tuple(predict(each, facts, people, rng) for each in candidates)
    return ReleasePlan(facts, people, candidates, predictions, source=source, rng=rng)
