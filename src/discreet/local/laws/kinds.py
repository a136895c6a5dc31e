"""Every kind of report, by the name that stands on the wire, and the table that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from discreet.local.laws.answers import AnswerKernel
from discreet.local.laws.coordinates import CoordinatesKernel
from discreet.local.laws.domains import Domain
from discreet.local.laws.kernel import Kernel
from discreet.local.laws.memos import MemoKernel
from discreet.local.laws.numbers import MixedKernel, SignKernel, WindowKernel
from discreet.local.laws.parities import ParityKernel
from discreet.local.laws.prefixes import PrefixKernel
from discreet.local.laws.responses.direct import DirectKernel
from discreet.local.laws.responses.hadamard import HadamardKernel
from discreet.local.laws.responses.hashing import HashingKernel
from discreet.local.laws.responses.projective import ProjectiveKernel
from discreet.local.laws.responses.subsets import SubsetKernel
from discreet.local.laws.responses.unary import UnaryKernel

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

VECTORS: Mapping[str, Maker] = MappingProxyType({"many-means": CoordinatesKernel.make})
"""Reports that many means are estimated from: a table for the grid, the coordinates and a budget."""

DISTRIBUTIONS: Mapping[str, Maker] = MappingProxyType({"square-wave": WindowKernel.wave})
"""Reports that a whole distribution is found from: a table for the places of a grid and a budget."""

SEARCHES: Mapping[str, Maker] = MappingProxyType({"prefix-search": PrefixKernel.make})
"""Reports that values are found from: a table for a power of two of values and a budget."""

QUESTIONS: Mapping[str, Maker] = MappingProxyType({"statistical-query": AnswerKernel.make})
"""Reports about a function of one's own record: a table for its weights and a budget."""

PARITIES: Mapping[str, Maker] = MappingProxyType({"fourier-marginals": ParityKernel.make})
"""Reports about the parities of a record's bits: a table for their number, the width and a budget."""

_ALL: Mapping[str, Maker] = MappingProxyType(
    {**FREQUENCIES, **REPEATED, **MEANS, **VECTORS, **DISTRIBUTIONS, **SEARCHES, **QUESTIONS, **PARITIES}
)


def make_kernel(kind: str, domain: Domain, epsilon: Fraction) -> Kernel:
    """Return the table of a kind of report."""
    return _make(kind, domain.size, epsilon, *domain.more)


@lru_cache(maxsize=256)
def _make(kind: str, inputs: int, epsilon: Fraction, *more: Any) -> Kernel:
    return _ALL[kind](inputs, epsilon, *more)
