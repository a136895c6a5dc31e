"""Halfspaces by the projections of the source: printed sizes, counts, and what they cost."""

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.halfspace_net import HalfspaceNet
from discreet.query_release.halfspaces.points import signs
from discreet.query_release.halfspaces.projected_halfspaces import (
    ProjectedHalfspaces,
    honest_sizes,
    printed_sizes,
)
from discreet.testing import unsafe_seeded

SPACE = Universe([(name, range(-3, 4)) for name in "xyz"])
EXACT = 10**6  # an epsilon so large that no noise is left


def generator(seed):
    return np.random.default_rng(seed)  # noqa: TID251


def cloud(universe, seed, rows=500):
    cells = generator(seed).integers(universe.size, size=rows)
    return Histogram.from_records(universe, universe.unravel(cells))


def points_of(data):
    codes, counts = data.entries()
    values = np.array(
        [[a.values[code] for a, code in zip(data.universe.attributes, row, strict=True)] for row in codes]
    )
    return values, counts


def inside(data, normal, centre=None):
    values, counts = points_of(data)
    shifted = values - np.array(centre if centre is not None else [0] * values.shape[1])
    return int(counts[shifted @ np.array(normal) >= 0].sum())


def net(**changes):
    public = {"universe": SPACE, "net": 200, "margin": 0.25, "epsilon": EXACT, "delta": 0}
    return HalfspaceNet(**public | {"neighbours": AddRemove("row")} | changes)


def projected(**changes):
    public = {
        "universe": SPACE,
        "projections": 7,
        "dimension": 2,
        "directions": 16,
        "seed": 3,
        "epsilon": EXACT,
    }
    return ProjectedHalfspaces(**public | {"neighbours": AddRemove("row")} | changes)


def test_the_printed_sizes_are_absurd():
    asked = {"margin": 0.5, "accuracy": 0.1, "beta": 0.05, "epsilon": 1, "bits": 8, "attributes": 10}
    sizes = printed_sizes(**asked)
    assert sizes.dimension == pytest.approx(21_458, abs=2)
    assert sizes.log10_net == pytest.approx(6460, abs=1)
    assert sizes.log10_rows > sizes.log10_counts > 6460
    sharper = honest_sizes(**asked)
    assert sharper.dimension == 36
    assert 10 < sharper.log10_net < 11.5
    assert sharper.projections < 0.6 * sizes.projections
    universe = Universe([(name, (-1, 1)) for name in "abcdefghij"])
    with pytest.raises(Refused, match="HalfspaceNet"):
        ProjectedHalfspaces.as_printed(
            universe=universe,
            margin=0.5,
            accuracy=0.1,
            beta=0.05,
            bits=8,
            epsilon=1,
            seed=1,
            neighbours=AddRemove("row"),
        )


def test_counts_are_those_of_the_projected_points():
    data, mechanism = cloud(SPACE, 14), projected()
    value = mechanism.release(data, rng=unsafe_seeded(7)).value
    values, counts = points_of(data)
    wanted = [
        int(counts[values @ matrix @ np.array(direction) >= 0].sum())
        for matrix in mechanism.matrices
        for direction in mechanism.net
    ]
    assert list(value.transcript) == wanted
    assert value.answer((1, 1, 1)) in wanted
    assert abs(value.answer((1, 1, 1)) - inside(data, (1, 1, 1))) < 250


@pytest.mark.parametrize("seed", [1, 2])
def test_theorem_10_inner_products_survive_a_projection_onto_many_dimensions(seed):
    """[Roth10]: off by margin / 4 with probability 2 e^(-((m / 16)^2 - (m / 16)^3) k / 4); far less often."""
    points = generator(seed).normal(size=(40, 30))
    points /= np.linalg.norm(points, axis=1)[:, None]
    off = {}
    for dimension in (4, 4096):
        seen = points @ signs(30, dimension, seed) / np.sqrt(dimension)
        off[dimension] = np.abs(seen @ seen.T - points @ points.T)[np.triu_indices(40)]
    assert 2 * np.exp(-(1 / 256 - 1 / 4096) * 4096 / 4) < 0.05  # margin 1: the theorem says something
    assert off[4096].max() < 1 / 4 < np.quantile(off[4], 0.5)


def test_the_projection_charges_no_more_than_the_source():
    mechanism = projected(epsilon=1)
    assert mechanism.sensitivity(1) <= mechanism.size == 7 * 16
    assert mechanism.measured_error(0.05) > projected(epsilon=2).measured_error(0.05)
    with pytest.raises(NoBound, match="HalfspaceNet"):
        mechanism.error(0.05)
    with pytest.raises(Refused, match="noisy counts"):
        projected(directions=10**6)
    with pytest.raises(InvalidParameter, match="both sides"):
        projected(universe=Universe([("x", (0,))]), rows=3, neighbours=Replace("row"))
    one, other = (projected().release(cloud(SPACE, 15), rng=unsafe_seeded(8)).value for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


def test_sizes_that_fit_are_built():
    found = ProjectedHalfspaces.as_printed(
        universe=Universe([("x", (-1, 1))]),
        margin=0.9999,
        accuracy=0.99,
        beta=0.9,
        bits=1,
        epsilon=1,
        seed=1,
        neighbours=AddRemove("row"),
    )
    assert found.dimension > 1000
    assert found.projections > 10
