"""What a conversation of one's own would be worth, before anything is charged for it. No row is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.core.errors import Refused
from discreet.core.loss import ApproxLoss
from discreet.curator.hypotheses.shared import plan_weights
from discreet.data.pricing.question_plan import ColumnError
from discreet.data.table import Table
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.conversation import BETA

_SURE = 2
"""So many standard deviations are exceeded by one in twenty at most, as far as noise is Gaussian."""
_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class ConversationPlan:
    """A conversation that was offered a budget.

    Attributes
    ----------
    error
        How far off its counts are at 95 %: the best of them, those of one column alone.
    rows
        About how many rows there are, as far as that is public; None where nobody said.
    enough
        About the epsilon from which on it would say something, where it does not; None where none is enough.
    """

    error: float
    rows: Fraction | None
    enough: Fraction | None = None

    @property
    def is_useless(self) -> bool:
        """Whether its counts say nothing: they may be off by as much as there is."""
        return self.rows is not None and self.error >= self.rows

    @property
    def columns(self) -> tuple[ColumnError, ...]:
        """How far off counts may be, as a price shows it."""
        words = f"at most {self.error:.4g} at 95 %, where they are about one column; more where about several"
        return (ColumnError("counts", self.error, words),)

    @property
    def words(self) -> str:
        """Why it is of no use, and what would be; nothing where it is."""
        if not self.is_useless or self.rows is None:
            return ""
        return f"its counts would be off by {self.error:,.0f} at 95 %, of about {float(self.rows):,.0f} rows"

    @property
    def way_out(self) -> str:
        """What would make it useful."""
        if self.enough is None:
            return "No epsilon makes it useful: choose fewer columns"
        return f"An epsilon of {float(self.enough):.3g} would make it useful"

    def require_useful(self) -> None:
        """Refuse it where it says nothing."""
        if self.is_useless:
            raise Refused(
                what="conversation",
                why=f"{self.words}; nothing was charged",
                way_out=f"{self.way_out}; or pass insist=True",
            )


def plan_conversation(
    table: Table, names: tuple[str, ...], pair: ApproxLoss, rows: Fraction | None
) -> ConversationPlan:
    """Say what a conversation about some columns would be worth.

    Parameters
    ----------
    table, names
        What it is about.
    pair
        What is offered for it.
    rows
        About how many rows there are, as far as that is public.

    Raises
    ------
    InvalidParameter
        Where so small a budget buys none.
    """
    plan = ConversationPlan(_find_error(table, names, pair.value, pair.mass), rows)
    if not plan.is_useless:
        return plan
    for step in range(1, _DOUBLINGS + 1):
        epsilon = pair.value * 2**step
        if not ConversationPlan(_find_error(table, names, epsilon, pair.mass), rows).is_useless:
            return ConversationPlan(plan.error, rows, epsilon)
    return plan


def _find_error(table: Table, names: tuple[str, ...], epsilon: Fraction, delta: Fraction) -> float:
    universe = table.universe(names)
    mechanism = plan_weights(table, universe, epsilon, delta, rows=1)
    if isinstance(mechanism.start, ResidualMarginals):
        return _SURE * min(mechanism.start.deviation([name]) for name in universe.names)
    return mechanism.error(BETA)
