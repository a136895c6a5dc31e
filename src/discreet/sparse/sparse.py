"""Sparse: ask on and on until c answers are positive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.mechanisms.scores import Monotone, Sensitivity
from discreet.sparse.conversation import ManyPositives
from discreet.sparse.plan import Form
from discreet.sparse.tiny import each_value, moved_pairs


@frozen
class Sparse(ManyPositives[bool]):
    """Answer whether values reach a threshold, and close after `positives` that seem to.

    Privacy: (epsilon, delta) for the whole conversation, however many questions. [DR14] Theorem 3.25.
    Accuracy: error(beta) is the smallest alpha for `queries` answers, from exact tails. Theorem 3.26.
    Time: O(1) a question.

    Its parameters are those of every `SparseVector`, and positives and form of `ManyPositives`.
    """

    @classmethod
    def as_printed(
        cls, *, epsilon: checks.Number, delta: checks.Number, positives: int, **public: Any
    ) -> Self:
        """Return [DR14] Algorithm 2: threshold scale 2 c / epsilon or sqrt(32 c ln(1 / delta)) / epsilon.

        Warns where delta > 0 makes the noise larger instead of smaller: for c <= 8 ln(1 / delta).
        """
        public |= {"epsilon": epsilon, "delta": delta, "positives": positives}
        return cls._follow_the_book(1.0, **public)


def _tiny() -> Iterator[Tiny]:
    for kind, form, epsilon in (
        (Sensitivity, Form.ONCE, 6),
        (Monotone, Form.ONCE, 6),
        (Monotone, Form.REDRAWN, 16),
    ):
        mechanism = Sparse(sensitivity=kind(1), epsilon=epsilon, delta=0, positives=2, threshold=1, form=form)
        pairs = moved_pairs(2, 1, monotone=kind is Monotone)
        yield Tiny(mechanism, pairs, script=each_value(2), tight=False)
    for form, epsilon in ((Form.ONCE, 6), (Form.REDRAWN, 28)):
        tight = Sparse(sensitivity=1, epsilon=epsilon, delta=0, positives=2, threshold=1, form=form)
        # Enough questions for one positive answer too many: with one of both kinds for each it would tell.
        yield Tiny(tight, [((0, 1) * 3, (1, 0) * 3)], script=each_value(6))
    composed = Sparse(sensitivity=1, epsilon=12, delta=0.01, positives=2, threshold=1, form=Form.REDRAWN)
    yield Tiny(composed, [((0, 1, 1), (1, 0, 0))], script=each_value(3), tight=False)
    rounded = Sparse(sensitivity=1, epsilon=8, delta=0, positives=2, threshold=0.3, grid=0.4, form=Form.ONCE)
    real = ((0.1999, 1.0001, 0.1999), (1.1999, 0.0001, 1.1999))
    yield Tiny(rounded, [real], script=each_value(3))


CARD = Card(
    title="Sparse: questions until c positive answers",
    theorem="(epsilon, delta)-differential privacy for any number of questions with c positive answers",
    reference="[DR14] Theorems 3.25 and 3.26, [LSL17] Algorithm 1",
    example=lambda: (
        Sparse(sensitivity=Monotone(1), epsilon=1, delta=1e-9, positives=10, threshold=500),
        tuple(range(0, 1000, 7)),
    ),
    tiny=_tiny,
)
