"""Tables on real engines, their declared schema, and SQL.

>>> from discreet.data import Category, Integer, Row, Schema
>>> from discreet import AddRemove
>>> people = Schema(
...     "people",
...     columns=(Integer("age", lower=0, upper=120), Category("region", values=("north", "south"))),
...     unit=Row(),
...     neighbours=AddRemove("row"),
... )
>>> people.column("region").domain()
('north', 'south')
"""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__, extras={"sqlglot": "data"})
