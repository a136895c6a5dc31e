"""Differential privacy whose every guarantee is checked by exact enumeration.

>>> import discreet as dp
>>> dp.Laplace(sensitivity=1, epsilon=0.5).error(0.05)
6.0

Names are loaded when they are first used, so that ``import discreet`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accounting.composition import compose
    from discreet.accounting.filters import ApproxFilter, ConcentratedFilter, Odometer, PureFilter
    from discreet.core import errors
    from discreet.core.guarantee import Guarantee
    from discreet.core.mechanism import Release
    from discreet.core.neighbours import AddRemove, Replace
    from discreet.data import Schema
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
    "ConcentratedFilter": "accounting.filters",
    "Count": "mechanisms.histogram",
    "Curator": "curator.curator",
    "Exponential": "mechanisms.exponential",
    "Gaussian": "mechanisms.gaussian",
    "Geometric": "mechanisms.geometric",
    "Guarantee": "core.guarantee",
    "Histogram": "mechanisms.histogram",
    "Laplace": "mechanisms.laplace",
    "MaxNoise": "mechanisms.noisy_max",
    "Monotone": "mechanisms.scores",
    "NoisyMax": "mechanisms.noisy_max",
    "NumericSparse": "sparse.numeric_sparse",
    "Odometer": "accounting.filters",
    "PermuteAndFlip": "mechanisms.permute_and_flip",
    "ProposeTestRelease": "mechanisms.propose_test_release",
    "PureFilter": "accounting.filters",
    "RandomizedResponse": "mechanisms.randomized_response",
    "Release": "core.mechanism",
    "Replace": "core.neighbours",
    "Schema": "data",
    "Sensitivity": "mechanisms.scores",
    "Sparse": "sparse.sparse",
    "SubsampleAggregate": "mechanisms.subsample_aggregate",
    "Table": "data",
    "TopK": "mechanisms.top_k",
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
    "ConcentratedFilter",
    "Count",
    "Curator",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Guarantee",
    "Histogram",
    "Laplace",
    "MaxNoise",
    "Monotone",
    "NoisyMax",
    "NumericSparse",
    "Odometer",
    "PermuteAndFlip",
    "ProposeTestRelease",
    "PureFilter",
    "RandomizedResponse",
    "Release",
    "Replace",
    "Schema",
    "Sensitivity",
    "Sparse",
    "SubsampleAggregate",
    "Table",
    "TopK",
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
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"discreet.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
