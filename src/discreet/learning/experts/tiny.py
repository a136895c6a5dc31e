"""Small rounds and their neighbours, for the exact audits of whoever follows experts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable
from typing import Any

from discreet.core.neighbours import Event, Neighbours
from discreet.learning.experts.losses import Losses


def name_all(count: int) -> Callable[[Any], Hashable]:
    """Return a script that names an expert at each of so many rounds."""

    def script(conversation: Any) -> Hashable:
        return tuple(conversation.ask(count).tolist())

    return script


def one_against_all(neighbours: Neighbours, losses: Losses, experts: int) -> list[tuple[Any, Any]]:
    """Return streams of two rounds, of which the first moves one expert as far as it can from all others."""
    low, high = float(losses.lower), float(losses.upper)
    good = (low, *[high] * (experts - 1))
    bad = (high, *[low] * (experts - 1)) if isinstance(neighbours, Event) else None
    left, right = (good, good), (bad, good)
    return [(left, right), (right, left)]


def small_rounds(neighbours: Neighbours, horizon: int) -> list[tuple[Any, Any]]:
    """Return neighbouring streams of two experts' losses, hostile ones among them."""
    domain = ((0, 1), (1, 0), (math.nan, 7), ("x", None))
    pairs = list(neighbours.pairs(domain, horizon))
    return list(itertools.islice(pairs, 0, None, max(1, len(pairs) // 60)))
