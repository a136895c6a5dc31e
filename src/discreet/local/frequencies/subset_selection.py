"""Subset selection: report a set of values, rather one with the truth in it than one without."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.local.frequencies.bits import Bytes, put_bits, sum_columns, toss_rows
from discreet.local.frequencies.oracle import FrequencyOracle, Scores
from discreet.local.frequencies.unary_reports import check_spare_bits
from discreet.local.laws.responses.subsets import SubsetKernel
from discreet.local.laws.wire import refuse
from discreet.local.steps import Payload, Places, draw_many
from discreet.local.tiny import ask_all
from discreet.noise import coins


@frozen
class SubsetSelection(FrequencyOracle):
    """Report a set of about a share 1 / (e^epsilon + 1) of all values, as bits.

    Privacy: (epsilon, 0) for each report, towards everybody. [YB18] Section III.
    Accuracy: the least variance that is known for every epsilon and every number of values.
    Time: O(people * values / 8).

    The parameters are those of every `FrequencyOracle`.

    Examples
    --------
    >>> survey = SubsetSelection(epsilon=2, domain=64, people=10_000)
    >>> survey.bits, round(survey.mean_square ** 0.5)
    (64, 83)
    """

    kind: ClassVar[str] = "subset-selection"

    @property
    def scores(self) -> Scores:
        """A report scores for the values in it."""
        kernel = cast("SubsetKernel", self.kernel)
        return Scores.of_coins(kernel.inside, kernel.other)

    @property
    def _mirrored(self) -> bool:
        return self.values.size == 2

    def _check_payload(self, payload: Payload) -> None:
        check_spare_bits(payload, self.values.size)
        if np.any(_count_ones(payload) != cast("SubsetKernel", self.kernel).members):
            raise refuse("its payload is a set of another size")

    def _sum_scores(self, payload: Payload) -> NDArray[np.int64]:
        return sum_columns(payload, self.values.size)


@draw_many.register
def _draw(kernel: SubsetKernel, values: Places, rng: Rng) -> Payload:
    """Draw uniform sets of a given size that hold the value, or do not.

    A set from independent coins is uniform among those of its size. Taking out a uniform member, or putting
    in a uniform value that is missing, leaves it uniform among those of the next size; so it is mended, one
    value at a time, until it has the right size. One's own value stands aside all the while.
    """
    held = coins.bernoulli(kernel.inside, values.size, rng)
    rows = toss_rows(Fraction(kernel.members, kernel.inputs), values.size, kernel.inputs, rng)
    put_bits(rows, values, np.zeros(values.size, dtype=np.bool_))
    lacking = kernel.members - held - _count_ones(rows)
    waiting = np.flatnonzero(lacking)
    while waiting.size:
        tried = coins.uniform_below(kernel.inputs, waiting.size, rng)
        byte, mask = tried >> 3, (np.uint8(1) << (tried & 7).astype(np.uint8)).astype(np.uint8)
        there = (rows[waiting, byte] & mask) != 0
        fits = (there != (lacking[waiting] > 0)) & (tried != values[waiting])
        mended = waiting[fits]
        rows[mended, byte[fits]] ^= mask[fits]
        lacking[mended] -= np.sign(lacking[mended])
        waiting = waiting[lacking[waiting] != 0]
    put_bits(rows, values, held)
    return rows


def _count_ones(rows: Bytes) -> NDArray[np.int64]:
    counted: NDArray[np.int64] = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return counted


def _tiny() -> Iterator[Tiny]:
    yield from ask_all(SubsetSelection)


CARD = Card(
    title="Subset selection",
    theorem="(epsilon, 0) for each report towards everybody; unbiased counts; the least variance known",
    reference="[YB18] Section III",
    example=lambda: (SubsetSelection(epsilon=1, domain=8, people=1000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
