"""What tables of few attributes do not say of more: nothing where nothing is, and much where much is."""

import numpy as np
import pytest

from discreet.core.neighbours import AddRemove
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.misfit import centre_table
from discreet.query_release.online.warm_start import Known, all_marginals
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([(name, range(4)) for name in "abcd"])
ROWS = 200_000


def known(codes, epsilon=3):
    sets, weights = all_marginals(UNIVERSE, 3)
    mechanism = ResidualMarginals(
        workload=Marginals(UNIVERSE, sets),
        epsilon=epsilon,
        delta=1e-9,
        neighbours=AddRemove("row"),
        weights=weights,
    )
    data = Histogram.from_records(UNIVERSE, codes)
    return Known(mechanism, mechanism.release(data, rng=unsafe_seeded(3)).value, beta=0.05)


def test_where_attributes_do_not_depend_on_each_other_nothing_is_missed():
    generator = np.random.default_rng(1)  # noqa: TID251
    assert known(generator.integers(0, 4, (ROWS, 4))).own.misfit < 0.1


def test_where_kinds_of_people_are_mixed_more_is_missed_than_a_sample_would():
    generator = np.random.default_rng(2)  # noqa: TID251
    kind = generator.integers(0, 8, ROWS)
    ends = generator.dirichlet(np.full(4, 0.3), (4, 8)).cumsum(axis=2)
    codes = [(ends[axis, kind] < generator.random(ROWS)[:, None]).sum(axis=1).clip(0, 3) for axis in range(4)]
    assert 0.5 < known(np.stack(codes, axis=1)).own.misfit < 100


def test_a_residual_has_no_mean_along_any_axis():
    table = np.arange(24.0).reshape(2, 3, 4) ** 2
    for axis in range(3):
        assert centre_table(table).mean(axis=axis) == pytest.approx(0, abs=1e-9)
