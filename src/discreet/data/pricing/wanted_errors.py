"""Several questions for wanted errors: the least each has to cost, and what all of them cost together.

The promise is about all of them at once: but for probability beta, every number of every answer is within its
wanted error. Each question may miss with its part of beta, and each of its columns with a part of that; a
question is then made as cheap as its errors allow, by itself.

Two ways to pay are compared: pure noise for all, where epsilons add up, and the noise that is best at a small
delta, where rhos may add up to less. Everything is decided from public facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.composition import Composed
from discreet.accounting.filters import HELD_BACK, make_filter
from discreet.core import checks
from discreet.core.bounds import LARGEST_EPSILON
from discreet.core.errors import InternalError, InvalidParameter, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, ZCDPLoss
from discreet.core.neighbours import Neighbours
from discreet.core.rounding import shorten_up
from discreet.core.search import narrow
from discreet.core.shown import html_table, text_table
from discreet.data.plan.after import is_noisy
from discreet.data.plan.nodes import MIN_EPSILON, Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.budget import Budget, budget
from discreet.data.pricing.question_plan import QuestionPlan, column_errors, price_question
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

BETA = Fraction(1, 20)
"""With what probability any of the errors may be missed, where nobody says."""

MOST_QUESTIONS = 1000
"""The most questions that are planned together."""

_STEPS = 6  # bisections of a factor of two: within about one per cent
_DIGITS = 3

Fits = Callable[[Guarantee, ApproxLoss], bool]
"""Tells whether a charge, bought for a pair, would still fit."""

OneOrMore = checks.Number | Iterable[checks.Number]
"""One number for all questions, or one for each."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class QuestionsPlan(Sequence[QuestionPlan]):
    """Questions that are priced to meet wanted errors together. Public; ask them one after the other.

    Attributes
    ----------
    plans
        One for each question, in order; so is this object itself.
    within, errors
        The wanted error of each question, and the one it will have: no number of any answer is further off,
        but for probability `beta` for all of them together.
    beta
        With what probability that may fail.
    fits
        Whether all of them fit in the budget they were planned for.
    needed
        The epsilon of the smallest budget, at the same delta and spent on nothing else, that they fit in.
    """

    plans: tuple[QuestionPlan, ...]
    within: tuple[Fraction, ...]
    errors: tuple[float, ...]
    beta: Fraction
    fits: bool
    needed: Fraction

    def __getitem__(self, place: Any) -> Any:
        return self.plans[place]

    def __len__(self) -> int:
        return len(self.plans)

    @property
    def epsilon(self) -> Fraction:
        """The sum of the epsilons."""
        return sum((plan.epsilon for plan in self.plans), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """The sum of the deltas."""
        return sum((plan.delta for plan in self.plans), Fraction(0))

    @property
    def guarantee(self) -> Guarantee:
        """What all answers cost together."""
        return _together(self.plans)

    @property
    def price(self) -> str:
        """What all answers cost together, in one line."""
        pair = f"epsilon {float(self.epsilon):.6g}, delta {float(self.delta):.3g}"
        return f"{pair} for {self.guarantee.neighbours}"

    def error(self, place: int) -> float:
        """Return the error of one question, by its place."""
        return self.errors[checks.index(len(self.errors), place=place)]

    @property
    def _cells(self) -> list[list[str]]:
        cells = [["question", "within", "error", "epsilon"]]
        for plan, wanted, error in zip(self.plans, self.within, self.errors, strict=True):
            text = to_sql(plan.question, plan.tables)
            shown = text if len(text) <= 60 else text[:59] + "…"
            cells.append([shown, f"{float(wanted):.6g}", f"{error:.6g}", f"{float(plan.epsilon):.6g}"])
        return cells

    @property
    def _notes(self) -> list[str]:
        sure = f"all errors hold at once with probability {float(1 - self.beta):g}; {self.price}"
        budget_ = f"a budget of epsilon {float(self.needed):.6g} is enough for them"
        return [sure, budget_ if self.fits else f"they do not fit in what is there: {budget_}"]

    def __repr__(self) -> str:
        return text_table(self._cells, self._notes)

    def _repr_html_(self) -> str:
        return html_table(self._cells, self._notes)


def plan_questions(
    questions: Iterable[str],
    *,
    tables: PlanTables,
    within: OneOrMore,
    of: OneOrMore | None,
    beta: checks.Number,
    delta: Fraction,
    fits: Fits,
) -> QuestionsPlan:
    """Price questions so that all of them meet their wanted errors, as cheaply as is known.

    Parameters
    ----------
    questions
        SELECTs, each over declared groups and with errors that are known beforehand.
    tables
        What they may name.
    within, of
        The wanted errors, one for all or one for each; in parts of a public size where `of` says one.
    beta
        With what probability any of them may be missed.
    delta
        The delta of the budget.
    fits
        Whether a charge would still fit in it.

    Raises
    ------
    Refused
        For a question whose error depends on the data, or that no sensible epsilon answers well enough.
    """
    texts = checks.several(questions=questions)
    if not 0 < len(texts) <= MOST_QUESTIONS:
        raise InvalidParameter(name="questions", rule=f"1 to {MOST_QUESTIONS} of them", got=str(len(texts)))
    wanted, missed = _read_wanted(within, of, len(texts)), checks.probability(beta=beta)
    small = delta * HELD_BACK / len(texts)
    policy = Policy(epsilon=LARGEST_EPSILON, delta=small)
    parsed = [parse(text, schemas=tables, policy=policy) for text in texts]
    each = missed / len(texts)
    ways = []
    for part in (Fraction(0), small)[: 2 if small else 1]:
        plans = [
            _find_cheapest(one, tables, part, most, each) for one, most in zip(parsed, wanted, strict=True)
        ]
        made = tuple(price_question(found) for found in plans)
        errors = tuple(_largest_error(found, each) for found in plans)
        needed = _find_budget(made, delta)
        pair = ApproxLoss(sum((plan.epsilon for plan in made), Fraction(0)), _sum_deltas(made))
        ways.append(QuestionsPlan(made, wanted, errors, missed, fits(_together(made), pair), needed))
    return min(ways, key=lambda way: (not way.fits, way.needed))


def make_fits(*, epsilon: checks.Number, delta: checks.Number, neighbours: Neighbours) -> Fits:
    """Tell what fits in a budget that nothing was charged to yet."""
    whole = make_filter(epsilon=epsilon, delta=delta, neighbours=neighbours)

    def fits(guarantee: Guarantee, pair: ApproxLoss) -> bool:
        offers = (whole.cost(guarantee), whole.cost(Guarantee(pair, neighbours)))
        return any(whole.fits(offer) for offer in offers if offer is not None)

    return fits


def _read_wanted(within: OneOrMore, of: OneOrMore | None, count: int) -> tuple[Fraction, ...]:
    errors = _read_each("within", within, count)
    sizes = (Fraction(1),) * count if of is None else _read_each("of", of, count)
    return tuple(error * size for error, size in zip(errors, sizes, strict=True))


def _read_each(name: str, given: OneOrMore, count: int) -> tuple[Fraction, ...]:
    listed = tuple(given) if isinstance(given, list | tuple) else (given,) * count
    if len(listed) != count:
        raise InvalidParameter(name=name, rule=f"one number, or {count} of them", got=f"{len(listed)}")
    return tuple(checks.positive(**{name: one}) for one in listed)


def _find_cheapest(
    question: Plan, tables: PlanTables, delta: Fraction, wanted: Fraction, beta: Fraction
) -> Budget:
    """Return the answer with about the smallest epsilon whose errors are all at most the wanted one."""
    known: dict[Fraction, Budget] = {}

    def holds(epsilon: Fraction) -> bool:
        known[epsilon] = budget(question, tables, Policy(epsilon=epsilon, delta=delta))
        return Fraction(_largest_error(known[epsilon], beta)) <= wanted

    high = Fraction(1)
    while not holds(high):
        high *= 2
        if high > LARGEST_EPSILON:
            raise Refused(
                what=f"an error of at most {float(wanted):.6g}",
                why=f"no epsilon up to {float(LARGEST_EPSILON):g} makes this question so sure",
                way_out="Allow more, ask for fewer groups, or declare tighter bounds",
            )
    while high / 2 >= MIN_EPSILON and holds(high / 2):
        high /= 2
    _, high = narrow(holds, max(high / 2, MIN_EPSILON), high, steps=_STEPS, middle=_between)
    found = known[high]
    if Fraction(_largest_error(found, beta)) > wanted:
        raise InternalError("a question that was planned for an error misses it")
    return found


def _between(low: Fraction, high: Fraction) -> Fraction:
    return shorten_up(Fraction(math.sqrt(low * high)), _DIGITS)


def _largest_error(made: Budget, beta: Fraction) -> float:
    """Return the largest error of any number of an answer, but for probability beta."""
    if any(vector.threshold is not None for vector in made.vectors):
        raise Refused(
            what="groups that are found in the data",
            why="which of them are shown, and how many, is not known beforehand, and so is no error of all",
            way_out="Group by columns with declared values",
        )
    columns = column_errors(made, beta)
    if not columns:
        raise Refused(what="question", why="it has no number", way_out="Ask for COUNT(*), for instance")
    known = {column.name: column.error for column in column_errors(made, beta / len(columns))}
    question, largest = made.facts.plan, 0.0
    for output in question.outputs:
        if any(map(is_noisy, question.list_column(output.name))):
            error = known.get(output.name)
            if error is None:
                raise Refused(
                    what=f"the error of {output.name}",
                    why="it depends on noisy numbers that are part of the answer",
                    way_out="Ask for the SUM and the COUNT, whose errors are known beforehand",
                )
            largest = max(largest, error)
    return largest


def _together(plans: Sequence[QuestionPlan]) -> Guarantee:
    loss = Composed(tuple((plan.guarantee.loss, 1) for plan in plans))
    return Guarantee(loss, plans[0].guarantee.neighbours)


def _sum_deltas(plans: Sequence[QuestionPlan]) -> Fraction:
    return sum((plan.delta for plan in plans), Fraction(0))


def _find_budget(plans: Sequence[QuestionPlan], delta: Fraction) -> Fraction:
    """Return about the smallest epsilon of a budget at delta that all plans fit in; it was tried."""
    whole, neighbours = _together(plans), plans[0].guarantee.neighbours
    pair = ApproxLoss(sum((plan.epsilon for plan in plans), Fraction(0)), _sum_deltas(plans))

    def fits(epsilon: Fraction) -> bool:
        return make_fits(epsilon=epsilon, delta=delta, neighbours=neighbours)(whole, pair)

    high, rho = pair.value, whole.loss.exact_rho()
    if not fits(high):
        raise InternalError("questions that were planned fit in no budget")
    if delta and rho:
        least = max(Fraction(ZCDPLoss(rho).epsilon(delta)), MIN_EPSILON)  # no filter makes less of a rho
        if least < high:
            _, high = narrow(fits, least, high, steps=_STEPS + 2, middle=_between)
    return high
