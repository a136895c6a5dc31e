"""One budget for several workloads: each is released by a mechanism of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NeighboursMismatch, Refused
from discreet.core.fixed import Array
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Neighbours
from discreet.core.parameters import Public, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import shorten_down, up
from discreet.core.search import narrow
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.union import Union
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import write_workload
from discreet.query_release.base import WorkloadRelease, write_as
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.range_tree import RangeTree
from discreet.query_release.synopses.synopsis import Synopsis
from discreet.query_release.synopses.synthetic import SyntheticTable
from discreet.query_release.tiny import list_pairs

Found = TypeVar("Found")
Make = Callable[[Fraction, Fraction], WorkloadRelease]
"""Builds the mechanism of one part from its epsilon and delta."""

_BISECTIONS = 7
_DIGITS = 9


class Parts(Synopsis):
    """The synopses of several workloads. Each query is answered by the first one that knows about it.

    Attributes
    ----------
    workload
        The workloads, as one.
    synopses
        One a workload.
    """

    def __init__(self, workload: Union, synopses: Sequence[Synopsis]) -> None:
        self.universe, self.workload, self.synopses = workload.universe, workload, tuple(synopses)
        self.transcript = tuple(each.transcript for each in self.synopses)

    def answers(self, workload: Workload) -> Array:
        """Return estimated counts, one a query."""
        if (fixed := write_workload(workload)) is self.workload:
            each = zip(self.workload.weights, self.synopses, self.workload.parts, strict=True)
            return np.concatenate([float(weight) * one.answers(part) for weight, one, part in each])
        for one, part in zip(self.synopses, self.workload.parts, strict=True):
            if fixed is part:
                return one.answers(part)
        return self._first(lambda one: one.answers(fixed))

    def answer(self, query: LinearQuery) -> float:
        """Return the estimated count of one query."""
        return self._first(lambda one: one.answer(query))

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return rows of the first synopsis that can make some."""
        return self._first(lambda one: one.synthetic(rows, rng=rng))

    @property
    def total(self) -> float:
        """The number of rows that the first synopsis which knows it thinks there are."""
        return self._first(lambda one: one.total)

    def _first(self, ask: Callable[[Synopsis], Found]) -> Found:
        refusals = []
        for one in self.synopses:
            try:
                return ask(one)
            except Refused as refusal:
                refusals.append(refusal)
        raise refusals[0]

    def __repr__(self) -> str:
        return f"<Parts: {', '.join(map(repr, self.synopses))}>"


