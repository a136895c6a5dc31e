"""Which protocol errs least, and which of those nearly as good sends the shortest reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.local.frequencies.direct_response import DirectResponse
from discreet.local.frequencies.hadamard_response import HadamardResponse
from discreet.local.frequencies.local_hashing import LocalHashing
from discreet.local.frequencies.optimised_unary import OptimisedUnary
from discreet.local.frequencies.oracle import FrequencyOracle
from discreet.local.frequencies.projective_response import ProjectiveResponse
from discreet.local.frequencies.subset_selection import SubsetSelection
from discreet.local.frequencies.symmetric_unary import SymmetricUnary

ORACLES: tuple[type[FrequencyOracle], ...] = (
    DirectResponse,
    SymmetricUnary,
    OptimisedUnary,
    LocalHashing,
    HadamardResponse,
    SubsetSelection,
    ProjectiveResponse,
)
"""All protocols that a plan compares."""

NEAR = 1.05
"""A mean squared error of so many times the least is as good; then the shorter report wins."""


@dataclass(frozen=True, slots=True)
class OracleOutlook:
    """What one protocol would do.

    Attributes
    ----------
    oracle
        The protocol, ready to be used.
    typical
        The root of the mean squared error of all counts.
    bits
        The length of a report.
    """

    oracle: FrequencyOracle
    typical: float
    bits: int

    @property
    def name(self) -> str:
        """The protocol's class."""
        return type(self.oracle).__name__


@dataclass(frozen=True, slots=True)
class OraclePlan:
    """The protocols that fit, the one with the smallest error first."""

    predictions: tuple[OracleOutlook, ...]

    @property
    def best(self) -> FrequencyOracle:
        """The shortest reports among those whose mean squared error is within 5 % of the least."""
        most = NEAR * self.predictions[0].typical ** 2
        near = [each for each in self.predictions if each.typical**2 <= most]
        return min(near, key=lambda each: (each.bits, each.typical)).oracle

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.predictions)
        chosen = type(self.best).__name__
        lines = [f"{'protocol':{width}}   typical error   bits a report"]
        lines += [
            f"{each.name:{width}}  {each.typical:14.5g}  {each.bits:14}{'  best' * (each.name == chosen)}"
            for each in self.predictions
        ]
        return "\n".join(lines)

    __repr__ = __str__


def plan(domain: Any, people: int, epsilon: checks.Number, *, bits: int | None = None) -> OraclePlan:
    """Predict the error of every protocol for a survey, from public numbers alone.

    Parameters
    ----------
    domain
        How many values there are, or their names.
    people
        How many will report.
    epsilon
        Each person's budget.
    bits
        The most that a report may be long; by default any length.

    Raises
    ------
    InvalidParameter
        When no protocol has reports that are short enough.

    Examples
    --------
    >>> type(plan(1024, 1_000_000, 1).best).__name__
    'ProjectiveResponse'
    >>> type(plan(8, 1_000_000, 4).best).__name__
    'DirectResponse'
    """
    most = None if bits is None else checks.integer(1, bits=bits)
    found = []
    for kind in ORACLES:
        try:
            oracle = kind(epsilon=epsilon, domain=domain, people=people)
        except InvalidParameter as refusal:
            if "small enough" not in refusal.rule:
                raise
            continue  # too many values for this one
        if most is None or oracle.bits <= most:
            found.append(OracleOutlook(oracle, math.sqrt(oracle.mean_square), oracle.bits))
    if not found:
        raise InvalidParameter(
            name="bits",
            rule="enough for some protocol",
            value=bits,
            hint="Allow longer reports, or fewer values",
        )
    return OraclePlan(tuple(sorted(found, key=lambda each: each.typical)))
