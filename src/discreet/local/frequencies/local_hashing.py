"""Optimised local hashing: hash the value to a few cells, and report its cell or another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.local.frequencies.direct_response import respond
from discreet.local.frequencies.oracle import FrequencyOracle, Scores
from discreet.local.frequencies.vectors import join_digits, multiply, split_digits, transform_digits
from discreet.local.laws.kernel import Kernel, require_small
from discreet.local.laws.responses.hashing import HashingKernel
from discreet.local.steps import Payload, Places, draw_many, from_payload, to_payload
from discreet.local.tiny import ask_all
from discreet.noise import coins

_MOST = 1 << 24


@frozen
class LocalHashing(FrequencyOracle):
    """Report a hash and the cell it puts the value into, or with a known probability another cell.

    Privacy: (epsilon, 0) for each report, towards everybody. [WBLJ17] Section 4.4.
    Accuracy: variance 4 e^epsilon / (e^epsilon - 1)^2 a person, nearly; two values share a cell with
    probability 1 / cells exactly, so that the estimates have no bias at all.
    Time: O(people + values log values).

    The parameters are those of every `FrequencyOracle`.

    Examples
    --------
    >>> survey = LocalHashing(epsilon=1, domain=1000, people=100_000)
    >>> survey.bits, round(survey.mean_square ** 0.5)
    (13, 614)
    """

    kind: ClassVar[str] = "local-hashing"

    def _check(self, kernel: Kernel) -> None:
        require_small(kernel.size, _MOST, "a table")

    @property
    def scores(self) -> Scores:
        """A report scores for the values that its hash puts into its cell."""
        response = cast("HashingKernel", self.kernel).response
        return Scores.of_coins(response.keep, 1 / (0 * response.keep + response.inputs))

    def _sum_scores(self, payload: Payload) -> NDArray[np.int64]:
        """Sum over all hashes at once: a transform over cells and vectors, read off along lines through 0."""
        kernel = cast("HashingKernel", self.kernel)
        seen = np.bincount(from_payload(payload).astype(np.int64), minlength=kernel.size).astype(np.float64)
        turned = transform_digits(seen, kernel.cells, kernel.digits + 1).reshape(kernel.cells, -1)
        digits = split_digits(np.arange(kernel.inputs, dtype=np.int64), kernel.cells, kernel.digits)
        sums = np.zeros(kernel.inputs)
        for slope in range(kernel.cells):
            along = join_digits([-slope * digit % kernel.cells for digit in digits], kernel.cells)
            sums += turned[slope][along].real
        return np.rint(sums / kernel.cells).astype(np.int64)


@draw_many.register
def _draw(kernel: HashingKernel, values: Places, rng: Rng) -> Payload:
    vectors = coins.uniform_below(kernel.vectors, values.size, rng)
    hashes = split_digits(vectors, kernel.cells, kernel.digits)
    cells = multiply(hashes, split_digits(values, kernel.cells, kernel.digits), kernel.cells)
    return to_payload(vectors + kernel.vectors * respond(kernel.response, cells, rng), kernel.width)


def _tiny() -> Iterator[Tiny]:
    yield from ask_all(LocalHashing)


CARD = Card(
    title="Optimised local hashing, over an exactly universal family",
    theorem="(epsilon, 0) for each report towards everybody; unbiased counts; nearly the least variance",
    reference="[WBLJ17] Section 4.4",
    example=lambda: (LocalHashing(epsilon=1, domain=8, people=1000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
