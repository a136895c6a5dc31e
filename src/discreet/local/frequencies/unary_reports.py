"""What the two unary protocols share: rows of bits, drawn and added up."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.local.frequencies.bits import put_bits, sum_columns, toss_rows
from discreet.local.frequencies.oracle import FrequencyOracle, Scores
from discreet.local.laws.responses.unary import UnaryKernel
from discreet.local.laws.wire import refuse
from discreet.local.steps import Payload, Places, draw_many
from discreet.noise import coins


@frozen
class UnaryOracle(FrequencyOracle):
    """The base of protocols with a bit for each value."""

    @property
    def scores(self) -> Scores:
        """A report scores for the values whose bits are 1."""
        kernel = cast("UnaryKernel", self.kernel)
        return Scores.of_coins(kernel.yes, kernel.no)

    def _check_payload(self, payload: Payload) -> None:
        check_spare_bits(payload, self.values.size)

    def _sum_scores(self, payload: Payload) -> NDArray[np.int64]:
        return sum_columns(payload, self.values.size)


def check_spare_bits(payload: Payload, count: int) -> None:
    """Refuse reports with bits beyond the last value."""
    if count % 8 and np.any(payload[:, -1] >> np.uint8(count % 8)):
        raise refuse("its payload has bits beyond the last value")


@draw_many.register
def _draw(kernel: UnaryKernel, values: Places, rng: Rng) -> Payload:
    rows = toss_rows(kernel.no, values.size, kernel.inputs, rng)
    put_bits(rows, values, coins.bernoulli(kernel.yes, values.size, rng))
    return rows
