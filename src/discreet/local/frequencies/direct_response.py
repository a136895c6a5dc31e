"""Direct response: report one's own value, or any other one."""

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
from discreet.local.laws.responses.direct import DirectKernel
from discreet.local.steps import Payload, Places, draw_many, from_payload, to_payload
from discreet.local.tiny import ask_all
from discreet.noise import coins

_MOST = 1 << 26


@frozen
class DirectResponse(FrequencyOracle):
    """Report one's own value, or with a known probability any other: k-ary randomized response.

    Privacy: (epsilon, 0) for each report, towards everybody. [DR14] Claim 3.5, [KOV16].
    Accuracy: the best there is for few values, below about 3 e^epsilon + 2 of them [WBLJ17].
    Time: O(people).

    The parameters are those of every `FrequencyOracle`.

    Examples
    --------
    >>> survey = DirectResponse(epsilon=2, domain=["bus", "car", "bicycle"], people=10_000)
    >>> survey.bits, round(survey.error(0.05))
    (2, 128)
    """

    kind: ClassVar[str] = "direct-response"

    def _check(self, kernel: Kernel) -> None:
        require_small(kernel.size, _MOST, "a table")

    @property
    def scores(self) -> Scores:
        """A report scores for the value that it names."""
        kernel = cast("DirectKernel", self.kernel)
        return Scores.of_coins(kernel.keep, (1 - kernel.keep) / (kernel.inputs - 1))

    @property
    def _mirrored(self) -> bool:
        return self.values.size == 2

    def _sum_scores(self, payload: Payload) -> NDArray[np.int64]:
        return np.bincount(from_payload(payload).view(np.int64), minlength=self.values.size)


def respond(kernel: DirectKernel, values: Places, rng: Rng) -> NDArray[np.int64]:
    """Draw the reported values of many people."""
    kept = coins.bernoulli(kernel.keep, values.size, rng)
    moved = np.zeros(values.size, dtype=np.int64)
    liars = np.flatnonzero(~kept)
    moved[liars] = 1 + coins.uniform_below(kernel.inputs - 1, liars.size, rng)
    moved += values
    moved -= kernel.inputs * (moved >= kernel.inputs)  # a division takes longer
    return moved


@draw_many.register
def _draw(kernel: DirectKernel, values: Places, rng: Rng) -> Payload:
    return to_payload(respond(kernel, values, rng), kernel.width)


def _tiny() -> Iterator[Tiny]:
    yield from ask_all(DirectResponse)


CARD = Card(
    title="Direct response: k-ary randomized response with a wire format and estimates",
    theorem="(epsilon, 0) for each report towards everybody; unbiased counts; least variance for few values",
    reference="[KOV16] Section 3",
    example=lambda: (DirectResponse(epsilon=1, domain=8, people=1000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
