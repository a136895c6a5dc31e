"""Differential privacy whose every guarantee is checked by exact enumeration.

>>> import discreet as dp
>>> dp.Laplace(sensitivity=1, epsilon=0.5).error(0.05)
6.0

Names are loaded when they are first used, so that ``import discreet`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accounting.composition import compose
    from discreet.accounting.filters import ApproxFilter, ConcentratedFilter, PureFilter
    from discreet.accounting.odometer import Odometer
    from discreet.analysts.promises import OneAnalystToMany, OneQueryToMany
    from discreet.core import errors
    from discreet.core.guarantee import Guarantee
    from discreet.core.mechanism import Release
    from discreet.core.neighbours import AddRemove, Replace
    from discreet.data import (
        Boolean,
        Category,
        Date,
        Decimal,
        Dimension,
        Identifier,
        Integer,
        Row,
        Schema,
        Text,
        User,
    )
    from discreet.data.table import Table
    from discreet.mechanisms.exponential import Exponential
    from discreet.mechanisms.gaussian import Gaussian
    from discreet.mechanisms.geometric import Geometric
    from discreet.mechanisms.histogram import Count, Histogram
    from discreet.mechanisms.laplace import Laplace
    from discreet.mechanisms.noisy_max import MaxNoise, NoisyMax
    from discreet.mechanisms.permute_and_flip import PermuteAndFlip
    from discreet.mechanisms.propose_test_release import ProposeTestRelease
    from discreet.mechanisms.randomized_response import RandomizedResponse
    from discreet.mechanisms.scores import Monotone, Sensitivity
    from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
    from discreet.mechanisms.top_k import TopK
    from discreet.release.asked import marginals
    from discreet.release.front_door import release
    from discreet.release.planner import plan
    from discreet.sparse.above_threshold import AboveThreshold
    from discreet.sparse.numeric_sparse import NumericSparse
    from discreet.sparse.sparse import Sparse

__version__ = "0.1.0"

_HOME = {
    "AboveThreshold": "sparse.above_threshold",
    "AddRemove": "core.neighbours",
    "ApproxFilter": "accounting.filters",
    "Boolean": "data",
    "Category": "data",
    "ConcentratedFilter": "accounting.filters",
    "Count": "mechanisms.histogram",
    "Curator": "curator.curator",
    "Date": "data",
    "Decimal": "data",
    "Dimension": "data",
    "Exponential": "mechanisms.exponential",
    "Gaussian": "mechanisms.gaussian",
    "Geometric": "mechanisms.geometric",
    "Guarantee": "core.guarantee",
    "Histogram": "mechanisms.histogram",
    "Identifier": "data",
    "Integer": "data",
    "Laplace": "mechanisms.laplace",
    "MaxNoise": "mechanisms.noisy_max",
    "Monotone": "mechanisms.scores",
    "NoisyMax": "mechanisms.noisy_max",
    "NumericSparse": "sparse.numeric_sparse",
    "Odometer": "accounting.odometer",
    "OneAnalystToMany": "analysts.promises",
    "OneQueryToMany": "analysts.promises",
    "PermuteAndFlip": "mechanisms.permute_and_flip",
    "ProposeTestRelease": "mechanisms.propose_test_release",
    "PureFilter": "accounting.filters",
    "RandomizedResponse": "mechanisms.randomized_response",
    "Release": "core.mechanism",
    "Replace": "core.neighbours",
    "Row": "data",
    "Schema": "data",
    "Sensitivity": "mechanisms.scores",
    "Sparse": "sparse.sparse",
    "SubsampleAggregate": "mechanisms.subsample_aggregate",
    "Table": "data",
    "Text": "data",
    "TopK": "mechanisms.top_k",
    "User": "data",
    "compose": "accounting.composition",
    "marginals": "release.asked",
    "plan": "release.planner",
}

_MODULES = {
    name: name
    for name in ("accounting", "audit", "data", "datasets", "optimisation", "queries", "release", "testing")
} | {"errors": "core.errors"}

__all__ = [
    "AboveThreshold",
    "AddRemove",
    "ApproxFilter",
    "Boolean",
    "Category",
    "ConcentratedFilter",
    "Count",
    "Curator",
    "Date",
    "Decimal",
    "Dimension",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Guarantee",
    "Histogram",
    "Identifier",
    "Integer",
    "Laplace",
    "MaxNoise",
    "Monotone",
    "NoisyMax",
    "NumericSparse",
    "Odometer",
    "OneAnalystToMany",
    "OneQueryToMany",
    "PermuteAndFlip",
    "ProposeTestRelease",
    "PureFilter",
    "RandomizedResponse",
    "Release",
    "Replace",
    "Row",
    "Schema",
    "Sensitivity",
    "Sparse",
    "SubsampleAggregate",
    "Table",
    "Text",
    "TopK",
    "User",
    "compose",
    "errors",
    "marginals",
    "plan",
    "release",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"discreet.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}{_near(name)}")
    value = getattr(importlib.import_module(f"discreet.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def _near(name: str) -> str:
    """Suggest what was probably meant, whatever its case; nothing for a private name."""
    known = {} if name.startswith("_") else {one.lower(): one for one in reversed(__dir__())}
    found = get_close_matches(name.lower(), known, n=3, cutoff=0.65)
    return f". Did you mean {' or '.join(known[one] for one in found)}?" if found else ""


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
