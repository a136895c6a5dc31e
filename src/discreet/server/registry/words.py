"""Losses in words: what an epsilon and a delta mean for one of those whom the data are about.

Every sentence is a theorem. Of an event that has probability p without somebody, (epsilon, delta) says that
it has at most e^epsilon p + delta with her. So whoever tosses a coin over her and guesses from all answers is
right with a probability of at most (e^epsilon + delta) / (e^epsilon + 1), the largest that a test between the
two can reach. That odds change by at most e^epsilon follows where delta is 0, and not otherwise.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.core.neighbours import Neighbours, Replace
from discreet.core.rounding import exp_up, up
from discreet.data.schema.schema import Row, Schema
from discreet.server.registry.burn import WINDOW, Burn
from discreet.server.registry.decimals import write_chance, write_percent_up, write_time, write_up

_HUGE = 10**6


def explain_loss(epsilon: Fraction, delta: Fraction, neighbours: Neighbours) -> tuple[str, ...]:
    """Say what a loss means for one unit: how much likelier anything gets, and how well it is guessed."""
    unit = str(getattr(neighbours, "unit", "person"))
    is_replaced = isinstance(neighbours, Replace)
    factor = exp_up(up(epsilon))
    if not factor <= _HUGE:
        return (
            f"An epsilon of {write_up(epsilon)} promises next to nothing: anything may be more than a "
            f"million times as likely because of one {unit}.",
        )
    other = "with any other in its place" if is_replaced else "without it"
    also = f", plus a chance of {write_chance(delta)}" if delta else ""
    times = write_up(Fraction(factor), 3)
    sentences = [
        f"Whatever may follow from all answers together, it is at most {times} times as likely with one "
        f"{unit} as {other}{also}; and the other way round."
    ]
    between = "which of two values this one has" if is_replaced else "whether this one is in the data"
    guess = write_percent_up(bound_guess(epsilon, delta))
    sentences.append(
        f"Somebody who knows every other {unit}, and tosses a coin over {between}, is right half of the "
        f"time. With all answers at hand she is right at most {guess} of the time, whatever she does."
    )
    if not delta:
        sentences.append(f"Whatever odds she gave before, they change by a factor of at most {times}.")
    return tuple(sentences)


def bound_guess(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the most probability with which two neighbours, each as likely, are told apart; rounded up."""
    factor = exp_up(up(epsilon))
    if not factor <= 10**18:
        return Fraction(1)
    exact = Fraction(factor)
    return min(Fraction(1), (exact + delta) / (exact + 1))


def explain_unit(schema: Schema) -> str:
    """Say what one unit is: how fine the protection is."""
    unit = schema.unit
    if isinstance(unit, Row):
        return "One row. Somebody with several rows is protected for each of them, and less for all together."
    rows = "one row" if unit.max_rows == 1 else f"up to {unit.max_rows} rows"
    groups = "one group" if unit.max_groups == 1 else f"up to {unit.max_groups} groups"
    return (
        f"Everybody who shares one value of {unit.column}: all that is about them together. Of each, {rows} "
        f"and {groups} of a question count."
    )


def explain_spent(epsilon: Fraction, budget: Fraction, delta: Fraction) -> str:
    """Say what the spent epsilon means. It holds at the delta of the whole budget."""
    if not epsilon:
        return "Nothing was answered from these data yet."
    guess = write_percent_up(bound_guess(epsilon, delta))
    return (
        f"What was answered up to now comes to an epsilon of {write_up(epsilon)}, of the {write_up(budget)} "
        f"that there will ever be, at the same delta: from that she is right at most {guess} of the time."
    )


def explain_burn(burn: Burn | None, *, is_over: bool) -> str:
    """Say how fast a budget is used, and when that would end."""
    if burn is None:
        return "Nothing was charged yet, so there is no rate."
    if not burn.part:
        return f"Nothing was charged in the last {WINDOW} days."
    days = "day" if burn.days == 1 else f"{write_up(burn.days, 3)} days"
    rate = f"In the last {days}, epsilon {write_up(burn.epsilon, 3)} was spent a day"
    if is_over:
        return f"{rate}."
    if burn.ends is None:
        return f"{rate}; at that rate there is enough for a century."
    return f"{rate}; at that rate nothing is left after {write_time(burn.ends)[:10]}."


def is_known(loss: str) -> bool:
    """Tell whether a noted loss is one: people also write that nobody knows, or that it is infinite."""
    return loss.strip().rstrip(".").lower() not in (
        "unknown",
        "not known",
        "infinite",
        "infinity",
        "inf",
        "∞",
        "?",
    )


def explain_uses(unknown: int) -> str:
    """Say what is not in the figures."""
    uses = "One use" if unknown == 1 else f"{unknown} uses"
    return (
        f"{uses} of these data outside this ledger had a loss that is unknown or infinite. No figure here "
        "can hold for what they told."
    )


WHY_APART = (
    "Analysts were promised that nobody learns what they ask. What was spent, when, by which study and with "
    "which receipt would tell, so that only what does not depend on questions is shown here. The owner and "
    "auditors see all of it."
)
WHY_NO_RECEIPTS = (
    "Receipts are not shown: they count the rows of a book that also serves data under a promise between "
    "analysts."
)
WHY_NO_QUESTIONS = "What was asked, and by whom, is for the owner and auditors: a question may name somebody."
WHY_NO_NAMES = "Who asked is for the owner and auditors."
