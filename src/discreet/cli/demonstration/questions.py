"""What the demo's analysts ask. The owner makes the same lists, to see how far off the answers are."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

MINISTRY = (
    "SELECT region, COUNT(*) AS people FROM people GROUP BY region",
    "SELECT education, COUNT(*) AS people FROM people GROUP BY education",
    "SELECT gender, pay, COUNT(*) AS people FROM people WHERE age BETWEEN 30 AND 39 GROUP BY gender, pay",
)
UNION = (
    "SELECT gender, AVG(cents) AS mean_cents FROM people GROUP BY gender",
    "SELECT gender, COUNT(*) AS people FROM people WHERE pay = 'below $10' AND age < 30 GROUP BY gender",
)
ONCE = "what-women-and-men-earn"
"""What the union calls its priced question, so that it can be asked again without paying again."""

YOUNG = (25, 35, 45)

Clause = dict[str, list[Any]]


def ask_young(age: int) -> str:
    """Return one of the union's last questions."""
    return f"SELECT COUNT(*) AS n FROM people WHERE age < {age} OR gender = 'female' AND pay = 'above $30'"  # noqa: S608


def sweep(values: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Clause]]:
    """Yield the ministry's questions in SQL, and what rows each counts: an age range, a region, a pay."""
    ages = values["age"]
    for low, high in itertools.combinations(range(0, len(ages), 2), 2):
        for region, pay in itertools.product(values["region"], values["pay"]):
            text = (  # nothing of it comes from outside, and no engine sees it
                f"SELECT COUNT(*) AS n FROM people WHERE age BETWEEN {ages[low]} AND {ages[high]} "  # noqa: S608
                f"AND region = '{region}' AND pay = '{pay}'"
            )
            yield text, {"age": list(ages[low : high + 1]), "region": [region], "pay": [pay]}


def make_clauses(seed: str, values: Mapping[str, Sequence[Any]], count: int) -> list[Clause]:
    """Return the university's questions: boxes over up to three attributes, as a seed says."""
    drawn = np.frombuffer(hashlib.shake_256(seed.encode()).digest(16 * count), dtype=np.uint32)
    clauses = []
    for words in drawn.reshape(count, 4).tolist():
        chosen = [name for place, name in enumerate(values) if words[0] >> (8 * (place % 4)) & 255 < 140][:3]
        clause = {}
        for place, name in enumerate(chosen or ["age"]):
            known, word = values[name], words[1 + place]
            low, high = sorted(((word & 0xFFFF) % len(known), (word >> 16) % len(known)))
            clause[name] = list(known[low : high + 1])
        clauses.append(clause)
    return clauses
