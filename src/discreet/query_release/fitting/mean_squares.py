"""How large squared errors are in the mean, as a smooth function of a few public features.

The logarithm of the mean is linear in the features. Squares of errors spread as their mean does, whatever its
size, so that small and large ones weigh the same: the gamma law's likelihood, by Fisher scoring.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.core.fixed import Floats

_STEPS = 40
_RIDGE = 1e-3  # on features of unit spread: what the data say nothing about stays at zero
_CLOSE = 1e-6
_FAR = 200.0  # logarithms beyond are of no number that could come up


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A linear function of features, the first of which is constant; they are scaled to unit spread.

    Between `least` and `most` features were seen: beyond, nothing is known, and the nearest ones are taken.
    """

    centre: Floats
    spread: Floats
    slopes: Floats
    least: Floats
    most: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return a value a row of features."""
        seen = np.clip(features, self.least, self.most)
        return np.asarray(((seen - self.centre) / self.spread) @ self.slopes)


def fit_mean_squares(features: Floats, squares: Floats) -> Linear:
    """Return the logarithm of the mean of squares as a function of the features."""
    centre, spread = scale_features(features)
    scaled = (features - centre) / spread
    targets = np.maximum(squares, 1e-9 * max(float(squares.mean()), 1e-9))
    ridge = np.full(features.shape[1], _RIDGE)
    ridge[0] = 0.0
    curvature = scaled.T @ scaled / len(targets) + np.diag(ridge + 1e-12)
    slopes = np.zeros(features.shape[1])
    slopes[0] = np.log(targets.mean())

    def cost(place: Floats) -> float:
        logs = np.clip(scaled @ place, -_FAR, _FAR)
        return float((logs + targets * np.exp(-logs)).mean() + ridge @ np.square(place) / 2)

    value = cost(slopes)
    for _ in range(_STEPS):
        off = targets * np.exp(-np.clip(scaled @ slopes, -_FAR, _FAR)) - 1
        step = np.linalg.solve(curvature, scaled.T @ off / len(targets) - ridge * slopes)
        # The cost is convex, and a step that is short enough lowers it.
        while (lower := cost(slopes + step)) > value and float(np.abs(step).max()) > _CLOSE:
            step /= 2
        if lower > value:
            break
        slopes, value = slopes + step, lower
        if float(np.abs(step).max()) <= _CLOSE:
            break
    return Linear(centre, spread, slopes, features.min(axis=0), features.max(axis=0))


def fit_slope(features: Floats, values: Floats, by: Floats) -> Linear:
    """Return the factor, a linear function of the features, by which `by` is nearest to the values."""
    centre, spread = scale_features(features)
    columns = (features - centre) / spread * by[:, None]
    ridge = 1e-2 * len(values) * np.eye(features.shape[1])
    ridge[0, 0] *= 1e-6
    slopes = np.asarray(np.linalg.solve(columns.T @ columns + ridge, columns.T @ values), np.float64)
    return Linear(centre, spread, slopes, features.min(axis=0), features.max(axis=0))


def scale_features(features: Floats) -> tuple[Floats, Floats]:
    """Return what to take off each feature and what to divide it by; nothing of the constant one."""
    centre, spread = features.mean(axis=0), features.std(axis=0)
    centre[0], spread[0] = 0.0, 1.0
    return centre, np.where(spread > 0, spread, 1.0)
