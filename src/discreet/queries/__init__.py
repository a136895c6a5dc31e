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

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__)
