"""AboveThreshold: ask on and on until one answer is positive."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Self

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.mechanism import Conversation
from discreet.core.neighbours import ROWS, Neighbours
from discreet.mechanisms.scores import Monotone, Sensitivity
from discreet.sparse.conversation import QUERIES, SparseVector
from discreet.sparse.plan import NoiseKind, Rule


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AboveThreshold(SparseVector[bool]):
    """Answer whether values reach a threshold, and close after the first that seems to.

    Privacy: (epsilon, delta) for the whole conversation, however many questions. [DR14] Theorem 3.23.
    Accuracy: error(beta) is the smallest alpha for `queries` answers, from exact tails. Theorem 3.24.
    Time: O(1) a question.

    Parameters
    ----------
    sensitivity
        How far neighbours move every query: a number, or `Monotone(number)` where all move the same way.
    epsilon, delta
        The budget of one conversation; delta may be 0.
    threshold
        The public threshold; without it every question brings its own.
    noise
        Exponential (one-sided), Laplace, or Gaussian, which needs delta > 0.
    rule
        The optimal split, or the book's scales.
    grid
        The unit values are rounded to. Without it values are whole numbers.
    queries
        How many questions `error` speaks about. With Gaussian noise it is a cap.
    neighbours
        The change the sensitivity was computed for.

    Examples
    --------
    >>> conversation = AboveThreshold(sensitivity=1, epsilon=1, delta=0, threshold=100).open([3, 900])
    >>> conversation.ask(sum)
    True
    >>> conversation.closed
    True
    """

    sensitivity: Sensitivity
    epsilon: Fraction
    delta: Fraction
    threshold: Fraction | None
    noise: NoiseKind
    rule: Rule
    grid: Fraction | None
    queries: int
    neighbours: Neighbours

    def __init__(
        self,
        *,
        sensitivity: checks.Number | Sensitivity,
        epsilon: checks.Number,
        delta: checks.Number,
        threshold: checks.Number | None = None,
        noise: NoiseKind = NoiseKind.EXPONENTIAL,
        rule: Rule = Rule.OPTIMAL,
        grid: checks.Number | None = None,
        queries: int = QUERIES,
        neighbours: Neighbours = ROWS,
    ) -> None:
        self._read(
            sensitivity=sensitivity,
            epsilon=epsilon,
            delta=delta,
            threshold=threshold,
            noise=noise,
            rule=rule,
            grid=grid,
            queries=queries,
            neighbours=neighbours,
        )
        _ = self.plan  # refuses what cannot be planned

    @classmethod
    def book(cls, *, epsilon: checks.Number, **public: Any) -> Self:
        """Return [DR14] Algorithm 1: Laplace noise of scales 2 / epsilon and 4 / epsilon."""
        return cls(epsilon=epsilon, delta=0, noise=NoiseKind.LAPLACE, rule=Rule.BOOK, **public)


def each_value(count: int, **public: Any) -> Callable[[Conversation[Any]], Hashable]:
    """Return a script that asks for the value at every position and notes how the conversation ends."""

    def script(conversation: Conversation[Any]) -> Hashable:
        answers: list[Any] = []
        for place in range(count):
            if conversation.closed:
                break
            answers.append(conversation.ask(lambda data, place=place: data[place], **public))
        return (*answers, "closed" if conversation.closed else "open")

    return script


def moved_pairs(count: int, shift: int, *, monotone: bool) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return pairs of value tuples that differ by `shift` at most: all directions, or one."""
    base = list(product((0, shift, 2 * shift), repeat=count))
    return [
        (a, b)
        for a in base
        for b in base
        if a < b
        and all(abs(x - y) <= shift for x, y in zip(a, b, strict=True))
        and (not monotone or all(x <= y for x, y in zip(a, b, strict=True)))
    ]


def _tiny() -> Iterator[Tiny]:
    for kind, shift, epsilon in ((Sensitivity, 1, 2), (Monotone, 1, 2), (Sensitivity, 2, 4)):
        mechanism = AboveThreshold(sensitivity=kind(shift), epsilon=epsilon, delta=0, threshold=shift)
        pairs = moved_pairs(2, shift, monotone=kind is Monotone)
        yield Tiny(mechanism, pairs, script=each_value(2))
    laplace = AboveThreshold(sensitivity=1, epsilon=3, delta=0, threshold=1, noise=NoiseKind.LAPLACE)
    yield Tiny(laplace, moved_pairs(2, 1, monotone=False), script=each_value(2), tight=False)
    gaussian = AboveThreshold(
        sensitivity=1, epsilon=2, delta=0.01, threshold=1, noise=NoiseKind.GAUSSIAN, queries=2
    )
    yield Tiny(gaussian, moved_pairs(2, 1, monotone=False), script=each_value(2), tight=False)
    long = AboveThreshold(sensitivity=1, epsilon=2, delta=0, threshold=1)
    yield Tiny(long, [((0, 1, 0, 1, 0), (1, 0, 1, 0, 1)), ((0,) * 5, (1,) * 5)], script=each_value(5))
    rounded = AboveThreshold(sensitivity=1, epsilon=4, delta=0, threshold=0.3, grid=0.4)
    real = [((0.1999, 1.0001, 0.1999), (1.1999, 0.0001, 1.1999)), ((0.2, 0.7, 0.3), (0.7, 1.2, -0.7))]
    yield Tiny(rounded, real, script=each_value(3))


CARD = Card(
    name="above-threshold",
    family="sparse",
    title="AboveThreshold: questions until the first positive answer",
    theorem="(epsilon, 0)-differential privacy for any number of adaptive questions with one positive answer",
    reference="[DR14] Theorems 3.23 and 3.24",
    example=lambda: (
        AboveThreshold(sensitivity=Monotone(1), epsilon=1, delta=0, threshold=500),
        tuple(range(0, 1000, 7)),
    ),
    tiny=_tiny,
)
