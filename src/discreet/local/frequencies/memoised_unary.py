"""Memoised unary encoding: one draw for ever, and fresh noise upon it in each report. Longitudinal RAPPOR."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Self, cast

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import Refused
from discreet.core.loss import PureLoss
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import SYSTEM, Primitive, Rng
from discreet.core.rounding import above, up
from discreet.core.sensitive import Sensitive
from discreet.local.batches import ReportBatch, read_column, read_one
from discreet.local.frequencies.bits import toss_rows
from discreet.local.frequencies.optimised_unary import OptimisedUnary
from discreet.local.frequencies.oracle import Scores
from discreet.local.frequencies.unary_reports import UnaryOracle
from discreet.local.laws.domains import RepeatedNames
from discreet.local.laws.memos import KEEP, REPEATS, Memo, MemoKernel
from discreet.local.steps import DrawReports, Payload
from discreet.noise import oracle

_LONGEST = 1 << 12  # more reports than this have nearly the price of all
_LARGEST = 1 << 1000
_KEEP_ALL = "Call memoise_many(values) once, keep the memos, and call their encode_many() each time"


@frozen
class MemoisedUnary(UnaryOracle):
    """Report a bit for each value as often as is asked, all of it from one memo that a device draws once.

    Privacy: (epsilon, 0) for all reports that a person ever sends, together, and (once, 0) for a single one,
    towards everybody. [EPK14] Section 3. It is about the value that the memo was drawn from: what happens to
    it later changes no report.
    Accuracy: that of `OptimisedUnary` with the budget `once`, for one report from each person.
    Time: O(people * values / 8).

    `release` draws the memo, which is what the guarantee is about: everything else is made from it.

    Parameters
    ----------
    epsilon
        Each person's budget for all reports together.
    once
        What a single report costs, below epsilon.
    domain
        What may be reported: a number of values 0 .. domain - 1, or a list of texts or whole numbers.
        Whatever is none of them counts as the first: to refuse it would tell of it.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.

    Examples
    --------
    >>> survey = MemoisedUnary(epsilon=2, once=1, domain=["bus", "car", "bicycle"], people=10_000)
    >>> [round(float(survey.loss_after(days).value), 2) for days in (1, 2, 7, 30)]
    [1.0, 1.64, 2.0, 2.0]
    >>> from discreet.testing import unsafe_seeded
    >>> rng = unsafe_seeded(1)
    >>> memos = survey.memoise_many(["bus"] * 700 + ["car"] * 300, rng=rng)
    >>> days = [survey.estimate(memos.encode_many(rng=rng)) for _ in range(2)]
    """

    once: Exact = public(checks.positive)
    kind: ClassVar[str] = "memoised-unary"

    @property
    def values(self) -> RepeatedNames:
        """The domain, and the budget of one report."""
        return RepeatedNames(self.domain.count, self.domain.names, self.once)

    @property
    def memos(self) -> MemoKernel:
        """The exact tables: of what is kept, and of one report."""
        return cast("MemoKernel", self.kernel)

    @property
    def scores(self) -> Scores:
        """A report scores for the values whose bits are 1."""
        shown = self.memos.shown
        return Scores.of_coins(shown.yes, shown.no)

    def loss_after(self, reports: int) -> PureLoss:
        """Return what that many reports of one person cost together: the exact price, rounded up."""
        count = checks.integer(1, reports=reports)
        if count == 1:
            return PureLoss(self.once)
        ratio = self.memos.ratio_after(count) if count <= _LONGEST else Fraction(_LARGEST)
        if ratio >= _LARGEST:
            return PureLoss(self.epsilon)
        return PureLoss(min(self.epsilon, Fraction(above(math.log(up(ratio)), steps=4))))

    @classmethod
    def for_error(cls, *, alpha: checks.Number, beta: checks.Number, **public: Any) -> Self:
        """Return the survey with the smallest `once` whose error(beta) is at most alpha; epsilon is given.

        Raises
        ------
        InvalidParameter
            When that would not be below epsilon.
        """
        rest = {name: given for name, given in public.items() if name != "epsilon"}
        return cls(once=OptimisedUnary.for_error(alpha=alpha, beta=beta, **rest).epsilon, **public)

    def memoise(self, value: Any, *, rng: Rng = SYSTEM) -> Memo:
        """Draw one person's memo, once and for ever. It costs that person epsilon, and is secret."""
        return Memo(self.header, self.memos, self.release(value, rng=rng).value)

    def memoise_many(self, values: Any, *, rng: Rng = SYSTEM) -> MemoBatch:
        """Draw the memos of a column of values, each under its own person's guarantee."""
        checks.instance(Rng, rng=rng)
        places = read_column(self.values, Sensitive.wrap(values).reveal())
        rows = np.asarray(rng.perform(DrawReports(self.memos.kept), places), dtype=np.uint8)
        rows.flags.writeable = False
        return MemoBatch(self, rows, rng.unsafe)

    def encode(self, value: Any, *, rng: Rng = SYSTEM) -> NoReturn:
        """Refuse: reports are drawn from a memo. Whoever drew each from the value would pay for each."""
        del value, rng
        raise Refused(what="report", why=REPEATS, way_out=KEEP)

    def encode_many(self, values: Any, *, rng: Rng = SYSTEM) -> NoReturn:
        """Refuse, as `encode` does."""
        del values, rng
        raise Refused(what="report", why=REPEATS, way_out=_KEEP_ALL)

    def _draw(self, data: Any, rng: Rng) -> Any:
        return rng.perform(DrawReports(self.memos.kept), read_one(self.values, data))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemoBatch:
    """The memos of many people: secret, and to be kept for as long as they report."""

    survey: MemoisedUnary
    kept: Payload
    unsafe_seeded: bool = False

    def encode_many(self, *, rng: Rng = SYSTEM) -> ReportBatch:
        """Draw one more report of everybody; however many there are, all together cost each epsilon."""
        checks.instance(Rng, rng=rng)
        drawn = np.asarray(rng.perform(TurnBits(self.survey.memos), self.kept), dtype=np.uint8)
        drawn.flags.writeable = False
        return ReportBatch(self.survey.header, drawn, rng.unsafe or self.unsafe_seeded)

    def __len__(self) -> int:
        return len(self.kept)

    def __repr__(self) -> str:
        ending = ", UNSAFE: seeded noise" if self.unsafe_seeded else ""
        return f"<{len(self)} memos, {self.survey.kind}, epsilon {self.survey.epsilon} for ever{ending}>"


