"""Which way to serve many analysts: the error of each mode, predicted from public quantities alone.

Nothing here sees data or queries. Predictions are in rows and for the largest error of all questions that
the caps allow, missed with probability 1/20. Those of noise are near what is measured; those of learning are
the theorems' bounds, which are far above it. Where a theorem says nothing at a size, what is measured on
made-up people can take its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, TypeVar

from discreet import plots
from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.games.play import SampledGame
from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.online_queries import OnlineQueries
from discreet.analysts.private_answers import PrivateAnswers
from discreet.analysts.promises import AnalystPromise, ManyAnalysts, OneAnalystToMany, OneQueryToMany
from discreet.analysts.public_synopsis import PublicSynopsis
from discreet.analysts.query_book import Caps
from discreet.analysts.separate_budgets import ROUNDS, SeparateBudgets
from discreet.analysts.simulation import simulate_error
from discreet.core import checks
from discreet.core.bounds import read_error
from discreet.core.errors import BudgetTooSmall, InvalidParameter, NoBound, Refused
from discreet.core.neighbours import Replace
from discreet.core.parameters import Exact, checked, public
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.query_release.online.warm_start import all_marginals
from discreet.query_release.planning.population import Public

BETA = Fraction(1, 20)
"""Predicted errors are missed with this probability."""
WARM = (Fraction(3, 5), Fraction(9, 10))
"""Parts of the budget that the tables may get where analysts share one conversation."""

_ONE_ROW = Replace("row")
_LENGTHS = (10, 40, 160, 640)
_LATER = 10  # measured answers after a warm start, which leaves little to learn


@checked
class ServiceSetting:
    """Everything public that a plan depends on.

    Attributes
    ----------
    universe, rows
        What questions are about, and the public number of rows.
    caps
        How many analysts there may be, and how many questions each.
    epsilon, delta
        The budget for the people in the data.
    analyst_epsilon, analyst_delta
        The budget between analysts. Modes that keep them apart use none of it.
    order
        Questions are cells of tables over at most so many attributes. None: any counting query.
    """

    _: KW_ONLY
    universe: Universe = public(checks.instance, Universe)
    rows: int = public(checks.integer, 1)
    caps: Caps = public(checks.instance, Caps)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.probability)
    analyst_epsilon: Exact = public(checks.positive)
    analyst_delta: Exact = public(checks.probability)
    order: int | None = public(checks.integer, 1, default=None)

    def _complete(self) -> None:
        self.universe.require_dense()

    @property
    def tables(self) -> Marginals:
        """The public workload: all small tables, or the whole one where any question may come."""
        return _tables(self.universe, self.order)


@lru_cache(maxsize=16)
def _tables(universe: Universe, order: int | None) -> Marginals:
    names = [universe.names] if order is None else all_marginals(universe, order)[0]
    return Marginals(universe, names)


Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Mode(Generic[Made]):
    """One way to serve all analysts.

    Attributes
    ----------
    name
        What it is called.
    error
        The predicted largest error, in rows; infinite where nothing below all rows is predicted.
    make
        Makes the mechanism.
    simulated
        Whether the error was measured on made-up people, for lack of a bound.
    """

    name: str
    error: float
    make: Callable[[], Made]
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Outlook:
    """The modes that keep a promise, best first, beside what analysts without secrets would get.

    Attributes
    ----------
    setting, promise
        What was planned for.
    modes
        Every mode, by predicted error.
    data_only
        The predicted error of one conversation that all analysts share, with no promise between them.
    """

    setting: ServiceSetting
    promise: AnalystPromise
    modes: tuple[Mode[ManyAnalysts], ...]
    data_only: float

    @property
    def best(self) -> Mode[ManyAnalysts]:
        """The mode with the smallest predicted error.

        Raises
        ------
        NoBound
            Where no mode is predicted to be of any use.
        """
        if self.modes[0].error < math.inf:
            return self.modes[0]
        raise NoBound(
            what=f"{self.setting.caps.places} questions on {self.setting.rows} rows",
            why="no mode is predicted to be off by less than all rows",
            way_out="Pay a larger epsilon, or cap the analysts and their questions lower",
        )

    @property
    def price(self) -> float:
        """How many times larger the error is for the sake of the analysts; below 1 where it costs nothing."""
        return self.best.error / self.data_only

    def __str__(self) -> str:
        rows = self.setting.rows
        lines = [
            f"{mode.name:18} {_print_error(mode.error, rows)}{', simulated' * mode.simulated}"
            for mode in self.modes
        ]
        lines.append(f"{'(nothing hidden)':18} {_print_error(self.data_only, rows)}")
        useful = self.modes[0].error < math.inf
        verdict = f"{self.best.name}; price {self.price:.2f}" if useful else "none"
        return "\n".join([f"{self.promise}:", *lines, f"recommended: {verdict}"])


def outlook(
    setting: ServiceSetting,
    promise: AnalystPromise,
    *,
    simulate: bool = False,
    public: Public | None = None,
) -> Outlook:
    """Predict every mode that keeps a promise, and compare them.

    Time: seconds, and up to a minute for each mode that is simulated; no private data are read.

    Parameters
    ----------
    setting
        What is public.
    promise
        What is to be hidden between analysts.
    simulate
        Try games and separate budgets on made-up people where their theorems say nothing, or say no more
        than what is always true, unless that takes too long.
    public
        To simulate on: a histogram, synthetic table or synopsis like the private data that may be looked at.

    Raises
    ------
    InvalidParameter
        For a promise that no mode is made for.
    """
    checks.instance(ServiceSetting, setting=setting)
    if not isinstance(promise, OneQueryToMany | OneAnalystToMany):
        rule = "OneQueryToMany() or OneAnalystToMany()"
        raise InvalidParameter(name="promise", rule=rule, value=promise)
    if public is not None and not simulate:
        raise InvalidParameter(name="public", rule="given where simulate=True alone", got="it without")
    modes = candidates(setting, promise)
    tried = (_simulate(mode, setting, public) for mode in modes) if simulate else modes
    found = sorted(tried, key=lambda mode: mode.error)
    return Outlook(setting, promise, tuple(found), min(talk.error for talk in talks(setting)))


def _simulate(mode: Mode[ManyAnalysts], setting: ServiceSetting, public: Public | None) -> Mode[ManyAnalysts]:
    """Return a mode with a measured error in place of none."""
    mechanism = mode.make()
    if mode.error < math.inf or not isinstance(mechanism, SampledGame | SeparateBudgets):
        return mode
    error = simulate_error(
        mechanism,
        universe=setting.universe,
        rows=setting.rows,
        caps=setting.caps,
        tables=None if setting.order is None else setting.tables,
        public=public,
    )
    return Mode(mode.name, _keep_useful(error, setting.rows), mode.make, simulated=error < math.inf)


def candidates(setting: ServiceSetting, promise: AnalystPromise) -> Iterator[Mode[ManyAnalysts]]:
    """List every mode that keeps a promise, in no order."""
    public: dict[str, Any] = {
        "caps": setting.caps,
        "epsilon": setting.epsilon,
        "delta": setting.delta,
        "neighbours": _ONE_ROW,
    }
    synopsis = PublicSynopsis(workload=setting.tables, **public)
    yield Mode("public synopsis", synopsis_error(setting, synopsis), lambda: synopsis)
    answers = PrivateAnswers(universe=setting.universe, **public)
    yield Mode("private answers", _keep_useful(answers.error(BETA), setting.rows), lambda: answers)
    rounds = min(setting.caps.queries, ROUNDS)
    with suppress(BudgetTooSmall):  # nothing would be left for each analyst
        separate = SeparateBudgets(universe=setting.universe, rows=setting.rows, rounds=rounds, **public)
        yield Mode("separate budgets", read_error(separate, BETA), lambda: separate)
    if setting.caps.analysts > 1:
        yield from _learning(setting, promise, public)


def _learning(
    setting: ServiceSetting, promise: AnalystPromise, public: dict[str, Any]
) -> Iterator[Mode[ManyAnalysts]]:
    """List the modes that spend the budget between analysts."""
    given: dict[str, Any] = {
        "universe": setting.universe,
        "rows": setting.rows,
        "analyst_epsilon": setting.analyst_epsilon,
        "analyst_delta": setting.analyst_delta,
        **public,
    }
    if isinstance(promise, OneAnalystToMany):
        analysts = AnalystGame(**given)
        yield Mode("analyst game", read_error(analysts, BETA), lambda: analysts)
        return
    game = QueryGame(**given)
    yield Mode("query game", read_error(game, BETA), lambda: game)
    try:
        online = OnlineQueries(**given)
    except Refused:  # it cannot promise half of the rows
        return
    yield Mode("online queries", read_error(online, BETA), lambda: online)


def synopsis_error(setting: ServiceSetting, synopsis: PublicSynopsis) -> float:
    """Predict the largest error of the questions, asked of a synopsis of the setting's tables.

    A question about one cell has the noise of that cell. Any other question, over the whole table, adds up
    the noise of about half the cells; as the rows are counted, those of the other half make up for it.
    """
    deviation, questions = synopsis.deviation, setting.caps.places
    if setting.order is None:
        deviation *= math.sqrt(setting.universe.size) / 2
    else:
        questions = min(questions, len(setting.tables))
    return _keep_useful(deviation * math.sqrt(2 * math.log(2 * questions / BETA)), setting.rows)


def _print_error(error: float, rows: int) -> str:
    return f"{error:12,.0f} rows {error / rows:8.4f} of all" if error < math.inf else "no useful bound"


def _keep_useful(error: float, rows: int) -> float:
    """Return an error, or infinity where it is no less than all rows."""
    return error if error < rows else math.inf


def talks(setting: ServiceSetting) -> tuple[Mode[MultiplicativeWeights], ...]:
    """Predict the conversations of multiplicative weights that all analysts could share.

    One starts from nothing: with c measured answers of error e, every later answer is off by at most the
    gate's own error plus what c answers leave to learn, rows * sqrt(log |universe| / 2c). The others start
    from the setting's tables, at a part of the budget, and the gate keeps the rest.
    """
    rows = setting.rows
    public: dict[str, Any] = {"delta": setting.delta, "neighbours": _ONE_ROW}

    def conversation(updates: int, start: WorkloadRelease | None) -> MultiplicativeWeights:
        return MultiplicativeWeights(
            universe=setting.universe,
            epsilon=setting.epsilon,
            updates=updates,
            rows=rows,
            queries=setting.caps.places,
            start=start,
            **public,
        )

    def start_cold(updates: int) -> Mode[MultiplicativeWeights]:
        gate = conversation(updates, None)
        left = rows * math.sqrt(math.log(setting.universe.size) / (2 * updates))
        return Mode(f"cold, {updates} updates", _keep_useful(gate.error(BETA) + left, rows), lambda: gate)

    def start_warm(part: Fraction) -> Mode[MultiplicativeWeights]:
        start = PublicSynopsis(
            workload=setting.tables, caps=setting.caps, epsilon=part * setting.epsilon, **public
        )
        name = f"warm, {float(part):.0%} first"
        return Mode(name, synopsis_error(setting, start), lambda: conversation(_LATER, start.tables))

    return *map(start_warm, WARM), min(map(start_cold, _LENGTHS), key=lambda talk: talk.error)


def price_plot(setting: ServiceSetting, epsilons: Iterable[checks.Number]) -> str:
    """Draw the predicted error against epsilon: nothing hidden, one query hidden, one analyst hidden.

    Parameters
    ----------
    setting
        What to plan for; its own epsilon is not used.
    epsilons
        The budgets for the people in the data.

    Returns
    -------
    str
        A picture as SVG text.
    """
    lines: dict[str, list[tuple[float, float]]] = {
        "nothing hidden": [],
        "one query hidden": [],
        "one analyst hidden": [],
    }
    for epsilon in epsilons:
        at = replace(setting, epsilon=checks.positive(epsilon=epsilon))
        views = [outlook(at, OneQueryToMany()), outlook(at, OneAnalystToMany())]
        errors = (views[0].data_only, views[0].modes[0].error, views[1].modes[0].error)
        for line, error in zip(lines.values(), errors, strict=True):
            if error < math.inf:
                line.append((float(at.epsilon), error / at.rows))
    return plots.curves(
        {name: line for name, line in lines.items() if line},
        title="The price of analyst privacy",
        x_label="epsilon",
        y_label="largest error, share of rows",
    )
