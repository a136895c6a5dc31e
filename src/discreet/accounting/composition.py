"""Composition: several losses as one, by the tightest sound route.

`Composed` is the only place where a count multiplies. Losses are fixed in advance here, mechanisms may be
chosen adaptively; where the losses themselves are chosen adaptively, use `discreet.accounting.filters`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting import routes
from discreet.accounting.numeric import Parts
from discreet.accounting.routes import Route
from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import Loss, Pair
from discreet.core.losses.base import FailingExactly, check_order, short
from discreet.core.losses.pld import common_unit
from discreet.core.mechanism import Promise, Release
from discreet.core.neighbours import Neighbours

_TAIL = 1e-24  # sent to infinity by the `pld` view, which does not know the delta it is for


@dataclass(frozen=True, slots=True)
class Composed(FailingExactly):
    """Losses with counts, taken together. Nested compositions are flattened and equal losses merged."""

    parts: Parts

    def __post_init__(self) -> None:
        counts: dict[Loss, int] = {}
        for loss, count in self.parts:
            checks.instance(Loss, loss=loss)
            times = checks.integer(0, count=count)
            for inner, inside in loss.parts if isinstance(loss, Composed) else ((loss, 1),):
                counts[inner] = counts.get(inner, 0) + inside * times
        kept = sorted(((loss, count) for loss, count in counts.items() if count), key=repr)
        object.__setattr__(self, "parts", tuple(kept))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the smallest delta of all routes."""
        e = checks.non_negative(epsilon=epsilon)
        return min((route.delta(self.parts, e) for route in routes.choose_routes(self.parts)), default=0.0)

    def epsilon(self, delta: checks.Number) -> float:
        """Return the smallest epsilon of all routes."""
        return self.best(delta)[0]

    def best(self, delta: checks.Number) -> tuple[float, Route]:
        """Return the smallest epsilon at a delta and the route that gives it."""
        d = checks.delta(delta=delta)
        found = [(route.epsilon(self.parts, d), route) for route in routes.choose_routes(self.parts)]
        return min(found, key=lambda pair: pair[0])

    def renyi(self, order: checks.Number) -> float:
        """Return the sum of the divergences."""
        return routes.renyi(self.parts, check_order(order))

    def zcdp(self) -> float:
        """Return the sum of the rhos."""
        return routes.zcdp(self.parts)

    def gaussian(self) -> tuple[Fraction, Fraction] | None:
        """Return the sum of the Gaussian views, where every part has one."""
        return routes.gaussian(self.parts)

    def pld(self, step: Fraction) -> Pair | None:
        """Return the convolution of the parts' distributions."""
        pairs = [(loss.pld(step), count) for loss, count in self.parts]
        whole: Pair | None = None
        for pair, count in pairs:
            if pair is None:
                return None
            first = pair[0].power(count, spare=_TAIL)
            second = first if pair[1] is pair[0] else pair[1].power(count, spare=_TAIL)
            if whole is None:
                whole = first, second
                continue
            same = whole[0] is whole[1] and first is second
            one = whole[0].compose(first, spare=_TAIL)
            whole = one, one if same else whole[1].compose(second, spare=_TAIL)
        return whole

    def exact_epsilon(self) -> Fraction | None:
        """Return the sum of the epsilons at the failure masses."""
        return routes.pure(self.parts)

    def exact_rho(self) -> Fraction | None:
        """Return the sum of the rhos."""
        return routes.rho(self.parts)

    def exact_failure(self) -> Fraction:
        """Return the sum of the failure masses, at most 1."""
        return min(Fraction(1), routes.failure(self.parts))

    @property
    def unit(self) -> Fraction:
        """The common unit of the parts."""
        return common_unit(loss.unit for loss, _ in self.parts)

    def __str__(self) -> str:
        # Losses that read the same are one line, the most frequent first.
        counts: Counter[str] = Counter()
        for loss, count in self.parts:
            counts[str(loss)] += count
        listed = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        words = " + ".join(f"{count} x ({loss})" if count > 1 else loss for loss, count in listed)
        total = self.exact_epsilon() if sum(counts.values()) > 1 and not self.exact_failure() else None
        if total is not None:
            return f"epsilon {short(total)} ({words})"
        return words or "nothing (epsilon 0)"


