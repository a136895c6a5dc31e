"""The median mechanism over a listed family of small databases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import frozen, public
from discreet.core.rounding import above
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.median.candidates import Family, family_size, small_databases
from discreet.query_release.median.conversation import MedianParameters
from discreet.query_release.median.median_thesis import MedianThesis
from discreet.query_release.median.tiny import CROSSING, TINY, ask_each, make_histograms


@frozen
class MedianMechanism(MedianParameters):
    """Answer queries by the median over all small databases that agree with what was published.

    Privacy: (epsilon, delta) for the whole conversation, however many questions: one sparse-vector
    technique with fresh noise for measured answers. [Roth10] Figure 4.1 on the calibration of [DR14] 3.6.
    Accuracy: error(beta) covers all answers until closing. While the noise is at most alpha, with
    alpha + nearest <= width and width + 2 alpha + 1 < threshold, each measured answer halves the family
    and never empties it: at most `halvings` are measured, whatever is asked.
    Time: O(family size x cells) a question.

    Parameters
    ----------
    universe
        What queries are about; tiny here.
    rows
        The number of rows; under `AddRemove` a public guess, on which accuracy depends and privacy does not.
    epsilon, delta
        The budget of one conversation; delta may be 0.
    updates
        How many answers may be measured; then the conversation closes.
    threshold
        How far a guess may be off, in rows, before it counts as wrong.
    size
        The number of rows of a small database.
    width
        How far from a measured answer a database may be and stay, in rows; half the threshold by default.
    grid
        The unit weights are rounded to, such as 0.001, for queries with weights between 0 and 1.
    queries
        How many questions `error` speaks about. More may be asked.
    neighbours
        `Replace`: the number of rows is public. `AddRemove`: it is private.
    """

    size: int = public(checks.integer, 1)

    def _check_room(self) -> None:
        small_databases(self.universe.size, self.size)  # refuses what cannot be listed

    @staticmethod
    def as_printed(**public: Any) -> MedianThesis:
        """Return [Roth10] Figure 4.1 with its own constants, repaired; it needs billions of rows.

        It takes universe, rows, epsilon, the wanted `accuracy` as a part of all rows, and how many `queries`.
        """
        return MedianThesis(efficient=False, **public)

    @property
    def halvings(self) -> int:
        """How often the family can be halved before one database is left."""
        return family_size(self.universe.size, self.size).bit_length() - 1

    @property
    def nearest(self) -> float:
        """How far from the data the best small database may be, in rows, on `queries` questions together.

        Rounding the data to a small database misses any query by a quarter row of it a cell at most; some
        sample of the data misses k queries by sqrt(ln(2 k) / (2 size)) of all rows at most.
        """
        rounded = self.universe.size / (4 * self.size)
        sampled = math.sqrt(math.log(2 * self.queries) / (2 * self.size))
        return above(self.rows * min(rounded, sampled), 8)

    def candidates(self) -> Family:
        """Return all small databases."""
        return Family(small_databases(self.universe.size, self.size), size=self.size, rows=self.rows)


def _tiny() -> Iterator[Tiny]:
    public: dict[str, Any] = {"universe": TINY, "rows": 4, "delta": 0, "updates": 1, "size": 2, "queries": 2}
    hidden = MedianMechanism(epsilon=9, threshold=1, neighbours=AddRemove("row"), **public)
    yield Tiny(hidden, make_histograms(TINY, CROSSING), script=ask_each(TINY, [1, 0], [1, 1]))
    replaced = MedianMechanism(epsilon=9, threshold=1, neighbours=Replace("row"), **public)
    pairs = make_histograms(TINY, [([4, 0], [3, 1]), ([2, 2], [1, 3])])
    yield Tiny(replaced, pairs, script=ask_each(TINY, [1, 0], [0, 1]), tight=False)
    real = MedianMechanism(epsilon=12, threshold=1, grid=0.5, neighbours=AddRemove("row"), **public)
    halves = ask_each(TINY, [1.0, 0.5], [0.5, 1.0])
    yield Tiny(real, make_histograms(TINY, CROSSING[:1]), script=halves, tight=False)


_EXAMPLE = Universe([("age", ("young", "middle", "old")), ("smoker", (False, True))])

CARD = Card(
    title="The median mechanism over all small databases",
    theorem="(epsilon, delta)-differential privacy for any number of adaptive linear queries",
    reference="[Roth10] Theorems 18, 21 and 32, [DR14] Theorem 3.28",
    example=lambda: (
        MedianMechanism(
            universe=_EXAMPLE,
            rows=10_000,
            epsilon=1,
            delta=1e-9,
            updates=12,
            threshold=1500,
            size=8,
            neighbours=Replace("row"),
        ),
        Histogram.dense(_EXAMPLE, [4000, 1000, 2500, 1300, 1100, 100]),
    ),
    tiny=_tiny,
)
