"""Claims of local protocols: the worst of all estimated counts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from tests.statistical.claims.harness import BETA, Case

from discreet import local
from discreet.core.rng import Rng
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe

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
    coarse = kind(epsilon=8, lower=0, upper=10, steps=2, people=500)
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
    survey = local.PrefixSearch(epsilon=2, length=28, people=30_000)
    short = local.PrefixSearch(epsilon=4, length=5, people=4000)
    return [_missed("28 bits", survey), _missed("5 bits", short)]


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


def query_cases() -> list[Case]:
    """The mean of a function of records, whole and rounded."""
    universe = Universe([("a", (0, 1)), ("b", ("x", "y", "z"))])
    records = list(universe.records()) * 50
    found = []
    for label, table in (("a predicate", [0, 1, 1, 0, 0, 1]), ("thirds", [0, 1 / 3, 1, 1, 2 / 3, 0])):
        query = TableQuery(universe, (0, 1), label, table=np.array(table))
        survey = local.StatisticalQuery(epsilon=1, query=query, people=len(records))

        def off(rng: Rng, survey: Any = survey, truth: float = float(np.mean(table))) -> float:
            return abs(float(survey.estimate(survey.encode_many(records, rng=rng)).value) - truth)

        found.append(Case(label, survey.error, off, DRAWS))
    return found


def marginal_cases() -> list[Case]:
    """The worst cell of all marginals of two attributes, and of one."""
    universe = Universe([(f"q{k}", (0, 1)) for k in range(4)])
    survey = local.FourierMarginals(epsilon=2, universe=universe, width=2, people=500)
    tables = [
        ("alike", np.ones((500, 4), dtype=int)),
        ("mixed", (np.arange(2000) // 3 % 2).reshape(500, 4)),
    ]

    def make(bits: Any) -> Any:
        sets = [names for k in (1, 2) for names in itertools.combinations(range(4), k)]

        def off(rng: Rng) -> float:
            found = survey.estimate(survey.encode_many([tuple(row) for row in bits.tolist()], rng=rng))
            return max(_cell_off(found, bits, names) for names in sets)

        return off

    return [Case(label, survey.error, make(bits), DRAWS) for label, bits in tables]


def _cell_off(found: Any, bits: Any, names: tuple[int, ...]) -> float:
    table = np.zeros((2,) * len(names))
    np.add.at(table, tuple(bits[:, list(names)].T), 1 / len(bits))
    return float(np.abs(found.marginal([f"q{k}" for k in names]) - table).max())


def vector_cases() -> list[Case]:
    """The worst of three means, at an end and in the middle."""
    survey = local.ManyMeans(epsilon=2, lower=0, upper=10, dimensions=3, people=600)

    def make(rows: Any) -> Any:
        def off(rng: Rng) -> float:
            found = survey.estimate(survey.encode_many(rows, rng=rng))
            return float(np.abs(found.values - rows.mean(axis=0)).max())

        return off

    rows = [("ends", np.full((600, 3), 10.0)), ("middle", np.tile([[5.0, 0.1, 9.0]], (600, 1)))]
    return [Case(label, survey.error, make(table), DRAWS) for label, table in rows]


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    oracles = {kind.kind: oracle_cases(kind) for kind in ORACLES}
    means = {kind.kind: mean_cases(kind) for kind in MEANS}
    others = {
        "prefix-search": search_cases(),
        "memoised-unary": memo_cases(),
        "statistical-query": query_cases(),
        "fourier-marginals": marginal_cases(),
        "many-means": vector_cases(),
    }
    return oracles | means | others
