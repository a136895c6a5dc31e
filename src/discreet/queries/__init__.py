"""Universes, histograms, and many linear queries in structured form.

>>> from discreet import AddRemove
>>> from discreet.queries import Histogram, Marginals, Universe
>>> universe = Universe([("smoker", (False, True)), ("region", ("north", "south"))])
>>> people = Histogram.from_groups(universe, [((False, "north"), 3), ((True, "south"), 2)])
>>> pairs = Marginals.of_order(universe, 2)
>>> pairs.sensitivity(AddRemove("row"), norm=1)
Fraction(1, 1)
"""

from __future__ import annotations

from discreet.queries.conjunctions import Conjunctions, Disjunctions
from discreet.queries.dimension import (
    Dimension,
    fat_by_search,
    fat_shattering_dimension,
    vc_by_search,
    vc_dimension,
)
from discreet.queries.halfspaces import Halfspaces
from discreet.queries.histogram import Histogram
from discreet.queries.marginals import Marginals
from discreet.queries.matrix import Matrix
from discreet.queries.parities import Parities
from discreet.queries.predicates import Predicates
from discreet.queries.prefixes import Prefixes
from discreet.queries.query import LinearQuery
from discreet.queries.rectangles import Ranges, Rectangles
from discreet.queries.union import Union
from discreet.queries.universe import Attribute, Universe
from discreet.queries.weighted import Weighted
from discreet.queries.workload import Queries, Workload

__all__ = [
    "Attribute",
    "Conjunctions",
    "Dimension",
    "Disjunctions",
    "Halfspaces",
    "Histogram",
    "LinearQuery",
    "Marginals",
    "Matrix",
    "Parities",
    "Predicates",
    "Prefixes",
    "Queries",
    "Ranges",
    "Rectangles",
    "Union",
    "Universe",
    "Weighted",
    "Workload",
    "fat_by_search",
    "fat_shattering_dimension",
    "vc_by_search",
    "vc_dimension",
]
