"""The metrics of tiny instances and of examples."""

from __future__ import annotations

import numpy as np

from discreet.optimisation.k_median.metric import Metric


def line(*places: int) -> Metric:
    """Return the distances between points on a line."""
    points = np.array(places)
    return Metric(np.abs(points[:, None] - points), unit=1)


def town(side: int) -> Metric:
    """Return the distances between the crossings of a town of square blocks."""
    return Metric.points([(x, y) for x in range(side) for y in range(side)], unit=0.01)


PEOPLE = tuple(7 + 14 * (i % 2) + (i % 3) for i in range(400))
"""Where people are in a town of six crossings a side."""
