"""Projective-geometry response: nearly the least variance there is, from reports of a few bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.card import Card, Tiny
from discreet.core.fixed import fix_array
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.local.frequencies.oracle import FrequencyOracle, Scores
from discreet.local.frequencies.vectors import Whole, multiply, normalise, split_digits, transform_digits
from discreet.local.laws.kernel import Kernel, require_small
from discreet.local.laws.responses.projective import ProjectiveKernel
from discreet.local.steps import Payload, Places, draw_many, from_payload, to_payload
from discreet.local.tiny import ask_all
from discreet.noise import coins

_MOST = 1 << 24


@frozen
class ProjectiveResponse(FrequencyOracle):
    """Report a point of a finite geometry, likely one on the value's hyperplane.

    Privacy: (epsilon, 0) for each report, towards everybody. [FNNT22] Section 3.
    Accuracy: the variance of subset selection up to a few per cent; about log2(values) bits a report.
    Time: O(people + values log values).

    The parameters are those of every `FrequencyOracle`.

    Examples
    --------
    >>> survey = ProjectiveResponse(epsilon=1, domain=1000, people=100_000)
    >>> survey.bits, round(survey.mean_square ** 0.5)
    (11, 613)
    """

    kind: ClassVar[str] = "projective-response"

    def _check(self, kernel: Kernel) -> None:
        its = cast("ProjectiveKernel", kernel)
        require_small(its.prime**its.dimension, _MOST, "a table")

    @property
    def scores(self) -> Scores:
        """A report scores for the values on whose hyperplanes it lies."""
        kernel = cast("ProjectiveKernel", self.kernel)
        return Scores.of_coins(kernel.inside, kernel.other)

    def _sum_scores(self, payload: Payload) -> NDArray[np.int64]:
        """Sum over hyperplanes: with a point's reports on all its vectors, a value's transform is p S - n.

        S is the number of reports on the hyperplane, n that of all, p the prime.
        """
        kernel = cast("ProjectiveKernel", self.kernel)
        seen = np.bincount(from_payload(payload).astype(np.int64), minlength=kernel.size).astype(np.float64)
        spread = seen[_list_points(kernel.prime, kernel.dimension)]
        spread[0] = 0.0
        turned = transform_digits(spread, kernel.prime, kernel.dimension).real
        sums = (turned[_list_vectors(kernel)] + len(payload)) / kernel.prime
        return np.rint(sums).astype(np.int64)


@lru_cache(maxsize=16)
def _list_points(prime: int, dimension: int) -> Whole:
    """Return the point of every vector, by the number whose digits it is; 0 for the vector 0."""
    vectors = split_digits(np.arange(1, prime**dimension, dtype=np.int64), prime, dimension)
    return fix_array(np.append(0, normalise(vectors, prime)))


@lru_cache(maxsize=16)
def _list_vectors(kernel: ProjectiveKernel) -> Whole:
    """Return the vector of every value, as the number whose digits it is: a leading 1, then what is below."""
    values = np.arange(kernel.inputs, dtype=np.int64)
    powers = kernel.prime ** np.arange(kernel.dimension, dtype=np.int64)
    firsts = np.append(0, np.cumsum(powers)[:-1])
    below = np.searchsorted(firsts, values, side="right") - 1
    return fix_array(powers[below] + values - firsts[below])


@draw_many.register
def _draw(kernel: ProjectiveKernel, values: Places, rng: Rng) -> Payload:
    prime, dimension = kernel.prime, kernel.dimension
    free = prime ** (dimension - 1)
    likely = coins.bernoulli(kernel.inside, values.size, rng)
    numbers = np.empty(values.size, dtype=np.int64)
    numbers[likely] = 1 + coins.uniform_below(free - 1, int(likely.sum()), rng)
    numbers[~likely] = coins.uniform_below(free, int((~likely).sum()), rng)
    its = _list_vectors(kernel)[values]
    powers = prime ** np.arange(dimension, dtype=np.int64)
    pivot = powers[np.searchsorted(powers, its, side="right") - 1]  # the value of the place of the leading 1
    # The free digits leave that place out: those above it move up by one.
    low = numbers % pivot
    vectors = low + (numbers - low) * prime
    product = multiply(split_digits(its, prime, dimension), split_digits(vectors, prime, dimension), prime)
    vectors += (np.where(likely, 0, 1) - product) % prime * pivot
    return to_payload(_list_points(prime, dimension)[vectors], kernel.width)


def _tiny() -> Iterator[Tiny]:
    yield from ask_all(ProjectiveResponse)


CARD = Card(
    title="Projective-geometry response",
    theorem="(epsilon, 0) for each report towards everybody; unbiased counts; nearly the least variance",
    reference="[FNNT22] Section 3",
    example=lambda: (ProjectiveResponse(epsilon=1, domain=8, people=1000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
