"""Pictures of what privacy costs: welfare and payments against epsilon, on reports that are made up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.rng import SYSTEM, Rng
from discreet.games.common.game import Game, Outcome
from discreet.plots import lines


def draw_welfare(
    games: Sequence[Game],
    reports: Sequence[Any],
    *,
    runs: int,
    title: str,
    measures: dict[str, Callable[[Game, Outcome, Sequence[Any]], float]] | None = None,
    rng: Rng = SYSTEM,
) -> str:
    """Draw the means of some runs against epsilon, as SVG. **Not private**: for reports that are made up.

    Parameters
    ----------
    games
        One game at several epsilons.
    reports
        What the players truly want and report.
    runs
        How many runs every mean is taken over.
    measures
        What is drawn, by name: (game, outcome, reports) -> a number. By default the players' welfare, that is
        what the outcome is worth for all of them and for whoever is paid, and what they pay.
    """
    many = checks.integer(1, runs=runs)
    several = [checks.instance(Game, games=game) for game in checks.several(games=games)]
    if not several:
        raise InvalidParameter(name="games", rule="one game at several epsilons", value=0)
    drawn = measures or {"welfare": measure_welfare, "payments": measure_payments}
    series: dict[str, list[tuple[float, float]]] = {name: [] for name in drawn}
    for game in several:
        outcomes = [game.run(reports, rng=rng) for _ in range(many)]
        for name, measure in drawn.items():
            mean = sum(measure(game, outcome, reports) for outcome in outcomes) / many
            series[name].append((float(game.guarantee.epsilon(game.bought.failure)), mean))
    return lines(series, title=title, x_label="epsilon", y_label=f"mean of {many} runs")


def measure_welfare(game: Game, outcome: Outcome, reports: Sequence[Any]) -> float:
    """Return what an outcome is worth for all players together and for whoever their payments go to."""
    worth = sum(float(game.utility(kind, outcome, place)) for place, kind in enumerate(reports))
    return worth + measure_payments(game, outcome, reports)


def measure_payments(game: Game, outcome: Outcome, reports: Sequence[Any]) -> float:
    """Return what all players pay together."""
    del game, reports
    return math.fsum(map(float, outcome.payments))
