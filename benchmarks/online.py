"""Questions without end on one budget: 100,000 adaptive questions about the census table, in one run.

Random boxes over up to three attributes, mixed with predicates by an adversary who sees every answer and the
public hypothesis; then one who sees the data as well. Beside them, with the same budget: independent noise,
multiplicative weights without a warm start, and the median mechanism on a small universe.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import adult
from discreet.accounting.calibrate import gaussian_sigma
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.fitting.weights import Hypothesis
from discreet.query_release.online.history import MeasuredBand
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights

EPSILON, DELTA, SEEDS = 1, 1e-9, 3
QUESTIONS, BATCH, BURST = 100_000, 9_950, 50
UPDATES, ALPHA, PLANNED = 20, 0.02, 2_000
MEAN_BAR, MAX_BAR, ADVERSARY_BAR, MEASURED_BAR, RATIO_BAR = 0.0008, 0.008, 0.02, 200, 15
ASK_BAR, MANY_BAR, PASSES_BAR = 2_000, 50_000, 3

Floats = NDArray[Any]


def verdict(value: float, bar: float, *, least: bool = False) -> str:
    met = value >= bar if least else value <= bar
    return f"bar {bar:g} {'met' if met else 'MISSED'}"


def random_boxes(universe: Universe, count: int, generator: Any) -> Rectangles:
    """Make conjunctions and ranges: up to three attributes, each a single value or an interval."""
    boxes = []
    for _ in range(count):
        box = {}
        for axis in generator.choice(len(universe.shape), generator.integers(1, 4), replace=False):
            low, high = sorted(generator.integers(0, universe.shape[axis], 2).tolist())
            if generator.random() < 0.5:
                high = low
            box[universe.names[axis]] = (low, high)
        boxes.append(box)
    return Rectangles(universe, boxes)


def guesses(conversation: Any, surprises: list[tuple[Floats, float]], generator: Any) -> Iterator[Floats]:
    """Predicates of an adversary who knows the hypothesis and all answers: three kinds, in turn."""
    weights = conversation.synopsis.weights
    while True:
        yield generator.random(weights.shape) < 0.5
        cut = np.quantile(weights, generator.random(2))
        yield (weights >= cut.min()) & (weights <= cut.max()) & (generator.random(weights.shape) < 0.7)
        leaning = sum((np.where(mask, size, -size) for mask, size in surprises), np.zeros(weights.shape))
        yield (leaning > 0) ^ (generator.random(weights.shape) < 0.3)


def answer_only(conversation: Any, counts: Floats, surprises: list[Any], generator: Any) -> list[float]:
    """Ask one burst; return how far the answers were off. The adversary does not see that."""
    off: list[float] = []
    for mask in guesses(conversation, surprises, generator):
        if len(off) == BURST or conversation.closed:
            return off
        query = TableQuery(conversation.mechanism.universe, tuple(range(mask.ndim)), "guess", table=mask)
        before = conversation.last(query).value
        answer = conversation.ask(query)
        if answer.kind == "measured":
            surprises.append((mask, answer.value - before))
        off.append(abs(answer.value - float(counts[mask].sum())))
    return off


def all_knowing(conversation: Any, counts: Floats, generator: Any) -> list[float]:
    """Ask for what is missed most, or for just more than the threshold of it, until nothing is left."""
    off: list[float] = []
    while not conversation.closed and len(off) < 2000:
        gap = counts - conversation.synopsis.weights
        mask = (gap > 0) & (generator.random(gap.shape) < 0.999)
        if len(off) % 2:
            order = np.argsort(-gap, axis=None)
            wanted = conversation.mechanism.plan.bar * (1 + generator.random())
            mask = np.zeros(gap.size, dtype=np.bool_)
            mask[order[: 1 + int(np.searchsorted(np.cumsum(gap.reshape(-1)[order]), wanted))]] = True
            mask = mask.reshape(gap.shape)
        query = TableQuery(conversation.mechanism.universe, tuple(range(gap.ndim)), "worst", table=mask)
        off.append(abs(conversation.ask(query).value - float(counts[mask].sum())))
    return off


def conversation_rows(data: adult.Census, seed: int) -> float:
    """Print the rows of one whole conversation and return its largest error on random boxes."""
    universe, rows = data.universe, data.rows
    counts, generator = data.histogram.counts(), np.random.default_rng(seed)  # noqa: TID251
    mechanism = MultiplicativeWeights.warm(
        universe=universe,
        order=3,
        alpha=ALPHA * rows,
        epsilon=EPSILON,
        delta=DELTA,
        updates=UPDATES,
        queries=PLANNED,
        neighbours=AddRemove("person"),
    )
    plan = mechanism.plan
    print(
        f"warm start {float(mechanism.start.epsilon):.2f} of epsilon; threshold {plan.bar}, "  # type: ignore[union-attr]
        f"test noise {float(plan.tests.scale):.0f}, {plan.form.value}; error {mechanism.error(0.05):.0f}"
    )
    conversation: Any = mechanism.open(data.histogram)
    off, hostile, spent, surprises = [], [], 0.0, []  # type: ignore[var-annotated]
    for _ in range(QUESTIONS // (BATCH + BURST)):
        boxes = random_boxes(universe, BATCH, generator)
        begun = time.process_time()
        answers = conversation.ask_many(boxes)
        spent += time.process_time() - begun
        off.append(np.abs(answers.values - boxes.answers(counts)))
        hostile += answer_only(conversation, counts, surprises, generator)
    errors = np.concatenate(off) / rows
    measured = conversation.measured
    print(f"random boxes: mean error {errors.mean():.5f} of n, {verdict(errors.mean(), MEAN_BAR)}")
    print(f"              maximum {errors.max():.5f} of n, {verdict(errors.max(), MAX_BAR)}")
    print(f"adversary with answers only: {len(hostile)} questions, {verdict_of(hostile, rows)}")
    knowing = all_knowing(conversation, counts, generator)
    print(f"adversary with the data: {len(knowing)} questions until it closed, {verdict_of(knowing, rows)}")
    print(
        f"measured {measured} of {conversation.asked - len(knowing)}, then {conversation.measured}; "
        f"{conversation.tested} were tested: {verdict(conversation.measured, MEASURED_BAR)}"
    )
    print(f"batches of {BATCH} with all their updates: {len(errors) / spent:,.0f} answers a second")
    return float(errors.max())


def verdict_of(off: list[float], rows: int) -> str:
    worst = max(off, default=0.0) / rows
    return f"maximum {worst:.5f} of n, {verdict(worst, ADVERSARY_BAR)}"


def speed(data: adult.Census) -> None:
    """Print free answers a second."""
    generator = np.random.default_rng(1)  # noqa: TID251
    conversation: Any = MultiplicativeWeights.warm(
        universe=data.universe,
        order=3,
        alpha=ALPHA * data.rows,
        epsilon=EPSILON,
        delta=DELTA,
        updates=UPDATES,
        queries=PLANNED,
        neighbours=AddRemove("person"),
    ).open(data.histogram)
    single = list(random_boxes(data.universe, 3_000, generator))
    for query in single[:1000]:  # tables are made on first use
        conversation.ask(query)
    begun = time.process_time()
    for query in single[1000:]:
        conversation.ask(query)
    rate = 2000 / (time.process_time() - begun)
    print(f"ask: {rate:,.0f} answers a second, {verdict(rate, ASK_BAR, least=True)}")
    many = random_boxes(data.universe, QUESTIONS, generator)
    measured, begun = conversation.measured, time.process_time()
    conversation.ask_many(many)
    rate = len(many) / (time.process_time() - begun)
    print(
        f"ask_many: {rate:,.0f} answers a second, {verdict(rate, MANY_BAR, least=True)} "
        f"({conversation.measured - measured} updates on the way)"
    )


def others(data: adult.Census, ours: float) -> None:
    """Print independent noise and a cold start with the same budget."""
    generator = np.random.default_rng(2)  # noqa: TID251
    sigma = float(gaussian_sigma(epsilon=EPSILON, delta=DELTA)) * QUESTIONS**0.5
    worst = float(np.abs(generator.normal(0, sigma, QUESTIONS)).max()) / data.rows
    print(
        f"independent Gaussian noise: maximum {worst:.4f} of n, {worst / ours:.1f} times ours, "
        f"{verdict(worst / ours, RATIO_BAR, least=True)}"
    )
    cold: Any = MultiplicativeWeights(
        universe=data.universe,
        epsilon=EPSILON,
        delta=DELTA,
        updates=MEASURED_BAR,
        queries=PLANNED,
        neighbours=AddRemove("person"),
    ).open(data.histogram)
    boxes = random_boxes(data.universe, BATCH, generator)
    answers = cold.ask_many(boxes)
    given = answers.kinds != "stale"
    off = np.abs(answers.values - boxes.answers(data.histogram.counts())) / data.rows
    print(
        f"cold start, {MEASURED_BAR} updates: {given.sum()} of {BATCH} answered before it closed, "
        f"mean {off[given].mean():.5f}, maximum {off[given].max():.5f} of n"
    )


def passes(bits: int = 22) -> None:
    """Print how many passes over the weights one update takes."""
    universe = Universe((f"b{place}", (0, 1)) for place in range(bits))
    hypothesis = Hypothesis(universe, 1e6)
    mask = np.zeros((2, 2, 2))
    mask[1, 1, 1] = 1.0

    def cpu(work: Any) -> float:
        times = []
        for _ in range(7):
            begun = time.process_time()
            work()
            times.append(time.process_time() - begun)
        return float(np.median(times))

    targets = iter(range(1, 100))

    def update() -> None:
        step = next(targets)
        wanted = 1e5 * (1 + step // 2 % 2)
        axes = (3, 9, 20) if step % 2 else (4, 10, 19)  # other ones each time: no table is kept from before
        MeasuredBand(axes, mask, wanted - 1, wanted + 1).teach(hypothesis)

    array = hypothesis.array
    taken = cpu(update)
    for name, one in (("reading", cpu(array.sum)), ("scaling", cpu(lambda: np.multiply(array, 1.0, array)))):
        ratio = taken / one
        print(f"2^{bits} cells: an update takes {ratio:.2f} passes ({name}), {verdict(ratio, PASSES_BAR)}")


def median(data: adult.Census) -> None:
    """Print the median mechanism beside ours on a universe where it runs: 24 cells, random predicates."""
    if importlib.util.find_spec("discreet.query_release.median.median_polytope") is None:
        print("median mechanism: not in this version")
        return
    module = importlib.import_module("discreet.query_release.median.median_polytope")
    small = data.histogram.marginal(data.universe.names[3:])
    counts, people = small.counts(), Replace("person")
    public: dict[str, Any] = {"universe": small.universe, "epsilon": EPSILON, "delta": DELTA, "updates": 40}
    public |= {"rows": data.rows, "neighbours": people, "threshold": 600}
    for name, mechanism in (
        ("median mechanism", module.MedianPolytope(queries=200, **public)),
        ("multiplicative weights", MultiplicativeWeights(queries=200, **public)),
    ):
        generator = np.random.default_rng(4)  # noqa: TID251
        off: list[float] = []
        conversation, begun = mechanism.open(small), time.process_time()
        while not conversation.closed and len(off) < 200:
            mask = generator.random(counts.shape) < 0.5
            query = TableQuery(small.universe, tuple(range(mask.ndim)), "random", table=mask)
            off.append(abs(conversation.ask(query).value - float(counts[mask].sum())) / data.rows)
        spent = time.process_time() - begun
        print(
            f"{counts.size} cells, {name}: {len(off)} answers, mean {np.mean(off):.5f}, "
            f"maximum {max(off):.5f} of n, {spent:.1f} CPU s"
        )


def main() -> None:
    """Print everything for the census table, if it is here."""
    data = adult.census(adult.SMALL6)
    if data is None:
        return
    ours = max(conversation_rows(data, seed) for seed in range(SEEDS))
    others(data, ours)
    median(data)
    speed(data)
    passes()


if __name__ == "__main__":
    main()
