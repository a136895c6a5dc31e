"""Claims of mechanisms that add noise, choose or compare."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator

import discreet as dp
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.mechanisms.count import Count
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.noisy_histogram import NoisyHistogram
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.top_k import TopK

PERSON = AddRemove("person")
MANY = 400  # draws of what takes no time


def _number(label: str, mechanism: Any, data: Any, truth: Any = None) -> Case:
    true = np.asarray(data if truth is None else truth, dtype=np.float64)

    def off(rng: Rng) -> float:
        return float(
            np.abs(np.asarray(mechanism.release(data, rng=rng).value, dtype=np.float64) - true).max()
        )

    return Case(label, mechanism.error, off, MANY)


# Halves of a unit are rounded furthest; huge numbers have few digits left.
HALVES = [0.05, -0.15, 1e6 + 0.25, 0.0, 7.049999]
HUGE = [1 << 52, -(1 << 52), 0, 1, -1]


def _noise() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for name, kind, given in (
        ("laplace", dp.Laplace, {"sensitivity": 3, "epsilon": 0.7}),
        ("gaussian", Gaussian, {"l2_sensitivity": 3, "epsilon": 0.7, "delta": 1e-6}),
    ):
        found[name] = [
            _number("one", kind(**given), 1234),
            _number("huge", kind(size=5, **given), HUGE),
            _number("halves of a unit", kind(size=5, grid=0.1, **given), HALVES),
        ]
        narrow = {**given, "epsilon": 60}  # nearly all of the error is rounding
        found[name].append(_number("hardly any noise", kind(size=5, grid=0.1, **narrow), HALVES))
    found["geometric"] = [
        _number("one", Geometric(sensitivity=2, epsilon=0.5), -7),
        _number("huge", Geometric(sensitivity=2, epsilon=0.5, size=5), HUGE),
    ]
    found["count"] = [_number("none", Count(epsilon=0.5, neighbours=PERSON), 0)]
    counts = np.array([0, 0, 1 << 50, 3, 9] * 40)
    changed = Replace("person")
    found["noisy-histogram"] = [
        _number("empty cells", NoisyHistogram(epsilon=1, size=200, neighbours=PERSON), counts),
        _number("a changed row", NoisyHistogram(epsilon=1, size=200, neighbours=changed), counts),
    ]
    return found


# Choices -------------------------------------------------------------------------------------------


def _short(mechanism: Any, scores: Any) -> Any:
    """How far the choice is behind the best score; of several, the j-th behind the j-th best."""
    true = np.asarray(scores, dtype=np.float64)
    best = np.sort(true)[::-1]

    def off(rng: Rng) -> float:
        chosen = np.atleast_1d(np.asarray(mechanism.release(scores, rng=rng).value))
        return float((best[: len(chosen)] - true[chosen]).max())

    return off


def _choices() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    noises = [
        ("noisy-max", f"{noise.name} ", lambda noise=noise, **given: dp.NoisyMax(noise=noise, **given))
        for noise in dp.MaxNoise
    ]
    weights = [Fraction(1, 100), *[Fraction(5)] * 29]
    makes: list[tuple[str, str, Any]] = [
        ("exponential", "", dp.Exponential),
        ("exponential", "uneven base, ", lambda **given: dp.Exponential(base=weights, **given)),
        ("permute-and-flip", "", dp.PermuteAndFlip),
        ("top-k", "", lambda **given: TopK(k=3, **given)),
        *noises,
    ]
    for name, label, make in makes:
        for signed in (dp.Monotone(1), 1):
            kind = f"{label}{'monotone' if signed != 1 else 'signed'}"
            mechanism = make(sensitivity=signed, epsilon=1, size=30)
            # The worst scores put all others just beyond the bound.
            beyond = np.full(30, -int(mechanism.error(Fraction(1, 10))) - 1)
            beyond[0] = 0
            for data, scores in (("all just beyond", beyond), ("a slope", np.arange(30) * 2 - 40)):
                case = Case(f"{kind}, {data}", mechanism.error, _short(mechanism, scores), MANY)
                found.setdefault(name, []).append(case)
        gridded = make(sensitivity=0.5, epsilon=1, size=30, grid=0.25)
        halves = generator(1).integers(0, 40, 30) * 0.25 + 0.125
        found[name].append(
            Case(f"{label}halves of a unit", gridded.error, _short(gridded, halves.tolist()), MANY)
        )
    return found


# Functions of the rows -----------------------------------------------------------------------------


def _median(rows: Any, upper: float) -> float:
    return float(np.sort(np.clip(rows, 0, upper))[(len(rows) - 1) // 2])


def _propose(upper: Any, rows: list[float], epsilon: float) -> Case:
    mechanism = ProposeTestRelease.median(
        bound=2,
        lower=0,
        upper=upper,
        grid=1,
        epsilon_test=5,
        epsilon_release=epsilon,
        delta=1e-3,
        neighbours=Replace("person"),
    )
    truth = _median(rows, float(upper))

    def off(rng: Rng) -> float:
        value = mechanism.release(rows, rng=rng).value
        return 0.0 if value is None else abs(value - truth)

    return Case(f"clamped at {upper}, epsilon {epsilon}", mechanism.error, off, 200)


def _blocks(upper: Any, rows: list[float], epsilon: float) -> Case:
    mechanism = SubsampleAggregate(
        function=max, blocks=5, lower=0, upper=upper, otherwise=0, epsilon=epsilon, grid=1, neighbours=PERSON
    )
    truth = min(max(rows), float(upper))  # every block holds the same number

    def off(rng: Rng) -> float:
        return abs(float(mechanism.release(rows, rng=rng).value) - truth)

    return Case(f"clamped at {upper}, epsilon {epsilon}", mechanism.error, off, 200)


def _reports() -> dict[str, list[Case]]:
    answers = np.repeat(np.arange(5), 40)
    mechanism = RandomizedResponse(epsilon=2, categories=5, people=200)
    single = RandomizedResponse(epsilon=5, categories=5)
    shares = np.bincount(answers, minlength=5) / 200

    def far(rng: Rng) -> float:
        return float(abs(single.release(0, rng=rng).value))

    def frequency(rng: Rng) -> float:
        estimate = mechanism.estimate(mechanism.release(answers, rng=rng).value)
        return float(np.abs(np.asarray(estimate) - shares).max())

    return {
        "randomized-response": [Case("at the end of the range", single.error, far, MANY)],
        "randomized-response.frequency_error": [
            Case("five even categories", mechanism.frequency_error, frequency, MANY)
        ],
    }


def cases() -> dict[str, list[Case]]:
    """All cases, by card; claims beside `error` have the name of their method behind a dot."""
    even = [50.0] * 400
    # Bounds that are no multiples of the grid are clamped inwards: without noise that is what is left.
    odd = Fraction("10.9")
    clamped = [(100, even, 1), (odd, even, 1), (odd, even, 1000)]
    return {
        **_noise(),
        **_choices(),
        **_reports(),
        "propose-test-release": [_propose(*given) for given in clamped],
        "subsample-aggregate": [_blocks(*given) for given in clamped],
    }
