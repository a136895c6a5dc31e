"""AboveThreshold: ask on and on until one answer is positive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.mechanisms.scores import Monotone, Sensitivity
from discreet.sparse.conversation import SparseVector
from discreet.sparse.plan import NoiseKind, Rule
from discreet.sparse.tiny import each_value, moved_pairs


@frozen
class AboveThreshold(SparseVector[bool]):
    """Answer whether values reach a threshold, and close after the first that seems to.

    Privacy: (epsilon, delta) for the whole conversation, however many questions. [DR14] Theorem 3.23.
    Accuracy: error(beta) is the smallest alpha for `queries` answers, from exact tails. Theorem 3.24.
    Time: O(1) a question.

    Its parameters are those of every `SparseVector`.

    Examples
    --------
    >>> conversation = AboveThreshold(sensitivity=1, epsilon=1, delta=0, threshold=100).open([3, 900])
    >>> conversation.ask(sum)
    True
    >>> conversation.closed
    True
    """

    @classmethod
    def as_printed(cls, *, epsilon: checks.Number, **public: Any) -> Self:
        """Return [DR14] Algorithm 1: Laplace noise of scales 2 / epsilon and 4 / epsilon."""
        return cls(epsilon=epsilon, delta=0, noise=NoiseKind.LAPLACE, rule=Rule.BOOK, **public)


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
    title="AboveThreshold: questions until the first positive answer",
    theorem="(epsilon, 0)-differential privacy for any number of adaptive questions with one positive answer",
    reference="[DR14] Theorems 3.23 and 3.24",
    example=lambda: (
        AboveThreshold(sensitivity=Monotone(1), epsilon=1, delta=0, threshold=500),
        tuple(range(0, 1000, 7)),
    ),
    tiny=_tiny,
)
