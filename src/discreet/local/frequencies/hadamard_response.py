"""Hadamard response: report a column of a Hadamard matrix, in a few bits, estimated by a fast transform."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.local.frequencies.oracle import FrequencyOracle, Scores
from discreet.local.laws.kernel import Kernel, require_small
from discreet.local.laws.responses.hadamard import HadamardKernel
from discreet.local.steps import Payload, Places, draw_many, from_payload, to_payload
from discreet.local.tiny import ask_all
from discreet.noise import coins

_MOST = 1 << 26


@frozen
class HadamardResponse(FrequencyOracle):
    """Report one of about as many columns as there are values, likely one where the value's row is positive.

    Privacy: (epsilon, 0) for each report, towards everybody. [ASZ19]
    Accuracy: within a factor of about 2 of the least variance; log2(values) + 1 bits a report.
    Time: O(people + values log values).

    The parameters are those of every `FrequencyOracle`.

    Examples
    --------
    >>> survey = HadamardResponse(epsilon=1, domain=1000, people=100_000)
    >>> survey.bits
    10
    """

    kind: ClassVar[str] = "hadamard-response"

    def _check(self, kernel: Kernel) -> None:
        require_small(kernel.size, _MOST, "a table")

    @property
    def scores(self) -> Scores:
        """A report scores 1 for values whose row is positive there, -1 for others of its block, else 0."""
        kernel = cast("HadamardKernel", self.kernel)
        mean = kernel.half * (kernel.odds - 1) / kernel.weight
        near = kernel.half * (kernel.odds + 1) / kernel.weight
        far = 2 * kernel.half / kernel.weight
        spread = kernel.variance() * mean**2
        alone = kernel.blocks >= kernel.inputs
        return Scores(mean, 0 * mean, near - mean**2, far if alone else near, spread, coin=False)

    def _sum_scores(self, payload: Payload) -> NDArray[np.int64]:
        kernel = cast("HadamardKernel", self.kernel)
        seen = np.bincount(from_payload(payload).astype(np.int64), minlength=kernel.size)
        turned = transform(seen.reshape(kernel.blocks, kernel.length))
        values = np.arange(kernel.inputs)
        return turned[values % kernel.blocks, values // kernel.blocks + 1]


def transform(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the Walsh-Hadamard transform of each row: whole numbers in, whole numbers out."""
    count, length = rows.shape
    step = 1
    while step < length:
        pairs = rows.reshape(count, -1, 2, step)
        rows = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        step *= 2
    return rows.reshape(count, length)


@draw_many.register
def _draw(kernel: HadamardKernel, values: Places, rng: Rng) -> Payload:
    rows, blocks = values // kernel.blocks + 1, values % kernel.blocks
    likely = coins.bernoulli(kernel.inside, values.size, rng)
    columns = coins.uniform_below(kernel.length, values.size, rng)
    odd = (np.bitwise_count(rows & columns) & 1).astype(np.bool_)
    columns ^= np.where(odd == likely, rows & -rows, 0)
    reports = blocks * kernel.length + columns
    rest = np.flatnonzero(~likely)
    elsewhere = coins.uniform_below(kernel.size - kernel.half, rest.size, rng) - kernel.half
    rest, elsewhere = rest[elsewhere >= 0], elsewhere[elsewhere >= 0]
    moved = elsewhere // kernel.length
    moved += moved >= blocks[rest]
    reports[rest] = moved * kernel.length + elsewhere % kernel.length
    return to_payload(reports, kernel.width)


def _tiny() -> Iterator[Tiny]:
    yield from ask_all(HadamardResponse)


CARD = Card(
    title="Hadamard response",
    theorem="(epsilon, 0) for each report towards everybody; unbiased counts from log2(values) + 1 bits",
    reference="[ASZ19] Section 5",
    example=lambda: (HadamardResponse(epsilon=1, domain=8, people=1000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
