"""What following experts in private regrets, and how many rounds a second there are.

A thousand experts, a hundred thousand rounds, (1, 1e-6). Three streams of losses: coins, one of which is
lighter; drifting, where the best expert changes and one is good on the whole; and alternating, which hurts
whoever follows the last winner. The book's bound is Theorem 11.3 with its logarithm outside the root.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core.errors import NoBound
from discreet.learning import (
    ApproximateLeader,
    EndlessMajority,
    Event,
    Experts,
    LazyMajority,
    WeightedMajority,
)

EXPERTS, ROUNDS = 1000, 100_000
BUDGET: dict[str, Any] = {"experts": EXPERTS, "epsilon": 1, "neighbours": Event()}
BLOCK = 2000


def draw_coins(generator: Any, first: int, count: int) -> Any:
    chances = np.where(np.arange(EXPERTS) == 7, 0.3, 0.5)
    return (generator.random((count, EXPERTS), dtype=np.float32) < chances).astype(np.float32)


def draw_drifting(generator: Any, first: int, count: int) -> Any:
    places = np.arange(first, first + count)[:, None] / 5000
    waves = 0.5 + 0.3 * np.sin(places + np.arange(EXPERTS))
    return np.clip(waves + generator.normal(0, 0.1, (count, EXPERTS)) - 0.1 * (np.arange(EXPERTS) == 7), 0, 1)


def draw_alternating(generator: Any, first: int, count: int) -> Any:
    turn = (np.arange(first, first + count)[:, None] + np.arange(EXPERTS)) % 2
    return np.where(np.arange(EXPERTS) == 7, 0.4, turn).astype(np.float32)


STREAMS: dict[str, Callable[[Any, int, int], Any]] = {
    "coins": draw_coins,
    "drifting": draw_drifting,
    "alternating": draw_alternating,
}


def follow(mechanism: Experts, draw: Callable[[Any, int, int], Any], rounds: int) -> tuple[float, float]:
    """Return the mean regret and the CPU seconds that following took, without those that losses took."""
    conversation, generator = mechanism.open(), np.random.default_rng(0)  # noqa: TID251
    lost, sums, took = 0.0, np.zeros(EXPERTS), 0.0
    for first in range(0, rounds, BLOCK):
        losses = draw(generator, first, min(BLOCK, rounds - first))
        start = time.process_time()
        named = conversation.play(losses)
        took += time.process_time() - start
        lost += float(losses[np.arange(len(losses)), named].sum())
        sums += losses.sum(axis=0)
    return (lost - float(sums.min())) / rounds, took


def follow_one_by_one(mechanism: Experts, rounds: int) -> float:
    """Return the CPU seconds of act and observe."""
    generator = np.random.default_rng(0)  # noqa: TID251
    conversation, losses = mechanism.open(), draw_coins(generator, 0, rounds)
    start = time.process_time()
    for each in losses:
        conversation.act()
        conversation.observe(each)
    return time.process_time() - start


def main() -> None:
    printed = WeightedMajority.as_printed(horizon=ROUNDS, delta=1e-6, **BUDGET)
    book = printed.regret
    print(f"the book's bound {book:.3f}, half of it {book / 2:.3f}; k = {EXPERTS}, T = {ROUNDS}, (1, 1e-6)")
    ways: list[Experts] = [
        printed,
        WeightedMajority(horizon=ROUNDS, delta=1e-6, **BUDGET),
        LazyMajority(horizon=ROUNDS, delta=1e-6, **BUDGET),
        LazyMajority(horizon=ROUNDS, delta=0, **BUDGET),
        EndlessMajority(first=ROUNDS, delta=1e-6, **BUDGET),
    ]
    for way in ways:
        for name, draw in STREAMS.items():
            regret, took = follow(way, draw, ROUNDS)
            met = "met" if regret <= book / 2 and took <= 5 else "MISSED"
            shown = f"delta {float(way.delta):g}  {name:12} regret {regret:.4f} ({regret / book:.3f} of it)"
            print(f"{type(way).__name__:17} {shown}  {took:.2f} CPU s  {met}")
    leader, rounds = ApproximateLeader(horizon=ROUNDS, delta=1e-6, **BUDGET), 5000
    took = follow(leader, draw_coins, rounds)[1] * ROUNDS / rounds
    print(f"ApproximateLeader: bound {leader.regret:.4f}; {took:.0f} CPU s for all rounds, from {rounds}")
    alone = follow_one_by_one(ways[1], 10_000) * ROUNDS / 10_000
    print(f"WeightedMajority by act and observe: {alone:.2f} CPU s for all rounds, from 10,000")
    try:
        print(f"weighted majority at delta 0: {WeightedMajority(horizon=ROUNDS, delta=0, **BUDGET).regret}")
    except NoBound:
        print("weighted majority at delta 0 promises nothing; LazyMajority does")


if __name__ == "__main__":
    main()
