"""The reusable holdout: is what was found on one's own rows true of rows held out? Asked on and on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import Loss
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.grid import shield
from discreet.mechanisms.reading import make_plain
from discreet.sparse import NumericSparse


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What the rows that were held out say of a question.

    Attributes
    ----------
    value
        The mean: the one given, where it held, else a noisy one of the rows that were held out.
    held
        Whether the given mean was near that of the rows that were held out.
    """

    value: float
    held: bool


@frozen
class ReusableHoldout(Interactive[Any, HeldOut]):
    """Tell again and again whether a mean found on one's own rows is true of rows that were held out.

    Privacy: (epsilon, delta) for the whole conversation, however many questions; see `NumericSparse`.
    Accuracy: error(beta) bounds how far any answer is from the mean of the rows that were held out.
    Time: O(rows) calls of a question.

    Parameters
    ----------
    size
        How many rows are held out. Public.
    threshold
        How far a given mean may be off and still hold.
    misses
        How many given means may fail to hold before the conversation closes.
    epsilon, delta
        The budget of one conversation; delta may be 0.
    neighbours
        `Replace`: the number of rows is public.
    questions
        How many questions `error` speaks about.
    resolution
        What a row says is rounded to whole numbers of 1 / resolution.

    Examples
    --------
    >>> held_out = ReusableHoldout(
    ...     size=5000, threshold=0.03, misses=10, epsilon=1, delta=1e-9, neighbours=Replace("person")
    ... )
    >>> rows = held_out.open([{"age": age % 100} for age in range(5000)])
    >>> rows.ask(lambda person: person["age"] >= 50, mean=0.9).held
    False
    """

    size: int = public(checks.integer, 1)
    threshold: Exact = public(checks.positive)
    misses: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    neighbours: Neighbours = public(checks.instance, Neighbours)
    questions: int = public(checks.integer, 1, default=1000)
    resolution: int = public(checks.integer, 1, default=256)
    tests: NumericSparse = derived()

    def _complete(self) -> None:
        if not isinstance(self.neighbours, Replace):
            raise NeighboursMismatch(
                f"a mean over {self.size} rows is about Replace, not {self.neighbours}. "
                f"Pass neighbours=Replace(...): the number of rows held out is public"
            )
        tests = NumericSparse(
            sensitivity=1,
            grid=Fraction(1, self.resolution),
            threshold=self.threshold * self.size,
            positives=self.misses,
            epsilon=self.epsilon,
            delta=self.delta,
            queries=2 * self.questions,  # each is asked twice: too high, and too low
            neighbours=self.neighbours,
        )
        self._set(tests=tests)

    @property
    def loss(self) -> Loss:
        """What the tests and the released means cost together."""
        return self.tests.loss

    def error(self, beta: checks.Number) -> float:
        """Bound how far every answer is from the mean of the rows held out, but for a probability beta.

        A mean that holds may be off by the threshold and the error of a test, a released one by the error of
        its noise, and each by what rounding to the resolution takes.
        """
        most = self.threshold + Fraction(self.tests.error(beta)) / self.size
        return up(most + Fraction(1, 2 * self.resolution) + Fraction(1, self.size * self.resolution))

    def _begin(self, data: Sensitive[Any], rng: Rng) -> HoldoutConversation:
        return HoldoutConversation(self, data, rng)


class HoldoutConversation(Conversation[HeldOut]):
    """Answers `ask(question, mean=...)` until as many means have failed as were paid for.

    A question is a function of one row, and says a number from 0 to 1. It is called once for each row and
    handed no other, so that no row decides what it says of another: it must keep nothing of the rows before.
    Where it raises, or says anything else, it has said 0.
    """

    def __init__(self, mechanism: ReusableHoldout, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        rows = make_plain(data.reveal())
        if type(rows) not in (np.ndarray, list, tuple) or len(rows) != mechanism.size:
            raise InvalidParameter(
                name="data", rule=f"an array, list or tuple of {mechanism.size} rows", got="something else"
            )
        self._public = mechanism
        self._tests = mechanism.tests.open(rows, rng=rng)

    @property
    def misses(self) -> int:
        """How many given means have failed to hold."""
        return self._tests.positives  # type: ignore[attr-defined, no-any-return]

    def _answer(self, query: Any, **public: Any) -> HeldOut:
        if set(public) != {"mean"} or not callable(query):
            raise InvalidParameter(
                name="question", rule="a function of one row, with mean=", got="something else"
            )
        given = checks.exact(mean=public["mean"])
        if not 0 <= given <= 1:
            raise InvalidParameter(name="mean", rule="from 0 to 1", value=given)
        size, parts = self._public.size, self._public.resolution
        level = Fraction(round(given * size * parts), parts)
        rows = _Sum(query, parts)
        for sign in (1, -1):
            off = self._tests.ask(partial(rows.exceed, level=level, sign=sign))
            if self._tests.closed:
                self.close("all the means that may fail have failed")
            if off is not None:
                found = float(level + sign * Fraction(off)) / size
                return HeldOut(min(1.0, max(0.0, found)), held=False)
        return HeldOut(float(given), held=True)


class _Sum:
    """What a question says of all rows: a sum of whole numbers, one a row, found once for both signs."""

    def __init__(self, question: Callable[[Any], Any], parts: int) -> None:
        self._question = question
        self._parts = parts
        self._units: int | None = None

    def exceed(self, rows: Iterable[Any], *, level: Fraction, sign: int) -> Fraction:
        """Return by how much the sum is above a public level, or below it."""
        if self._units is None:
            self._units = sum(self._read(row) for row in rows)
        return sign * (Fraction(self._units, self._parts) - level)

    def _read(self, row: Any) -> int:
        def evaluate() -> Fraction | int:
            said = self._question(row)
            number = int(said) if isinstance(said, bool | np.bool_) else checks.read_number(said)
            return 0 if number is None else round(min(max(number, 0), 1) * self._parts)

        return int(shield(evaluate, Fraction(0)))  # what goes wrong is about this row, and so is the 0


def _tiny() -> Iterator[Tiny]:
    row = Replace("row")
    public: dict[str, Any] = {"threshold": Fraction(1, 2), "misses": 1, "delta": 0, "resolution": 1}
    held_out = ReusableHoldout(size=1, epsilon=6, neighbours=row, questions=1, **public)
    pairs = [pair for pair in row.pairs((0, 1), 1) if all(map(len, pair))]

    def ask(conversation: Conversation[Any]) -> Any:
        return conversation.ask(bool, mean=0)

    yield Tiny(held_out, pairs, script=ask, tight=False)


CARD = Card(
    title="The reusable holdout, for questions that depend on earlier answers",
    theorem="(epsilon, delta)-differential privacy for any number of questions with c misses",
    reference="[DFHPRR15]; [DR14] Theorem 3.27",
    example=lambda: (
        ReusableHoldout(size=300, threshold=0.2, misses=3, epsilon=1, delta=0, neighbours=Replace("person")),
        tuple(place % 100 for place in range(300)),
    ),
    tiny=_tiny,
)
