"""Common values among 2**48 from a million people, epsilon 2: what is found, listed wrongly, and how fast.

Two crowds. `hard` has forty values just above what is looked for (1.01 %), and twenty below a third of it
(0.29 %). `zipf` has shares in proportion to rank**-1.2 over a thousand values. All others hold values of
their own. A value is missed if more than 1 % hold it, and listed wrongly if fewer than 0.3 % do. Values,
salts and reports are of fresh randomness in every run.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

import numpy as np

from discreet import local

PEOPLE, LENGTH, EPSILON, SHARE, RUNS = 1_000_000, 48, 2, 0.01, 2


def main() -> None:
    hard = np.array([0.05, 0.04, 0.03, 0.015] + [0.0101] * 40 + [0.0029] * 20)
    zipf = np.arange(1, 1001) ** -1.2
    for name, shares in (("hard", hard), ("zipf", zipf / zipf.sum() * 0.9)):
        for _ in range(RUNS):
            print(f"  {name:5} {_search(shares)}", flush=True)


def _search(shares: Any) -> str:
    counts = np.rint(shares * PEOPLE).astype(np.int64)
    words = np.frombuffer(secrets.token_bytes(8 * PEOPLE), dtype=np.uint64) >> np.uint64(64 - LENGTH)
    column = np.concatenate([np.repeat(words[: counts.size], counts), words[counts.sum() :]])
    survey = local.PrefixSearch(epsilon=EPSILON, length=LENGTH, salt=secrets.randbits(32))
    began, worked = time.perf_counter(), time.process_time()
    reports = survey.encode_many(column)
    encoded = time.process_time()
    found = survey.estimate(reports, share=SHARE)
    wall, ended = time.perf_counter() - began, time.process_time()
    held = {int(word): int(count) for word, count in zip(words, counts, strict=False)}
    wanted = {word for word, count in held.items() if count > SHARE * PEOPLE}
    wrong = [value for value in found.values if held.get(value, 0) < 0.003 * PEOPLE]
    hit = f"{len(wanted & set(found.values))} of {len(wanted)} above 1 % found"
    told = f"{len(wrong)} of {len(found)} listed below 0.3 %; {wall:.1f} s wall"
    return f"{hit}, {told}; CPU {encoded - worked:.1f} s to encode, {ended - encoded:.1f} s to find"


if __name__ == "__main__":
    main()
