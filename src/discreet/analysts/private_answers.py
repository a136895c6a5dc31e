"""Noise for every query by itself, each answer sent to its owner alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from discreet.analysts.apart import Apart, Nothing, leftovers
from discreet.analysts.promises import Delivery, QueriesAndData
from discreet.analysts.tiny import BUDGET, COIN, COINS, LOUD, TWO, example_data, tiny_data
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import Loss
from discreet.core.parameters import derived, frozen
from discreet.core.rng import Rng
from discreet.query_release.linear.joint_noise import Joint


@frozen
class PrivateAnswers(Apart):
    """Answer every query by itself, with noise for as many queries as the caps allow.

    Privacy: (epsilon, delta) for one row: Laplace noise, or Gaussian where it is less. Nothing between
    analysts: the noise depends on the caps and not on who asked how much.
    Accuracy: error(beta) is the exact quantile of the largest of all noises.
    Time: O(places of the book).

    Parameters
    ----------
    universe
        What all queries are over.
    caps, epsilon, delta, neighbours
        As in `PublicSynopsis`; delta may be 0.
    """

    noise: Joint = derived()

    def _complete(self) -> None:
        self._set(noise=self._smallest_noise(1))

    @property
    def loss(self) -> Loss:
        """The curve of the noise: one row moves every count by at most one."""
        return self.noise.loss

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest error among all places."""
        return self.noise.error(beta)

    def _draw(self, data: QueriesAndData, rng: Rng) -> Delivery:
        asked = self._check(data)
        counts = np.zeros(self.caps.places, dtype=np.int64)
        for page in asked.book.pages():
            counts[page.places] = page.queries.answers(asked.histogram)
        # Empty places get noise too, and are sent to nobody.
        noisy = np.ravel(self.noise.release(counts, rng=rng).value)
        pages = {name: asked.book.page(name) for name in asked.book.names}
        private = tuple(
            (name, () if page is None else leftovers(page.places, noisy[page.places]))
            for name, page in pages.items()
        )
        return Delivery(Nothing(self.universe), private)


def _example() -> tuple[PrivateAnswers, QueriesAndData]:
    asked = example_data()
    return PrivateAnswers(universe=asked.book.universe, caps=asked.book.caps, **BUDGET), asked


def _tiny() -> Iterator[Tiny]:
    for delta in (0, Fraction(1, 100)):
        mechanism = PrivateAnswers(universe=COIN, caps=TWO, **LOUD | {"delta": delta})
        yield Tiny(mechanism, tiny_data(COINS, 1))


CARD = Card(
    title="Independent noise for as many queries as the caps allow, each sent to its owner alone",
    theorem="(epsilon, delta) for one row, and (0, 0) between analysts",
    reference="[HRU13] Section 1; [DR14] Theorems 3.6 and 3.22",
    example=_example,
    tiny=_tiny,
)
