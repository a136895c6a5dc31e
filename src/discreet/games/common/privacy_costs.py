"""What privacy is worth to people: three ways to count it, none of which is the last word.

Linear in epsilon, or at most that; the logarithm by which a report can move the outcome that came; and the
information that the outcome carries about the type. The last rewards pretending: see `measure_information`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.guarantee import Guarantee
from discreet.core.rounding import up
from discreet.games.common.game import Game
from discreet.games.common.misreports import enumerate_outcomes

_ROUGHLY = 1e-9
Law = Mapping[Hashable, float | Fraction]


def bound_cost(guarantee: Guarantee, *, value: checks.Number) -> float:
    """Return epsilon * value: what taking part costs, where a unit of epsilon costs `value`, or at most that.

    [DR14] Section 10.3 reads it as an equality first. As a bound it holds in all the models here; as an
    equality it makes people pay for guarantees that were merely stated too large.

    Raises
    ------
    NoBound
        Where no epsilon is kept with certainty.
    """
    if guarantee.epsilon(0) == math.inf:
        raise NoBound(
            what="the cost of this guarantee",
            why="with probability delta it may be more than any epsilon",
            way_out="Ask about a game without delta",
        )
    return up(Fraction(guarantee.epsilon(0)) * checks.non_negative(value=value))


def measure_outcome(
    game: Game, reports: Sequence[Any], *, player: int, types: Sequence[Any]
) -> dict[Any, float]:
    """Return for each decision how far one player's report can move the logarithm of its probability.

    It is a function of the others' reports and of what came out, and never above epsilon. For tiny games.

    Parameters
    ----------
    game, reports
        What is played, and what the others report.
    player
        Whose report varies.
    types
        Over what.
    """
    place, laws = checks.index(len(reports), player=player), []
    for kind in checks.several(types=types):
        law: dict[Any, Fraction] = {}
        for outcome, chance in enumerate_outcomes(game, (*reports[:place], kind, *reports[place + 1 :])):
            law[outcome.decision] = law.get(outcome.decision, Fraction(0)) + chance
        laws.append(law)
    decisions = dict.fromkeys(decision for law in laws for decision in law)
    return {decision: _range([law.get(decision, Fraction(0)) for law in laws]) for decision in decisions}


def _range(chances: Sequence[Fraction]) -> float:
    least, most = min(chances), max(chances)
    return (
        math.inf
        if not least
        else math.log(most.numerator)
        - math.log(most.denominator)
        - (math.log(least.numerator) - math.log(least.denominator))
    )


def measure_information(prior: Law, outcomes: Callable[[Hashable], Law]) -> float:
    """Return the bits that the outcome tells about the type.

    Parameters
    ----------
    prior
        How probable each type is.
    outcomes
        The law of what comes out for each type, strategy and mechanism together.
    """
    chances = _read_law(prior=prior)
    joint = {
        (kind, outcome): chance * share
        for kind, chance in chances.items()
        for outcome, share in _read_law(outcomes=outcomes(kind)).items()
    }
    total: dict[Hashable, float] = {}
    for (_, outcome), chance in joint.items():
        total[outcome] = total.get(outcome, 0.0) + chance
    return math.fsum(
        chance * math.log2(chance / (chances[kind] * total[outcome]))
        for (kind, outcome), chance in joint.items()
        if chance
    )


def _read_law(**named: Law) -> dict[Hashable, float]:
    """Read probabilities, which add up to 1 as far as floats do."""
    ((name, law),) = named.items()
    chances = {each: float(checks.non_negative(**{name: chance})) for each, chance in law.items()}
    total = math.fsum(chances.values())
    if abs(total - 1) > _ROUGHLY:
        raise InvalidParameter(name=name, rule="probabilities that add up to 1", value=total)
    return chances
