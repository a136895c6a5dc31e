"""Claims of learners: sums of products."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator

from discreet.core.neighbours import AddRemove, Event, Replace
from discreet.core.rng import Rng
from discreet.learning import (
    EndlessMajority,
    LazyMajority,
    LinearLearner,
    Link,
    NoisyMinimum,
    ReusableHoldout,
    RuleLearner,
    SecondMoments,
    SmallTrees,
    StableSlope,
    TableLearner,
    VertexLearner,
    WeightedMajority,
)
from discreet.queries.universe import Universe

PEOPLE = Universe([("age", range(3)), ("smokes", (0, 1)), ("ill", (0, 1))])


def _off(mechanism: SecondMoments, rows: Any) -> Any:
    truth = (rows.T @ rows) / mechanism.resolution**2

    def off(rng: Rng) -> float:
        return float(np.abs(mechanism.release(rows, rng=rng).value.matrix - truth).max())

    return off


def _holdout() -> dict[str, list[Case]]:
    """Means that are true, nearly true and far off, until as many have failed as were paid for."""
    rows = tuple(place % 10 for place in range(200))
    held_out = ReusableHoldout(
        size=200, threshold=0.1, misses=2, epsilon=4, delta=0, neighbours=Replace("row"), questions=4
    )
    asked = (
        (5, 0.5),
        (3, 0.65),
        (7, 0.05),
        (9, 0.1),
    )  # the share of rows at or above a level, and one that is told

    def off(rng: Rng) -> float:
        talk, worst = held_out.open(rows, rng=rng), 0.0
        for level, mean in asked:
            if not talk.closed:
                answer = talk.ask(level.__le__, mean=mean)
                worst = max(worst, abs(answer.value - (10 - level) / 10))
        return worst

    return {"reusable-holdout": [Case("four means", held_out.error, off)]}


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    found = []
    for neighbours in (AddRemove("row"), Replace("row")):
        for size in (1, 6):
            mechanism = SecondMoments(size=size, length=size, epsilon=1, delta=1e-6, neighbours=neighbours)
            rows = generator(size).integers(-1024, 1025, (50, size))
            label = f"{size} columns, {neighbours}"
            found.append(Case(label, mechanism.error, _off(mechanism, rows), draws=200))
    return {
        "second-moments": found,
        **_minima(),
        **_experts(),
        **_linear(),
        **_rules(),
        **_holdout(),
        **_slopes(),
    }


def _minima() -> dict[str, list[Case]]:
    """Ridge regressions that are known exactly: no residual is beyond the range."""
    found = []
    for size, ridge in ((1, 2), (4, 60)):
        mechanism = NoisyMinimum(
            link=Link.LINEAR,
            size=size,
            length=size,
            ridge=ridge,
            cut=2,
            epsilon=1,
            delta=1e-6,
            neighbours=AddRemove("row"),
        )
        rows = generator(size).integers(-1024, 1025, (80, size))
        targets = np.rint(rows @ np.full(size, 0.2)).astype(np.int64)
        x, y = rows / 1024, targets / 1024
        wanted = np.linalg.solve(x.T @ x + ridge * np.eye(size), x.T @ y)

        def off(
            rng: Rng, mechanism: Any = mechanism, data: Any = (rows, targets), wanted: Any = wanted
        ) -> float:
            return float(np.abs(np.array(mechanism.release(data, rng=rng).value.weights) - wanted).max())

        found.append(Case(f"{size} columns", mechanism.error, off, draws=200))
    return {"noisy-minimum": found}


def _slopes() -> dict[str, list[Case]]:
    """Rows on a line, all of whose pairs have one slope, so that replies come; one beyond the bounds."""
    rows = [(place, 0.3 * place) for place in range(400)]

    def case(upper: float) -> Case:
        slope = StableSlope(
            bound=0.5,
            lower=-1,
            upper=upper,
            grid=0.25,
            epsilon_test=2,
            epsilon_release=1,
            delta=0.01,
            neighbours=Replace("row"),
        )

        def off(rng: Rng) -> float:
            reply = slope.release(rows, rng=rng).value
            return 0.0 if reply is None else abs(reply - min(0.3, upper))

        return Case(f"up to {upper}", slope.error, off)

    return {"stable-slope": [case(1), case(0.2)]}


def _experts() -> dict[str, list[Case]]:
    """Regret on losses that favour one expert a little and change sides."""
    some: dict[str, Any] = {"experts": 5, "epsilon": 20, "delta": 1e-6, "neighbours": Event()}
    kinds = {
        "weighted-majority": WeightedMajority(horizon=150, **some),
        "lazy-majority": LazyMajority(horizon=150, **some),
        "endless-majority": EndlessMajority(first=150, **some),
    }
    places = np.arange(150)[:, None]
    losses = (places // 10 + np.arange(5)) % 2 * 0.9 + (np.arange(5) != 3) * 0.1
    return {name: [Case("changing sides", each.error, _regret(each, losses))] for name, each in kinds.items()}


def _regret(mechanism: Any, losses: Any) -> Any:
    best = losses.mean(axis=0).min()

    def off(rng: Rng) -> float:
        named = mechanism.open(losses, rng=rng).ask(len(losses))
        return float(losses[np.arange(len(losses)), named].mean() - best)

    return off


def _linear() -> dict[str, list[Case]]:
    """Fresh examples of known means: uniform around them."""
    some: dict[str, Any] = {"size": 6, "epsilon": 20, "rows": 200, "neighbours": Event()}
    means = np.array([0.1, 0, -0.1, 0.05, -0.11, 0])
    linear, vertex = LinearLearner(delta=1e-6, **some), VertexLearner(**some | {"epsilon": 1})
    draws = generator(7)

    def examples() -> Any:
        return means + draws.uniform(-0.7, 0.7, (200, 6))

    def mixed(rng: Rng) -> float:
        return float(linear.release(examples(), rng=rng).value @ means - means.min())

    def chosen(rng: Rng) -> float:
        return float(means[vertex.release(examples(), rng=rng).value] - means.min())

    def behind(rng: Rng) -> float:
        sample = examples()
        sums = sample.mean(axis=0)
        return float(sums[vertex.release(sample, rng=rng).value] - sums.min())

    return {
        "linear-learner": [Case("fresh examples", linear.error, mixed)],
        "vertex-learner": [
            Case("fresh examples", vertex.error, chosen),
            Case("excess", vertex.excess, behind),
        ],
    }


def _rules() -> dict[str, list[Case]]:
    """Fresh records of a known law, whose best rule is known; and one that some rule foretells exactly."""
    chances = np.array([[0.1, 0.5], [0.2, 0.7], [0.55, 0.9]])
    sure, draws = (chances > 0.4).astype(float), generator(9)

    def records(law: Any, count: int = 300) -> Any:
        age, smokes = draws.integers(0, 3, count), draws.integers(0, 2, count)
        ill = draws.random(count) < law[age, smokes]
        return list(zip(age.tolist(), smokes.tolist(), ill.astype(int).tolist(), strict=True))

    def err(rule: Any, law: Any) -> float:
        cells = np.indices((3, 2)).reshape(2, -1).T
        ones = rule.predict(np.column_stack([cells, np.zeros(6, dtype=int)]))
        return float(np.where(ones == 1, 1 - law.ravel(), law.ravel()).mean())

    def excess(mechanism: Any, law: Any) -> Any:
        best = float(np.minimum(law, 1 - law).mean())
        return lambda rng: err(mechanism.release(records(law), rng=rng).value, law) - best

    def behind(mechanism: Any) -> Any:
        def off(rng: Rng) -> float:
            rows = records(chances)
            codes = np.array(rows)
            best = np.minimum(
                *(np.bincount(codes[codes[:, 2] == y] @ [2, 1, 0], minlength=6) for y in (0, 1))
            )
            wrong = mechanism.release(rows, rng=rng).value.predict(codes) != codes[:, 2]
            return float(wrong.sum() - best.sum())

        return off

    some: dict[str, Any] = {"rows": 300, "epsilon": 1, "neighbours": AddRemove("row")}
    trees = RuleLearner(rules=SmallTrees(PEOPLE, "ill"), **some)
    table = TableLearner(universe=PEOPLE, label="ill", **some)
    return {
        "rule-learner": [
            Case("agnostic", trees.error, excess(trees, chances)),
            Case("on the sample", trees.excess, behind(trees)),
        ],
        "rule-learner.realizable_error": [Case("realizable", trees.realizable_error, excess(trees, sure))],
        "table-learner": [
            Case("agnostic", table.error, excess(table, chances)),
            Case("on the sample", table.excess, behind(table)),
        ],
    }
