"""Randomized response: everybody adds the noise to their own answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core import checks
from discreet.core.bounds import each_of, find_cheapest
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Mechanism, Release
from discreet.core.neighbours import LocalReport
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import SYSTEM, Primitive, Rng
from discreet.core.rounding import above, below, exp_bounds, exp_fraction
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.reading import Wording, make_plain, read_entry, type_name
from discreet.mechanisms.report_tails import Crowd, ReportCoin, smallest_distance
from discreet.noise import coins, oracle

Answers = NDArray[np.int64]

MOST_CATEGORIES = 1 << 32
"""Sums of two categories stay far inside 64-bit words."""

_WORD = 64
_LOCAL = LocalReport()


@dataclass(frozen=True, slots=True)
class Respond(Primitive["int | Answers", "int | Answers"]):
    """Keep each answer with probability e^epsilon / (e^epsilon + categories - 1), else report another one.

    Exact: a uniform real number, drawn bit by bit, is compared with the probability of keeping, of which
    certified bounds are known to any precision; 64 bits decide all but one in 10**18 comparisons.
    """

    epsilon: Fraction
    categories: int

    @property
    def sensitivity(self) -> Fraction:
        """One person's answer."""
        return Fraction(1)

    def sample(self, value: int | Answers, rng: Rng) -> int | Answers:
        """Draw one report, or one for each person."""
        low, high = bound_keeping(self.epsilon, self.categories, _WORD)
        if not isinstance(value, np.ndarray):
            word = rng.bits(_WORD)
            if word < low or (word < high and self._decide(word, rng)):
                return value
            return (value + 1 + oracle.uniform_below(self.categories - 1, rng)) % self.categories
        words = rng.words(value.size)
        kept = words < np.uint64(low)
        for place in np.flatnonzero(~kept & (words <= np.uint64(high - 1))):
            kept[place] = self._decide(int(words[place]), rng)
        moved = np.zeros(value.size, dtype=np.int64)
        liars = np.flatnonzero(~kept)
        moved[liars] = 1 + coins.uniform_below(self.categories - 1, liars.size, rng)
        return (value + moved) % self.categories

    def law(self, value: int | Answers) -> Iterator[tuple[int | tuple[int, ...], Fraction]]:
        """Yield every report; an array's outcomes are tuples of all reports."""
        q = exp_fraction(self.epsilon)
        keep, other = 1 / (1 + (self.categories - 1) * q), q / (1 + (self.categories - 1) * q)
        if not isinstance(value, np.ndarray):
            yield from ((c, keep if c == value else other) for c in range(self.categories))
            return
        truth = [int(v) for v in value]
        for reports in itertools.product(range(self.categories), repeat=len(truth)):
            odds = (keep if a == b else other for a, b in zip(truth, reports, strict=True))
            yield reports, math.prod(odds, start=Fraction(1))

    def distance(self, value: int | Answers, other: int | Answers) -> Fraction:
        """Return how many people's answers differ."""
        return Fraction(int(np.sum(np.asarray(value) != np.asarray(other))))

    def _decide(self, prefix: int, rng: Rng) -> bool:
        """Decide whether a number that begins with `prefix` is below the probability of keeping."""
        bits = _WORD
        while True:
            prefix, bits = (prefix << _WORD) | rng.bits(_WORD), bits + _WORD
            low, high = bound_keeping(self.epsilon, self.categories, bits)
            if not low <= prefix < high:
                return prefix < low


@lru_cache(maxsize=256)
def bound_keeping(epsilon: Fraction, categories: int, bits: int) -> tuple[int, int]:
    """Return integers around the probability of keeping an answer, in units of 2**-bits."""
    one, others = 1 << (bits + 8), categories - 1
    low, high = exp_bounds(epsilon, bits + 8)
    return (one << bits) // (one + others * high), -(-(one << bits) // (one + others * low))


def _read_categories(**named: object) -> int:
    number = checks.integer(2, **named)
    if number > MOST_CATEGORIES:
        raise InvalidParameter(name="categories", rule=f"<= {MOST_CATEGORIES}", value=number)
    return number


