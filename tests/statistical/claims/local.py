"""Claims of local protocols: the worst of all estimated counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.statistical.claims.harness import BETA, Case

from discreet import local
from discreet.core.rng import Rng

DRAWS = 100
MEANS = (local.SignMean, local.PiecewiseMean, local.HybridMean)
ORACLES = (
    local.DirectResponse,
    local.SymmetricUnary,
    local.OptimisedUnary,
    local.LocalHashing,
    local.HadamardResponse,
    local.SubsetSelection,
    local.ProjectiveResponse,
)


def oracle_cases(kind: Any) -> list[Case]:
    """Everybody alike, and all values alike."""
    oracle = kind(epsilon=1, domain=6, people=300)
    pair = kind(epsilon=2, domain=2, people=40)
    return [
        _worst("all alike", oracle, np.zeros(300, dtype=np.int64)),
        _worst("evenly spread", oracle, np.arange(300) % 6),
        _worst("two values", pair, np.arange(40) % 2),
    ]


def _worst(label: str, oracle: Any, values: Any) -> Case:
    truth = np.bincount(values, minlength=oracle.values.size)

    def off(rng: Rng) -> float:
        counts = oracle.estimate(oracle.encode_many(values, rng=rng)).counts
        return float(np.abs(counts - truth).max())

    return Case(f"{oracle.kind}, {label}", oracle.error, off, DRAWS)


def memo_cases() -> list[Case]:
    """The tenth report of people who keep a memo."""
    oracle = local.MemoisedUnary(epsilon=3, once=1, domain=6, people=300)
    pair = local.MemoisedUnary(epsilon=2, once=1, domain=2, people=40)
    return [
        _later("all alike", oracle, np.zeros(300, dtype=np.int64)),
        _later("evenly spread", oracle, np.arange(300) % 6),
        _later("two values", pair, np.arange(40) % 2),
    ]


def _later(label: str, oracle: Any, values: Any) -> Case:
    truth = np.bincount(values, minlength=oracle.values.size)

    def off(rng: Rng) -> float:
        memos = oracle.memoise_many(values, rng=rng)
        reports = [memos.encode_many(rng=rng) for _ in range(10)]
        return float(np.abs(oracle.estimate(reports[-1]).counts - truth).max())

    return Case(f"{oracle.kind}, {label}", oracle.error, off, DRAWS)


def mean_cases(kind: Any) -> list[Case]:
    """All at one end, all in the middle, and a grid that is too coarse."""
    fine = kind(epsilon=1, lower=0, upper=10, people=200)
    coarse = kind(epsilon=8, lower=0, upper=10, steps=2, people=2000)
    return [
        _mean("at the end", fine, np.full(200, 10.0)),
        _mean("in the middle", fine, np.full(200, 5.0)),
        _mean("a coarse grid", coarse, np.full(2000, 2.49)),
    ]


def _mean(label: str, survey: Any, values: Any) -> Case:
    def off(rng: Rng) -> float:
        return abs(survey.estimate(survey.encode_many(values, rng=rng)).value - float(values.mean()))

    return Case(f"{survey.kind}, {label}", survey.error, off, DRAWS)


def search_cases() -> list[Case]:
    """As many as the claim says hold one value, and all others the same other one, or none twice."""
    survey = local.PrefixSearch(epsilon=6, length=16, people=4000)
    short = local.PrefixSearch(epsilon=4, length=5, people=4000)
    return [_missed("16 bits", survey), _missed("5 bits", short)]


def _missed(label: str, survey: Any) -> Case:
    """The error is how many people hold the most common value that is not found."""
    enough = int(survey.error(BETA)) + 1
    last = (1 << survey.length) - 1
    values = np.append(np.full(enough, last), np.arange(survey.people - enough) % last)

    def off(rng: Rng) -> float:
        reports = survey.encode_many(values, rng=rng)
        found = survey.estimate(reports, share=enough / survey.people, beta=BETA).values
        return 0.0 if last in found else float(enough)

    return Case(f"{survey.kind}, {label}", survey.error, off, DRAWS)


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    oracles = {kind.kind: oracle_cases(kind) for kind in ORACLES}
    means = {kind.kind: mean_cases(kind) for kind in MEANS}
    return oracles | means | {"prefix-search": search_cases(), "memoised-unary": memo_cases()}
