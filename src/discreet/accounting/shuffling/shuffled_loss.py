"""The loss of shuffled reports: each person is hidden by their own noise, and among the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.shuffling.clones import MOST_PEOPLE, Clones
from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import LocalReport, Replace
from discreet.core.rounding import down, shorten_down, up
from discreet.core.search import narrow

_MOST = 30
"""A larger local epsilon is not amplified: no crowd has so many clones."""
_STEPS = 26  # bisections of an epsilon


@dataclass(frozen=True, slots=True)
class ShuffledLoss(Loss):
    """The loss of reports that are (value, 0) each, once they are shuffled; for changing a person's value.

    Parameters
    ----------
    value
        What each report costs by itself.
    people
        How many report.
    values
        Over how many values the reports are direct responses; 0 for any other randomizer.
    """

    value: Fraction
    people: int
    values: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.positive(value=self.value))
        checks.integer(1, people=self.people)
        if self.values and checks.integer(0, values=self.values) < 2:
            raise InvalidParameter(
                name="values", rule="at least 2, or 0 for any other randomizer", value=self.values
            )

    def delta(self, epsilon: checks.Number) -> float:
        """Return the smaller of what the crowd and what the noise alone promise [FMT21]."""
        e = checks.non_negative(epsilon=epsilon)
        alone = PureLoss(self.value).delta(e)
        if e >= self.value or self.value > _MOST:
            return alone
        return min(alone, _delta(up(self.value), min(self.people, MOST_PEOPLE), self.values, down(e)))

    def epsilon(self, delta: checks.Number) -> float:
        """Return an epsilon at which `delta` was seen to be small enough; the local one at delta 0."""
        d, most = checks.delta(delta=delta), up(self.value)
        if d == 0 or self.value > _MOST:
            return min(most, PureLoss(self.value).epsilon(d))
        if self.delta(0) <= d:
            return 0.0
        return narrow(lambda e: self.delta(e) <= d, 0.0, most, steps=_STEPS)[1]

    def zcdp(self) -> float:
        """Return the view of a report by itself."""
        return PureLoss(self.value).zcdp()

    def renyi(self, order: checks.Number) -> float:
        """Return the view of a report by itself."""
        return PureLoss(self.value).renyi(order)

    def exact_epsilon(self) -> Fraction:
        """Return what a report costs by itself."""
        return self.value

    def __str__(self) -> str:
        return f"{PureLoss(self.value)} in a shuffled crowd of {self.people}"


def shuffle(guarantee: Guarantee, *, people: int, values: int = 0) -> Guarantee:
    """Return the guarantee of everybody's reports together, in random order and with no names.

    Privacy: for changing one person's value, towards whoever sees the shuffled reports. It holds if the
    shuffler is trusted to shuffle and to tell nothing else, if `people` report by the rule, each once and
    through the same randomizer, and if their number is public. Whoever may not report honestly, or may be
    in league with the reader, is no clone: leave them out of `people`. What a report costs by itself holds
    whatever the others do.
    Accuracy: see docs/accounting.md for how near it is to exact laws.
    Time: milliseconds for a delta, under a second for an epsilon; several seconds with `values` > 2.

    Parameters
    ----------
    guarantee
        That of one report: (epsilon, 0) for one person's own value, towards everybody.
    people
        How many report.
    values
        Over how many values everybody's report is a direct response: it hides among more clones. 0 for any
        other randomizer.

    Raises
    ------
    NeighboursMismatch
        Unless the guarantee is one of a local report.
    InvalidParameter
        When the guarantee is not pure: clones need odds that are bounded for certain.

    Examples
    --------
    >>> from discreet.core.loss import PureLoss
    >>> one = Guarantee(PureLoss(Fraction(1)), LocalReport())
    >>> together = shuffle(one, people=100_000)
    >>> round(together.loss.epsilon(1e-6), 4), together.loss.delta(0.02) < 1e-7
    (0.0153, True)
    """
    if not isinstance(guarantee.neighbours, LocalReport):
        raise NeighboursMismatch(
            f"shuffling needs the guarantee of a local report, not one for {guarantee.neighbours}"
        )
    if not isinstance(guarantee.loss, PureLoss):
        raise InvalidParameter(
            name="guarantee", rule="(epsilon, 0) for each report", got=f"a {type(guarantee.loss).__name__}"
        )
    return Guarantee(ShuffledLoss(guarantee.loss.value, people, values), Replace("person"))


def local_epsilon(*, people: int, epsilon: checks.Number, delta: checks.Number, values: int = 0) -> Fraction:
    """Return about the largest epsilon of a report with which shuffled reports are (epsilon, delta).

    Privacy: `shuffle` at the returned epsilon was looked at. The assumptions are its own.

    Parameters
    ----------
    people, values
        As in `shuffle`.
    epsilon, delta
        What the shuffled reports may cost.

    Examples
    --------
    >>> 2.5 < local_epsilon(people=100_000, epsilon=0.1, delta=1e-6) < 3.5
    True
    """
    e, d = checks.positive(epsilon=epsilon), checks.probability(delta=delta)
    n = checks.integer(1, people=people)

    def misses(local: Fraction) -> bool:
        return ShuffledLoss(local, n, values).delta(e) > d

    if e >= _MOST:
        return e
    found = narrow(misses, e, Fraction(_MOST), steps=_STEPS)[0]
    short = shorten_down(found, 9)
    return found if short < e or misses(short) else short


@lru_cache(maxsize=1024)
def _delta(local: float, people: int, values: int, epsilon: float) -> float:
    return Clones(local, people, values).delta(epsilon)
