"""Noisy second moments, and the linear models that follow from them at no further cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats

HIDDEN = 0.05
"""The part of any weight that hidden directions may bring to another one, for its error to be told."""

_EDGE = 2.0  # times the deviation and the root of the size: the largest eigenvalue of pure noise


class LinearFit(NamedTuple):
    """A fitted linear model of the last column.

    Attributes
    ----------
    weights
        One for each other column.
    standard_errors
        Of each weight: what sampling and the noise of the release bring in together. What a ridge takes away
        from weights is not in them, nor what is lost in directions that the noise hides.
    residual
        The estimated standard deviation of what the columns leave open.
    leaks
        A matrix: how much of each weight goes over into each other's, because noise hides directions of them.
    """

    weights: Floats
    standard_errors: Floats
    residual: float
    leaks: Floats


@dataclass(frozen=True, slots=True)
class Moments:
    """Noisy sums, over rows, of the products of all pairs of columns.

    Attributes
    ----------
    size
        How many columns there are.
    upper
        The sums for each pair of columns i <= j, row by row, in units of 1 / resolution^2.
    resolution
        How many units there are in one.
    deviation
        The standard deviation of the noise on each sum, in the same units.
    """

    size: int
    upper: tuple[int, ...]
    resolution: int
    deviation: float

    @property
    def matrix(self) -> Floats:
        """The sums as a symmetric matrix, in the units of the columns."""
        made = np.zeros((self.size, self.size))
        made[np.triu_indices(self.size)] = np.array(self.upper, dtype=np.float64) / self.resolution**2
        return made + np.triu(made, 1).T

    @property
    def noise(self) -> float:
        """The standard deviation of the noise on each sum, in the units of the columns."""
        return self.deviation / self.resolution**2

    def fit(self, *, ridge: float = 0.0) -> LinearFit:
        """Fit the last column by the others, of which the first is the constant one.

        Directions in which the columns vary less than noise alone would show are drawn towards no weight, as
        hard as it takes to be above it; all others are left alone, so their weights are not biased.

        Parameters
        ----------
        ridge
            A ridge on all weights but that of the constant, in the units of the sums.
        """
        if self.size < 2:
            raise InvalidParameter(name="size", rule="at least a constant and a target", value=self.size)
        whole = self.matrix
        left, right = whole[:-1, :-1], whole[:-1, -1]
        penalty = np.full(self.size - 1, ridge)
        penalty[0] = 0.0
        values, vectors = np.linalg.eigh(left + np.diag(penalty))
        least = max(_EDGE * self.noise * math.sqrt(self.size - 1), 1e-9)
        high = np.maximum(values, least)
        inverse, leaks = (vectors / high) @ vectors.T, (vectors * (1 - values / high)) @ vectors.T
        weights = inverse @ right
        # The noise moves right - left weights; the same noise stands on both sides of the diagonal.
        square = float(weights @ weights)
        noise = self.noise**2 * (np.outer(weights, weights) + np.diag(1 + square - weights**2))
        count = max(1.0, float(whole[0, 0]))  # rows without a target are not among them
        # Weights that follow the noise seem to leave less than they do: by the trace, on average.
        open_square = float(whole[-1, -1] - weights @ right + np.trace(inverse @ noise)) / count
        residual = math.sqrt(max(0.0, open_square))
        spread = inverse @ (residual**2 * left + noise) @ inverse
        errors = np.sqrt(np.maximum(np.diag(spread), 0.0))
        return LinearFit(weights, errors, residual, leaks)