@dataclass(frozen=True, slots=True, repr=False)
class Composition:
    """What several mechanisms cost together, and by which route that is known."""

    loss: Composed
    neighbours: Neighbours | None

    def epsilon(self, delta: checks.Number) -> float:
        """Return the smallest epsilon of all routes."""
        return self.loss.epsilon(delta)

    def delta(self, epsilon: checks.Number) -> float:
        """Return the smallest delta of all routes."""
        return self.loss.delta(epsilon)

    def route(self, delta: checks.Number) -> str:
        """Say in words which route gives the epsilon at this delta."""
        epsilon, route = self.loss.best(delta)
        return f"{route.name}: {route.words} (epsilon {epsilon:.6g} at delta {float(delta):.3g})"

    def table(self, delta: checks.Number) -> tuple[tuple[str, float], ...]:
        """List every route with its epsilon; infinity where it does not apply."""
        d = checks.delta(delta=delta)
        return tuple((route.name, route.epsilon(self.loss.parts, d)) for route in routes.ROUTES)

    @property
    def guarantee(self) -> Guarantee:
        """The loss with the neighbours of the composed guarantees."""
        if self.neighbours is None:
            raise NeighboursMismatch("these are losses without neighbours; compose guarantees instead")
        return Guarantee(self.loss, self.neighbours)

    def __str__(self) -> str:
        return str(self.loss if self.neighbours is None else self.guarantee)

    def __repr__(self) -> str:
        return f"Composition({self})"


Item = Loss | Guarantee | Promise | Release[Any]
"""What has a price: a loss, or whatever has a guarantee."""


_PRICED = (Loss, Guarantee, Promise, Release)


def price(item: Item) -> tuple[Loss, Neighbours | None]:
    """Read the loss of an item and, but for a bare loss, the neighbours it is about."""
    if not isinstance(item, _PRICED):
        raise InvalidParameter(
            name="item", rule="a mechanism, release, guarantee or loss", value=item, got=repr(item)
        )
    if isinstance(item, Loss):
        return item, None
    guarantee = item if isinstance(item, Guarantee) else item.guarantee
    return guarantee.loss, guarantee.neighbours


def compose(*items: Item, counts: int | Sequence[int] | None = None) -> Composition:
    """Compose losses, or whatever has a guarantee, over the same neighbours.

    Privacy: sound for mechanisms chosen adaptively as long as the losses are fixed in advance.
    Time: about 0.1 s an epsilon for a handful of losses, whatever their counts.

    Parameters
    ----------
    items
        Losses; or guarantees, mechanisms and releases. Not a mixture of losses and the others.
    counts
        How often each is used; once each where left out. One number for one item.

    Raises
    ------
    NeighboursMismatch
        When the guarantees protect different things.
    """
    for item in items:
        if not isinstance(item, _PRICED):
            raise _not_items(item)
    priced = [price(item) for item in items]
    times = _times(len(items), counts)
    guarantees = [Guarantee(loss, hidden) for loss, hidden in priced if hidden is not None]
    if guarantees and len(guarantees) < len(items):
        raise NeighboursMismatch(
            "a loss without neighbours does not compose with a guarantee. Pass Guarantee(loss, neighbours)"
        )
    for other in guarantees[1:]:
        guarantees[0].require_same_neighbours(other)
    neighbours = guarantees[0].neighbours if guarantees else None
    losses = [loss for loss, _ in priced]
    return Composition(Composed(tuple(zip(losses, times, strict=True))), neighbours)


def _not_items(given: object) -> InvalidParameter:
    listed = isinstance(given, list | tuple | set | frozenset)
    return InvalidParameter(
        name="items",
        rule="mechanisms, releases, guarantees or losses",
        value=given,
        got=f"a {type(given).__name__}" if listed else repr(given),
        hint="Pass them one by one: compose(*items)" if listed else "",
    )


def _times(items: int, counts: int | Sequence[int] | None) -> list[int]:
    if counts is None:
        return [1] * items
    several = isinstance(counts, Iterable) and not isinstance(counts, str)
    given = checks.several(counts=counts) if several else (counts,)
    if len(given) != items:
        raise InvalidParameter(name="counts", rule=f"as many numbers as items ({items})", value=counts)
    return [checks.integer(0, counts=count) for count in given]