@frozen
class Split(WorkloadRelease):
    """Release the parts of a workload one after the other, each by a mechanism of its own.

    Privacy: (epsilon, delta), the composition of all parts.
    Accuracy: error(beta) holds for all parts at once.
    Time: the sum over the parts.

    Parameters
    ----------
    workload
        The union of the parts.
    mechanisms
        One a part, built for it; `Split.share` builds them from one budget.
    epsilon, delta
        The budget of all parts together.
    neighbours
        The change that is hidden, the same in all parts.
    """

    workload: Union = public(write_as, Union)
    mechanisms: Public[Sequence[WorkloadRelease], tuple[WorkloadRelease, ...]] = public(
        checks.each, checks.instance, WorkloadRelease
    )

    def _complete(self) -> None:
        parts, listed = self.workload.parts, self.mechanisms
        if len(listed) != len(parts) or any(
            each.workload is not part for each, part in zip(listed, parts, strict=False)
        ):
            rule = f"{len(parts)} mechanisms, each built for its part of the workload"
            raise InvalidParameter(name="mechanisms", rule=rule, got=f"{len(listed)} mechanisms")
        if any(each.neighbours != self.neighbours for each in listed):
            raise NeighboursMismatch(f"all parts must be about {self.neighbours}")
        if not self.guarantee.implies(epsilon=self.epsilon, delta=self.delta):
            rule = f"within epsilon {float(self.epsilon):g} at delta {float(self.delta):g} together"
            raise InvalidParameter(name="mechanisms", rule=rule, got="more", hint="Use Split.share")

    @classmethod
    def share(
        cls,
        *,
        workload: Union,
        makes: Sequence[Make],
        shares: Sequence[float],
        epsilon: checks.Number,
        delta: checks.Number,
        neighbours: Neighbours,
    ) -> Self:
        """Give every part its share of a budget, and raise all of them as far as tight composition allows.

        Parameters
        ----------
        makes
            How the mechanism of each part is built from its epsilon and delta.
        shares
            The parts' epsilons are in proportion to these.
        """
        fixed = write_as(Union, workload=workload)
        whole, missed = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
        parts = [checks.positive(shares=share) for share in shares]
        if len(parts) != len(makes) or not parts:
            raise InvalidParameter(
                name="shares", rule=f"{len(makes)} numbers, one a part", got=f"{len(parts)}"
            )
        largest, added = max(parts), sum(parts)

        def build(raised: float) -> Any:
            """Make all parts; their epsilons add up to `raised` times the whole."""
            mechanisms = [
                make(shorten_down(whole * Fraction(raised) * share / added, _DIGITS), missed / len(makes))
                for make, share in zip(makes, parts, strict=True)
            ]
            return cls(
                workload=fixed, mechanisms=mechanisms, epsilon=whole, delta=missed, neighbours=neighbours
            )

        best: Self = build(1 - 1e-9)

        def is_too_much(raised: float) -> bool:
            nonlocal best
            try:
                best = build(raised)
            except InvalidParameter:
                return True
            return False

        narrow(is_too_much, 1.0, float(added / largest), steps=_BISECTIONS if missed else 0)
        return best

    @classmethod
    def _for_budget(cls, alpha: checks.Number, public: dict[str, Any]) -> Callable[[Fraction], Self]:
        """Parts share a budget: `public` is what `share` takes besides an epsilon."""
        return lambda epsilon: cls.share(epsilon=epsilon, **public)

    @property
    def is_noise_alone(self) -> bool:
        """Whether those of all parts are."""
        return all(each.is_noise_alone for each in self.mechanisms)

    @property
    def loss(self) -> Loss:
        """All parts composed."""
        return Composed(tuple((each.loss, 1) for each in self.mechanisms))

    def error(self, beta: checks.Number) -> float:
        """Return the largest bound of a part, times its weight; each part may fail with its share of beta.

        A part without a bound leaves none for the whole.
        """
        each_beta = checks.probability(beta=beta) / len(self.mechanisms)
        parts = zip(self.mechanisms, self.workload.weights, strict=True)
        return max(up(weight * Fraction(each.error(each_beta))) for each, weight in parts)

    def _draw(self, data: Any, rng: Rng) -> Parts:
        histogram = self._histogram(data)
        synopses = [each.release(histogram, rng=rng).value for each in self.mechanisms]
        return Parts(self.workload, synopses)


_PEOPLE = Universe([("sex", ("f", "m")), ("age", tuple(range(20, 70)))])
_EXAMPLE = Union([Marginals.of_order(_PEOPLE, 2), Prefixes(_PEOPLE, ["age"])])
_ONE = Universe([("a", (0,))])
_TINY = Union([Marginals(_ONE, [["a"]]), Prefixes(_ONE, ["a"])])


def _independents(workload: Union, neighbours: Neighbours) -> list[Make]:
    return [
        lambda e, d, part=part: Independent(workload=part, epsilon=e, delta=d, neighbours=neighbours)  # type: ignore[misc]
        for part in workload.parts
    ]


def _example() -> tuple[Split, Histogram]:
    people, (tables, ages) = AddRemove("person"), _EXAMPLE.parts
    mechanisms = (
        Independent(workload=tables, epsilon=0.5, delta=5e-10, neighbours=people),
        RangeTree(workload=ages, epsilon=0.5, delta=5e-10, neighbours=people),
    )
    mechanism = Split(workload=_EXAMPLE, mechanisms=mechanisms, epsilon=1, delta=1e-9, neighbours=people)
    return mechanism, Histogram.dense(_PEOPLE, np.arange(100))


def _tiny() -> Iterator[Tiny]:
    neighbours = AddRemove("row")
    for epsilon, delta in ((6, Fraction(0)), (4, Fraction(1, 100))):
        mechanism = Split.share(
            workload=_TINY,
            makes=_independents(_TINY, neighbours),
            shares=(2, 1),
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
        )
        yield Tiny(mechanism, list_pairs(_ONE, neighbours, 2))


CARD = Card(
    title="One budget for several workloads",
    theorem="(epsilon, delta)-differential privacy by composition; every part by a mechanism of its own",
    reference="[DR14] Theorem 3.16",
    example=_example,
    tiny=_tiny,
)