@frozen
class RandomizedResponse(Mechanism[Any, Any]):
    """Report one's own category, or with a known probability another one.

    Privacy: (epsilon, 0) for each person, towards everybody, the collector included. [DR14] Claim 3.5.
    Accuracy: `estimate` is unbiased; `frequency_error(beta)` bounds its largest error; `error(beta)` is
    about the reports themselves.
    Time: O(people).

    Parameters
    ----------
    epsilon
        Each person's budget.
    categories
        How many answers there are; answers are 0 .. categories - 1. Anything else in the place of one, be it
        another number or nothing at all, counts as the first: to refuse it would tell of it. What is not of
        an integer type as a whole (True, 1.0, an array of floats) is refused for its type.
    people
        How many people report together. It is public.

    Examples
    --------
    >>> round(RandomizedResponse.coin_flips(people=10_000).standard_error, 5)
    0.00866
    """

    epsilon: Exact = public(checks.positive)
    categories: int = public(_read_categories, default=2)
    people: int = public(checks.integer, 1, default=1)
    neighbours: LocalReport = derived()
    measures: ClassVar[bool] = False  # a reported category is no estimate of the true one

    def _complete(self) -> None:
        self._set(neighbours=_LOCAL)

    @classmethod
    def coin_flips(cls, *, people: int = 1) -> Self:
        """Return the classical version: a coin says whether to tell the truth, a second one the answer.

        It keeps an answer with probability 3/4, so its epsilon is log 3 (rounded up in the fifteenth digit).
        """
        return cls(epsilon=Fraction("1.09861228866811"), categories=2, people=people)

    @classmethod
    def for_frequency_error(cls, *, alpha: checks.Number, beta: checks.Number, **public: Any) -> Self:
        """Return the cheapest mechanism with frequency_error(beta) <= alpha."""
        return find_cheapest(
            lambda epsilon: cls(epsilon=epsilon, **public),
            alpha=alpha,
            beta=beta,
            error=lambda mechanism, missed: mechanism.frequency_error(missed),
        )

    @property
    def loss(self) -> Loss:
        """The pure loss, exact for two categories."""
        return PureLoss(self.epsilon)

    @property
    def keep(self) -> float:
        """The probability of reporting the truth."""
        return 1 / (1 + (self.categories - 1) * math.exp(-float(self.epsilon)))

    @property
    def other(self) -> float:
        """The probability of reporting one particular other category."""
        return self.keep * math.exp(-float(self.epsilon))

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of how many categories the worst placed report is away from the truth."""
        each = each_of(self.people, beta)
        lie = above((self.categories - 1) * self.other, steps=8)
        # From an end of the range a false report is 1, 2, ..., categories - 1 away, each as likely.
        away = (self.categories - 1) * (1 - min(1.0, each / lie))
        return float(min(self.categories - 1, math.ceil(away * (1 + 1e-12))))

    @property
    def standard_error(self) -> float:
        """The largest standard deviation of an estimated frequency, over all true frequencies."""
        return math.sqrt(self._variance / self.people) / self._contrast

    def frequency_error(self, beta: checks.Number) -> float:
        """Return what no estimated frequency misses its true value by, but for a probability beta.

        It holds for all true frequencies, over all categories at once (two categories mirror each other, so
        they are one), and rests on the law of the reports. Never above the bounds of Hoeffding and Bernstein.
        """
        b = below(float(checks.probability(beta=beta)))
        events = 1 if self.categories == 2 else self.categories
        log = math.log(2 * events / b)
        hoeffding = math.sqrt(log * self.people / 2)
        bernstein = log / 3 + math.sqrt(log * log / 9 + 2 * self.people * log * self._variance)
        least = 1e-280  # a rarer report changes no bound, and has no logarithm
        lie, other = max(least, (self.categories - 1) * self.other), max(least, self.other)
        crowd = Crowd(self.people, ReportCoin(self.keep, lie), ReportCoin(other, 1 - other))
        far = smallest_distance(crowd, b, self.categories, min(hoeffding, bernstein))
        return above(far / (self.people * self._contrast), steps=32)

    def release_many(
        self, values: ArrayLike | Sensitive[Any], *, rng: Rng = SYSTEM
    ) -> Release[NDArray[np.int64]]:
        """Report for many people at once, each under their own guarantee."""
        answers = make_plain(Sensitive.wrap(values).reveal())
        if not isinstance(answers, np.ndarray | list | tuple) or not len(answers):
            raise InvalidParameter(
                name="values", rule="a list of answers, at least one", got=f"type {type_name(answers)}"
            )
        together = type(self)(epsilon=self.epsilon, categories=self.categories, people=len(answers))
        return together.release(answers, rng=rng)

    def estimate(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Estimate the true frequency of every category without bias. Estimates may leave [0, 1]."""
        answers = np.atleast_1d(np.asarray(reports))
        if answers.ndim != 1 or answers.size < 1 or answers.dtype.kind not in "iu":
            raise InvalidParameter(
                name="reports", rule="a list of reported categories", got=f"type {type_name(reports)}"
            )
        if answers.min() < 0 or answers.max() >= self.categories:
            raise InvalidParameter(
                name="reports", rule=f"integers in 0..{self.categories - 1}", value=answers.dtype.name
            )
        seen = np.bincount(answers, minlength=self.categories) / answers.size
        unbiased: NDArray[np.float64] = (seen - self.other) / self._contrast
        return unbiased

    @property
    def _contrast(self) -> float:
        """Return keep - other, without cancellation."""
        return -math.expm1(-float(self.epsilon)) * self.keep

    @property
    def _variance(self) -> float:
        """Return the larger variance of one report's indicator."""
        return max(self.keep * (1 - self.keep), self.other * (1 - self.other))

    def _answers(self, data: Any) -> int | Answers:
        """Read answers. What is none of the categories counts as the first: an error would tell of it."""
        which = f"from 0 to categories - 1, here {self.categories - 1}"
        one, many = f"one integer {which}", f"{{size}} integers {which}, one a person"
        asked = one if self.people == 1 else many.format(size=self.people)
        hint = "For many people use release_many"
        codes = "Pass integers: 1 and 0 for yes and no, places in a list for categories"
        wording = Wording(one, many, asked, asked, shape_hint=hint, number_hint=codes, integer_hint=codes)
        numbers = make_plain(data)
        if isinstance(numbers, list | tuple):
            read = map(read_entry, numbers)
            numbers = [
                int(each) if isinstance(each, Fraction) and each.denominator == 1 else 0 for each in read
            ]
        answers = Grid(None).to_units(numbers, self.people, wording)
        if isinstance(answers, np.ndarray):
            return np.where((answers >= 0) & (answers < self.categories), answers, 0)
        return answers if 0 <= answers < self.categories else 0

    def _draw(self, data: Any, rng: Rng) -> Any:
        drawn = rng.perform(Respond(self.epsilon, self.categories), self._answers(data))
        return np.asarray(drawn, dtype=np.int64) if isinstance(drawn, np.ndarray) else drawn


def _tiny() -> Iterator[Tiny]:
    for epsilon, categories in ((1, 2), (Fraction(1, 2), 3), (3, 5)):
        mechanism = RandomizedResponse(epsilon=epsilon, categories=categories)
        yield Tiny(mechanism, list(itertools.permutations(range(categories), 2)))
    yield Tiny(RandomizedResponse.coin_flips(), [(0, 1), (1, 0)])


CARD = Card(
    title="Randomized response, binary and k-ary, with unbiased estimates",
    theorem="(epsilon, 0)-differential privacy for each person towards everybody; unbiased frequencies",
    reference="[DR14] Claim 3.5",
    example=lambda: (RandomizedResponse(epsilon=1, categories=4), 2),
    tiny=_tiny,
)
