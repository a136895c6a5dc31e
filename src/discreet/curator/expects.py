"""What an owner says will be asked, and how the budget is divided for it.

Counts over few declared columns come from the shared hypothesis, however many they are; everything else has a
price. So the more of the questions are counts, the larger the shared part, and the more others there are, the
less each may cost. Where nothing is said, four fifths are shared and a question costs up to a fiftieth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.curator.hypotheses.shared import choose_columns
from discreet.data.counts import Counts
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.table import Table

SHARED = Fraction(4, 5)
"""The shared part where nobody says what will be asked, and the most where some questions are priced."""
ONE_OF = 50
"""A question then costs up to one part of the budget in so many."""
COUNTS = "counts"
ONLY_COUNTS = Fraction(19, 20)
"""The shared part where only counts are expected: the rest is for the odd question that is none."""
FEW = 5
"""So many questions of that kind are paid for then."""
HALF = Fraction(1, 2)
"""The shared part where a number of priced questions is expected."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How a budget is divided.

    Attributes
    ----------
    shared
        The part that buys the shared hypothesis.
    one_of
        A question that is priced may cost one part in so many: of what is left where `of_rest`, else of all.
    of_rest
        What `one_of` is about.
    words
        Why.
    """

    shared: Fraction
    one_of: int
    of_rest: bool
    words: str

    def price(self, budget: Fraction, shared: Fraction) -> Fraction:
        """Return what one question may cost, where a part of the budget is shared."""
        return (1 - shared) * budget / self.one_of if self.of_rest else budget / self.one_of


NOTHING_SAID = Expected(
    SHARED,
    ONE_OF,
    False,
    f"shared part {SHARED} and 1/{ONE_OF} of epsilon a question by default: expects=... says what comes",
)


def read_expects(expects: Any, table: Table, columns: Iterable[str] | None) -> Expected:
    """Divide a budget by what is expected. No row is read.

    Parameters
    ----------
    expects
        None; a number of priced questions; "counts"; or example questions in SQL.
    table, columns
        What is asked about, and what the hypothesis will be about.

    Raises
    ------
    Refused
        For an example outside the language.
    """
    if expects is None:
        return NOTHING_SAID
    if isinstance(expects, int) and not isinstance(expects, bool):
        words = f"{expects} priced questions expected: shared part {HALF}, 1/{expects} of the rest a question"
        return Expected(HALF, checks.integer(1, expects=expects), True, words)
    if expects == COUNTS:
        return Expected(ONLY_COUNTS, FEW, True, f"only counts expected: shared part {ONLY_COUNTS}")
    if isinstance(expects, str) or not isinstance(expects, Iterable):
        rule = 'a number of priced questions, "counts", or a list of example questions'
        raise InvalidParameter(name="expects", rule=rule, value=expects)
    asked = [checks.text(expects=one) for one in expects]
    if not asked:
        raise InvalidParameter(name="expects", rule="at least one example question", value=expects)
    free = sum(_is_free(one, table, columns) for one in asked)
    words = f"{free} free and {len(asked) - free} priced questions expected"
    return _divide(free, len(asked) - free, words)


def _divide(free: int, priced: int, words: str) -> Expected:
    """Divide a budget between questions, each of which counts the same."""
    if not priced:
        return Expected(ONLY_COUNTS, FEW, True, f"{words}: shared part {ONLY_COUNTS}")
    shared = min(SHARED, Fraction(free, free + priced)) if free else Fraction(0)
    return Expected(shared, priced, True, f"{words}: shared part {shared}, 1/{priced} of the rest a question")


def _is_free(text: str, table: Table, columns: Iterable[str] | None) -> bool:
    """Tell whether the shared hypothesis would answer a question."""
    tables = PlanTables.of(table.schemas)
    plan = parse(text, schemas=tables, policy=Policy(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    try:
        universe = table.universe(choose_columns(table) if columns is None else columns)
        Counts.of(plan, tables, universe)
    except Refused:
        return False
    return True
