"""The one random step of every local protocol: private values in, reports out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InternalError
from discreet.core.rng import Primitive, Rng
from discreet.local.laws.kernel import Kernel
from discreet.noise import oracle

Places = NDArray[np.int64]
"""Private values of many people, as places in the domain."""
Payload = NDArray[np.uint8]
"""Reports of many people as they travel: a row each, the lowest byte first."""


CHUNK = 1 << 19
"""Bytes of reports that are drawn at a time."""


@dataclass(frozen=True, slots=True)
class DrawReports(Primitive["int | Places", "int | Payload"]):
    """Draw a report from the kernel's table, or one for each person.

    Exact: every probability of the table is a fraction, and is met by uniform whole numbers.
    """

    kernel: Kernel

    @property
    def sensitivity(self) -> Fraction:
        """One person's value."""
        return Fraction(1)

    def sample(self, value: int | Places, rng: Rng) -> int | Payload:
        """Draw one report, or a row of bytes for each person."""
        if isinstance(value, np.ndarray):
            drawn = np.empty((len(value), self.kernel.width), dtype=np.uint8)
            chunk = max(1, CHUNK // max(self.kernel.width, 16))  # what is worked on stays in the cache
            for start in range(0, len(value), chunk):
                some = slice(start, start + chunk)
                drawn[some] = draw_many(self.kernel, value[some], rng)
            return drawn
        return self.kernel.draw(int(value), lambda bound: oracle.uniform_below(bound, rng))

    def law(self, value: int | Places) -> Iterator[tuple[Any, Fraction]]:
        """Yield every report; of an array, tuples of the rows of all people."""
        if not isinstance(value, np.ndarray):
            yield from _list_law(self.kernel, int(value))
            return
        tables = [_list_law(self.kernel, _find_value(self.kernel, each)) for each in value]
        for drawn in itertools.product(*tables):
            rows = tuple(tuple(report.to_bytes(self.kernel.width, "little")) for report, _ in drawn)
            yield rows, math.prod((p for _, p in drawn), start=Fraction(1))

    def distance(self, value: int | Places, other: int | Places) -> Fraction:
        """Return how many people's values differ."""
        differ = np.asarray(value) != np.asarray(other)
        return Fraction(int(np.sum(differ.any(axis=1) if differ.ndim > 1 else differ)))


def _find_value(kernel: Any, each: Any) -> int:
    """Return a private value as a number: a row of places is one vector."""
    return int(kernel.join(each.tolist())) if isinstance(each, np.ndarray) and each.ndim else int(each)


@lru_cache(maxsize=1024)
def _list_law(kernel: Kernel, value: int) -> tuple[tuple[int, Fraction], ...]:
    return tuple(kernel.law(value))


@singledispatch
def draw_many(kernel: Kernel, values: Places, rng: Rng) -> Payload:
    """Draw a report for each person. The module of each protocol adds its own way."""
    del values, rng
    raise InternalError(f"no vectorised way to draw from a {type(kernel).__name__}")


def to_payload(codes: NDArray[Any], width: int) -> Payload:
    """Write numbers of reports as rows of bytes, the lowest first."""
    words = np.ascontiguousarray(codes, dtype="<u8")
    return np.ascontiguousarray(words.view(np.uint8).reshape(-1, 8)[:, :width])


def from_payload(payload: Payload) -> NDArray[np.uint64]:
    """Return the numbers of reports that have at most eight bytes."""
    width = payload.shape[1]
    if width in (1, 2, 4, 8) and payload.flags.c_contiguous:
        return payload.view(f"<u{width}").reshape(-1).astype(np.uint64)
    words = np.zeros((len(payload), 8), dtype=np.uint8)
    words[:, :width] = payload
    return words.reshape(-1).view("<u8").astype(np.uint64, copy=False)
