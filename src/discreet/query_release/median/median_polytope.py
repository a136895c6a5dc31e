"""The median mechanism over the polytope of all histograms that agree with what was published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet.core.card import Card, Tiny
from discreet.core.errors import Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import frozen
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.median.candidates import Polytope, all_histograms
from discreet.query_release.median.conversation import MedianParameters, units_of
from discreet.query_release.median.median_thesis import MedianThesis
from discreet.query_release.median.tiny import CROSSING, TINY, ask_each, make_histograms

MOST_CELLS = 1 << 16
"""The most cells a histogram of a chain may have."""


@frozen
class MedianPolytope(MedianParameters):
    """Answer queries by the median over random histograms that agree with what was published.

    Privacy: (epsilon, delta) for the whole conversation, however many questions. The histograms are
    drawn from published numbers alone, so neither the law of the chains nor how well they mix matters.
    [Roth10] Theorem 22 on the calibration of [DR14] 3.6.
    Accuracy: error(beta) covers all answers until closing, however good the histograms are. How soon
    `updates` are used up depends on them, and has no worst-case bound.
    Time: O(cells) a question. A measured answer moves 64 chains, at most 5,000 steps each.

    Parameters
    ----------
    universe
        What queries are about; up to 65,536 cells.
    rows, epsilon, delta, updates, threshold, width, grid, queries, neighbours
        As in `MedianMechanism`; `width` is about histograms.
    """

    def _check_room(self) -> None:
        if self.universe.size > MOST_CELLS:
            raise Refused(
                what=f"a universe of {self.universe.size} cells",
                why=f"every chain keeps all cells, up to {MOST_CELLS}",
                way_out="Ask about fewer attributes, or use multiplicative weights",
            )

    @staticmethod
    def as_printed(**public: Any) -> MedianThesis:
        """Return [Roth10] section 4.4 with its own constants, repaired; it needs billions of rows.

        It takes universe, rows, epsilon, the wanted `accuracy` as a part of all rows, and how many `queries`.
        """
        return MedianThesis(efficient=True, **public)

    def candidates(self) -> Polytope:
        """Return histograms drawn from all there are."""
        return all_histograms(self.universe.size, self.rows, units_of(self.grid))


def _tiny() -> Iterator[Tiny]:
    public: dict[str, Any] = {
        "universe": TINY,
        "rows": 4,
        "delta": 0,
        "updates": 1,
        "queries": 2,
        "threshold": 1,
    }
    hidden = MedianPolytope(epsilon=9, neighbours=AddRemove("row"), **public)
    yield Tiny(hidden, make_histograms(TINY, CROSSING), script=ask_each(TINY, [1, 0], [1, 1]))
    replaced = MedianPolytope(epsilon=12, neighbours=Replace("row"), **public)
    pairs = make_histograms(TINY, [([4, 0], [3, 1])])
    yield Tiny(replaced, pairs, script=ask_each(TINY, [1, 0], [0, 1]), tight=False)


_EXAMPLE = Universe([("age", range(16)), ("region", range(8)), ("smoker", (False, True))])

CARD = Card(
    title="The median mechanism over all consistent histograms",
    theorem="(epsilon, delta)-differential privacy for any number of adaptive linear queries",
    reference="[Roth10] Theorems 22 and 32, [DR14] Theorem 3.28",
    example=lambda: (
        MedianPolytope(
            universe=_EXAMPLE,
            rows=12_800,
            epsilon=1,
            delta=1e-9,
            updates=20,
            threshold=2000,
            neighbours=Replace("row"),
        ),
        Histogram.dense(_EXAMPLE, [50] * 256),
    ),
    tiny=_tiny,
)