@dataclass(frozen=True, slots=True)
class TurnBits(Primitive["int | Payload", "int | Payload"]):
    """Turn each bit of a memo, or of many, with one rational probability. Exact."""

    kernel: MemoKernel

    @property
    def sensitivity(self) -> Fraction:
        """One person's memo."""
        return Fraction(1)

    def sample(self, value: int | Payload, rng: Rng) -> int | Payload:
        """Draw one report, or a row of bytes for each person."""
        if isinstance(value, np.ndarray):
            return value ^ toss_rows(self.kernel.flip, len(value), self.kernel.inputs, rng)
        return self.kernel.turn(int(value), lambda bound: oracle.uniform_below(bound, rng))

    def law(self, value: int | Payload) -> Iterator[tuple[Any, Fraction]]:
        """Yield every report; of an array, tuples of the rows of all people."""
        if not isinstance(value, np.ndarray):
            yield from self.kernel.list_turns(int(value))
            return
        memos = (int.from_bytes(row.tobytes(), "little") for row in value)
        for drawn in itertools.product(*(list(self.kernel.list_turns(memo)) for memo in memos)):
            rows = tuple(tuple(report.to_bytes(self.kernel.width, "little")) for report, _ in drawn)
            yield rows, math.prod((p for _, p in drawn), start=Fraction(1))

    def distance(self, value: int | Payload, other: int | Payload) -> Fraction:
        """Return how many people's memos differ."""
        if isinstance(value, np.ndarray):
            return Fraction(int(np.any(value != other, axis=1).sum()))
        return Fraction(int(value != other))


def _tiny() -> Iterator[Tiny]:
    for size, epsilon, once in ((2, 1, Fraction(1, 2)), (4, Fraction(1, 2), Fraction(1, 3)), (3, 5, 2)):
        survey = MemoisedUnary(epsilon=epsilon, once=once, domain=size)
        yield Tiny(survey, list(itertools.permutations(range(size), 2)))


CARD = Card(
    title="Memoised unary encoding, known as longitudinal RAPPOR",
    theorem="(epsilon, 0) for all reports of a person for ever, (once, 0) for each; unbiased counts",
    reference="[EPK14] Section 3",
    example=lambda: (MemoisedUnary(epsilon=2, once=1, domain=8, people=1000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
