"""Two prices, each from the bids of the others: nobody's bid has a part in the own price."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.neighbours import Bidder
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, up
from discreet.games.common.game import Money
from discreet.games.pricing.posted_price import Pricing
from discreet.mechanisms.subsample_aggregate import Partition


@dataclass(frozen=True, slots=True)
class SplitPrices:
    """The price of each group, and which group each bidder was put in by lot.

    Attributes
    ----------
    first, second
        The price of either group, chosen by the bids of the other.
    groups
        0 or 1 for each bidder.
    """

    first: float
    second: float
    groups: tuple[int, ...]

    def __repr__(self) -> str:
        return f"SplitPrices(first={self.first:.12g}, second={self.second:.12g}, {len(self.groups)} bidders)"


@frozen
class SplitAuction(Pricing):
    """Put bidders into two groups by lot, and price each group by the other's bids, as `PostedPrice` does.

    Privacy: (epsilon, 0) with bounded range: each bid is used for one of the two prices.
    Truthfulness: exact. A bidder's own price does not depend on the own bid, whatever the lots and the noise,
    so bidding what the good is worth is best against all other bids.
    Accuracy: with probability 1 - beta the revenue is at least the best single price's less error(beta).
    Time: O(bidders log prices).

    Parameters
    ----------
    prices, epsilon, neighbours
        As in `PostedPrice`.
    bidders
        How many there are.

    Examples
    --------
    >>> game = SplitAuction(prices=[1, 2, 3], epsilon=1, bidders=10_000, neighbours=Bidder())
    >>> game.truthfulness, round(game.error(0.05))
    (0.0, 2016)
    """

    bidders: int = public(checks.integer, 1)

    @property
    def truthfulness(self) -> float:
        """Nothing at all is gained by another bid."""
        return 0.0

    def error(self, beta: checks.Number) -> float:
        """Return the revenue that is missed at most, against the best single price for all.

        Each of the two prices is behind the best for the bids it was chosen by, with probability beta / 4;
        for each of them as many of its own group buy as of the other, but for d, with probability
        prices * exp(-d^2 / (2 bidders)), which Hoeffding's inequality gives for signs by lot.

        Raises
        ------
        NoBound
            Where that is more than everybody could pay at the largest price.
        """
        b = checks.probability(beta=beta)
        apart = above(math.sqrt(2 * self.bidders * math.log(up(4 * len(self.prices) / b))), 4)
        missed = 2 * self._behind(b / 4) + 2 * self.prices[-1] * Fraction(apart)
        most = up(self.bidders * self.prices[-1])
        return require_useful(up(missed), trivial=most, what="the revenue of so few bidders", way_out=MORE)

    def _read(self, data: object) -> Integers:
        reached = Pricing._read(self, data)  # noqa: SLF001 - its own base
        if reached.size != self.bidders:
            raise InvalidParameter(name="data", rule=f"{self.bidders} bids", got="another number of them")
        return reached

    def _decide(self, read: Integers, rng: Rng) -> tuple[int, int, tuple[int, ...]]:
        groups = rng.perform(Partition(2), read.size)
        lots = np.array(groups)
        return self._choose(read[lots == 1], rng), self._choose(read[lots == 0], rng), groups

    def _publish(self, decision: tuple[int, int, tuple[int, ...]]) -> SplitPrices:
        first, second, groups = decision
        return SplitPrices(float(self.prices[first]), float(self.prices[second]), groups)

    def _settle(
        self, read: Integers, decision: tuple[int, int, tuple[int, ...]], rng: Rng
    ) -> tuple[Sequence[Money], Sequence[bool]]:
        del rng
        first, second, groups = decision
        return self._sell(read, np.where(np.array(groups) == 0, first, second))


def _tiny() -> Iterator[Tiny]:
    bids = (0, 1, 2, 3)
    game = SplitAuction(prices=bids[1:], epsilon=3, bidders=2, neighbours=Bidder())
    yield Tiny(game, list(Bidder().pairs(bids, 2)))


CARD = Card(
    title="Split auction: two prices, each from the others' bids",
    theorem="(epsilon, 0)-differential privacy; no lie gains anything; revenue OPT - error(beta)",
    reference="[DR14] Example 3.5; [BBHM08] for the groups",
    example=lambda: (
        SplitAuction(prices=[0.5, 1, 2, 3, 3.01], epsilon=0.5, bidders=2_000, neighbours=Bidder()),
        [*itertools.islice(itertools.cycle((1.0, 1.0, 1.0, 3.01)), 2_000)],
    ),
    tiny=_tiny,
)
