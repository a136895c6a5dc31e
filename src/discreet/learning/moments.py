"""Noisy second moments, and the linear models that follow from them at no further cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats

_EDGE = 2.0  # times the deviation and the root of the size: the largest eigenvalue of pure noise


class LinearFit(NamedTuple):
    """A fitted linear model of the last column.

    Attributes
    ----------
    weights
        One for each other column.
    standard_errors
        Of each weight: what sampling and the noise of the release bring in together. What the ridge takes
        away from weights is not in them.
    residual
        The estimated standard deviation of what the columns leave open.
    """

    weights: Floats
    standard_errors: Floats
    residual: float


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

        The ridge is never below the largest eigenvalue that noise alone would have: directions that are
        not seen above the noise are not used. The constant has none.

        Parameters
        ----------
        ridge
            A larger ridge, in the units of the sums.
        """
        if self.size < 2:
            raise InvalidParameter(name="size", rule="at least a constant and a target", value=self.size)
        whole = self.matrix
        left, right = whole[:-1, :-1], whole[:-1, -1]
        least = max(ridge, _EDGE * self.noise * math.sqrt(self.size - 1), 1e-9)
        penalty = np.full(self.size - 1, least)
        penalty[0] = 0.0
        values, vectors = np.linalg.eigh(left + np.diag(penalty))
        inverse = (vectors / np.maximum(values, least)) @ vectors.T
        weights = inverse @ right
        count = max(
            1.0, float(whole[0, 0])
        )  # of the rows that count: a public number would have others in it
        # What the ridge leaves of the target, which is no less than the residual; noise in `left` stays out.
        open_square = float(whole[-1, -1] - weights @ right) / count
        residual = math.sqrt(max(0.0, open_square))
        # The noise moves right - left weights; the same noise stands on both sides of the diagonal.
        square = float(weights @ weights)
        noise = self.noise**2 * (np.outer(weights, weights) + np.diag(1 + square - weights**2))
        spread = inverse @ (residual**2 * left + noise) @ inverse
        errors = np.sqrt(np.maximum(np.diag(spread), 0.0))
        return LinearFit(weights, errors, residual)
