"""NumericSparse: ask on and on; positive answers come with their value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.parameters import frozen, public
from discreet.core.rounding import above, shorten_up
from discreet.mechanisms.scores import Monotone
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.sparse import accuracy
from discreet.sparse.calibration import PLANNED_BETA, find_largest, make_plan, require
from discreet.sparse.conversation import ManyPositives
from discreet.sparse.loss import SparseLoss
from discreet.sparse.plan import NoiseKind, Rule, SparsePlan, SparseSetting
from discreet.sparse.tiny import each_value


@frozen
class NumericSparse(ManyPositives["float | None"]):
    """Answer None for values that seem below a threshold and a noisy value for those that do not.

    Privacy: (epsilon, delta) for the whole conversation, however many questions. [DR14] Theorem 3.27.
    Accuracy: error(beta) covers tests and values together, from exact tails. Theorem 3.28, corrected.
    Time: O(1) a question.

    Parameters
    ----------
    values
        The noise of released values, always fresh: Laplace, or Gaussian, which needs delta > 0. By default
        whichever the error is smaller with.

    The others are those of every `SparseVector`, and positives and form of `ManyPositives`.
    """

    values: NoiseKind | None = public(checks.instance, NoiseKind, default=None)

    def _complete(self) -> None:
        if self.values is NoiseKind.EXPONENTIAL or (self.values is NoiseKind.GAUSSIAN and self.delta == 0):
            rule = "Laplace, or Gaussian with delta > 0"
            raise InvalidParameter(name="values", rule=rule, value=self.values)
        ManyPositives._complete(self)  # noqa: SLF001 - its own base

    @classmethod
    def as_printed(
        cls, *, epsilon: checks.Number, delta: checks.Number, positives: int, **public: Any
    ) -> Self:
        """Return [DR14] Algorithm 3: tests with 8/9 of epsilon, or sqrt(512) / (sqrt(512) + 1) of it.

        Warns where delta > 0 makes the noise larger instead of smaller: for c <= 8 ln(2 / delta).
        """
        public |= {"epsilon": epsilon, "delta": delta, "positives": positives}
        return cls._follow_the_book(0.5, values=NoiseKind.LAPLACE, **public)

    @property
    def _both(self) -> tuple[SparsePlan, Noise, SparseLoss]:
        return _divide(self._setting, self.values)

    @property
    def plan(self) -> SparsePlan:
        """The noise laws of the tests, and when the threshold is drawn."""
        return self._both[0]

    @property
    def value_noise(self) -> Noise:
        """The fresh noise of released values."""
        return self._both[1]

    @property
    def loss(self) -> Loss:
        """The cost of tests and values together, however many questions are asked."""
        return self._both[2]

    def _failure(self, alpha: int, queries: int) -> float:
        return _failure(self.plan, self.value_noise, alpha, queries=queries, positives=self.positives)


def _failure(plan: SparsePlan, values: Noise, alpha: int, *, queries: int, positives: int) -> float:
    return accuracy.comparison_failure(
        plan, alpha, queries=queries, positives=positives
    ) + accuracy.value_failure(values, alpha, positives=positives)


@lru_cache(maxsize=256)
def _divide(setting: SparseSetting, values: NoiseKind | None) -> tuple[SparsePlan, Noise, SparseLoss]:
    """Return the division of the budget between tests and values with the smallest planned error."""
    if setting.rule is Rule.BOOK:
        found = [_book(setting)]
    else:
        default = [NoiseKind.LAPLACE] if setting.delta == 0 else [NoiseKind.LAPLACE, NoiseKind.GAUSSIAN]
        kinds = [values] if values else default
        found = [_share(setting, kind, Fraction(tenths, 10)) for kind in kinds for tenths in range(5, 10)]

    def error(candidate: tuple[SparsePlan, Noise, SparseLoss]) -> int:
        plan, noise, _ = candidate
        asked = {"queries": setting.queries, "positives": setting.positives}
        return accuracy.find_error(lambda alpha: _failure(plan, noise, alpha, **asked), PLANNED_BETA)

    best = found[0] if len(found) == 1 else min(found, key=error)
    require(best[2], setting.epsilon, setting.delta)
    return best


def _share(setting: SparseSetting, kind: NoiseKind, share: Fraction) -> tuple[SparsePlan, Noise, SparseLoss]:
    """Give a share of epsilon and delta to the tests, and the values all that the joint curve then leaves."""
    c, shift = setting.positives, setting.shift
    plan = make_plan(replace(setting, epsilon=share * setting.epsilon, delta=share * setting.delta))
    tests = plan.loss
    if kind is NoiseKind.LAPLACE:
        if setting.delta == 0:
            scale = shorten_up(c * shift / (setting.epsilon - tests.count * tests.high), 12)
        else:
            value = find_largest(
                lambda value: replace(tests, value=value, values=c).delta(setting.epsilon) <= setting.delta,
                (1 - share) * setting.epsilon / (8 * c),
            )
            scale = shorten_up(shift / value, 12)
        return plan, DiscreteLaplace(scale), replace(tests, value=shift / scale, values=c)

    def gaussian(precision: Fraction) -> SparseLoss:
        mu = Fraction(above(math.sqrt(c * shift**2 * precision)))
        return replace(tests, mu=mu, slack=(1 - precision / 4) ** -2)

    def fits(precision: Fraction) -> bool:
        return precision < 2 and gaussian(precision).delta(setting.epsilon) <= setting.delta

    start = Fraction(1)
    while not fits(start):
        start /= 4
    variance = shorten_up(1 / find_largest(fits, start), 12)
    return plan, DiscreteGaussian(variance), gaussian(1 / variance)


def _book(setting: SparseSetting) -> tuple[SparsePlan, Noise, SparseLoss]:
    c = setting.positives
    if setting.delta == 0:
        plan = make_plan(replace(setting, epsilon=setting.epsilon * 8 / 9))
        scale = 9 * c / setting.epsilon  # 2 c / epsilon_2 with epsilon_2 = 2 epsilon / 9
    else:
        root = Fraction(above(math.sqrt(512)))
        plan = make_plan(
            replace(setting, epsilon=setting.epsilon * root / (root + 1), delta=setting.delta / 2)
        )
        spread = Fraction(above(math.sqrt(32 * c * above(math.log(2 / setting.delta)))))
        scale = spread * (root + 1) / (2 * setting.epsilon)
    scale = shorten_up(scale * setting.shift, 12)
    return plan, DiscreteLaplace(scale), replace(plan.loss, value=setting.shift / scale, values=c)


def _tiny() -> Iterator[Tiny]:
    crossing = [((0, 1), (1, 0)), ((1, 1), (2, 0))]
    rising = [((0, 0), (1, 1)), ((0, 1), (0, 2))]
    # Enough questions for one positive answer too many: with one of both kinds for each it would tell.
    longer = NumericSparse(sensitivity=1, epsilon=7, delta=0, positives=1, threshold=1)
    yield Tiny(longer, [((0, 1) * 2, (1, 0) * 2)], script=each_value(4))
    general = NumericSparse(sensitivity=1, epsilon=6, delta=0, positives=1, threshold=1)
    yield Tiny(general, crossing, script=each_value(2))
    monotone = NumericSparse(sensitivity=Monotone(1), epsilon=6, delta=0, positives=1, threshold=1)
    yield Tiny(monotone, rising, script=each_value(2), tight=False)
    gaussian = NumericSparse(
        sensitivity=1, epsilon=4, delta=0.01, positives=1, threshold=1, values=NoiseKind.GAUSSIAN
    )
    yield Tiny(gaussian, crossing[:1], script=each_value(2), tight=False)
    rounded = NumericSparse(sensitivity=0.3, epsilon=6, delta=0, positives=1, threshold=0.3, grid=0.4)
    yield Tiny(rounded, [((0.1999, 0.4001), (0.4999, 0.1001))], script=each_value(2))


CARD = Card(
    title="NumericSparse: questions until c values have been released",
    theorem="(epsilon, delta)-differential privacy for any number of questions with c released values",
    reference="[DR14] Theorems 3.27 and 3.28",
    example=lambda: (
        NumericSparse(sensitivity=Monotone(1), epsilon=1, delta=1e-9, positives=5, threshold=500),
        tuple(range(0, 1000, 7)),
    ),
    tiny=_tiny,
)
