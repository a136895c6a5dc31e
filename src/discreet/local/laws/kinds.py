"""Every kind of report, by the name that stands on the wire, and the table that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from discreet.local.laws.direct import DirectKernel
from discreet.local.laws.domains import Domain
from discreet.local.laws.hadamard import HadamardKernel
from discreet.local.laws.hashing import HashingKernel
from discreet.local.laws.kernel import Kernel
from discreet.local.laws.memos import MemoKernel
from discreet.local.laws.numbers import MixedKernel, SignKernel, WindowKernel
from discreet.local.laws.prefixes import PrefixKernel
from discreet.local.laws.projective import ProjectiveKernel
from discreet.local.laws.subsets import SubsetKernel
from discreet.local.laws.unary import UnaryKernel

Maker = Callable[..., Kernel]

FREQUENCIES: Mapping[str, Maker] = MappingProxyType(
    {
        "direct-response": DirectKernel.make,
        "symmetric-unary": UnaryKernel.symmetric,
        "optimised-unary": UnaryKernel.optimised,
        "local-hashing": HashingKernel.make,
        "hadamard-response": HadamardKernel.make,
        "subset-selection": SubsetKernel.make,
        "projective-response": ProjectiveKernel.make,
    }
)
"""Reports that frequencies are estimated from: a table for a number of values and a budget."""

REPEATED: Mapping[str, Maker] = MappingProxyType({"memoised-unary": MemoKernel.make})
"""Reports about one fact that are sent again and again: a table for both budgets."""

MEANS: Mapping[str, Maker] = MappingProxyType(
    {
        "sign-mean": SignKernel.make,
        "piecewise-mean": WindowKernel.make,
        "hybrid-mean": MixedKernel.make,
    }
)
"""Reports that means are estimated from: a table for the places of a grid and a budget."""

SEARCHES: Mapping[str, Maker] = MappingProxyType({"prefix-search": PrefixKernel.make})
"""Reports that values are found from: a table for a power of two of values and a budget."""

_ALL: Mapping[str, Maker] = MappingProxyType({**FREQUENCIES, **REPEATED, **MEANS, **SEARCHES})


def make_kernel(kind: str, domain: Domain, epsilon: Fraction) -> Kernel:
    """Return the table of a kind of report."""
    return _make(kind, domain.size, epsilon, *domain.more)


@lru_cache(maxsize=256)
def _make(kind: str, inputs: int, epsilon: Fraction, *more: Any) -> Kernel:
    return _ALL[kind](inputs, epsilon, *more)
