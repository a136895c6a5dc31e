import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.audit.exact_report import exact
from discreet.audit.replay_report import replay
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove, Edge, Replace
from discreet.mechanisms.subsample_aggregate import CARD, Partition, SubsampleAggregate
from discreet.testing import unsafe_seeded

PUBLIC = {
    "function": max, "blocks": 2, "lower": 0, "upper": 2, "epsilon": 4, "grid": 1,
    "neighbours": AddRemove("row"),
}  # fmt: skip


def mechanism(**changed):
    return SubsampleAggregate(**(PUBLIC | changed))


@pytest.mark.parametrize("name", ["epsilon", "grid"])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_bad_numbers_are_refused_by_name(name, bad):
    with pytest.raises(InvalidParameter, match=f"{name} must be (a number, )?finite and > 0"):
        mechanism(**{name: bad})


@pytest.mark.parametrize("name", ["lower", "upper", "otherwise"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "1"])
def test_bad_bounds_are_refused_by_name(name, bad):
    with pytest.raises(InvalidParameter, match=f"{name} must be"):
        mechanism(**{name: bad})


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, "2", None])
def test_bad_numbers_of_blocks_are_refused(bad):
    with pytest.raises(InvalidParameter, match="blocks must be an integer >= 1"):
        mechanism(blocks=bad)


@pytest.mark.parametrize(
    "changed", [{"upper": 0}, {"upper": -1}, {"otherwise": 3}, {"otherwise": -1}, {"function": 7}]
)
def test_parameters_that_do_not_fit_are_refused(changed):
    with pytest.raises(InvalidParameter, match=f"{next(iter(changed))} must be"):
        mechanism(**changed)


def test_only_relations_on_rows_will_do():
    with pytest.raises(NeighboursMismatch, match="AddRemove or Replace"):
        mechanism(neighbours=Edge())
    with pytest.raises(InvalidParameter, match="neighbours"):
        mechanism(neighbours="row")
    with pytest.raises(TypeError):
        SubsampleAggregate(**{name: value for name, value in PUBLIC.items() if name != "neighbours"})


@pytest.mark.parametrize("data", [3, "abc", None, {1, 2}, np.array(3)])
def test_data_without_rows_are_refused(data):
    with pytest.raises(InvalidParameter, match="data must be a column, array, list or tuple of rows"):
        mechanism().release(data)


def hostile(rows):
    """Raises, returns nonsense or shouts, depending on the rows."""
    if rows[0] == 0:
        raise RuntimeError(f"secret {rows}")
    return float("nan") if rows[0] == 1 else 10**9


@pytest.mark.parametrize("function", [max, hostile, len, lambda rows: sum(rows) - 1])
@pytest.mark.parametrize("neighbours", [AddRemove("row"), Replace("row")])
def test_exact_loss_is_within_the_claim_for_any_function(function, neighbours):
    m = mechanism(function=function, neighbours=neighbours)
    pairs = list(neighbours.pairs((0, 1, 2), 2))
    report = exact(m, pairs)
    assert report.holds, report


def test_exact_loss_reaches_the_claim():
    tiny, *_ = CARD.tiny()
    report = exact(tiny.mechanism, tiny.pairs)
    assert report.holds
    assert report.ratio > 0.999


def test_noise_for_half_the_width_is_caught():
    """Negative control: a row can move one block's result across the whole width."""

    class HalfWidth(SubsampleAggregate):
        __slots__ = ()

        @property
        def loss(self):
            return PureLoss(self.epsilon / 2)

    tiny, *_ = CARD.tiny()
    assert not exact(HalfWidth(**(PUBLIC | {"neighbours": Replace("row")})), tiny.pairs).holds


def test_replay_touches_one_block():
    for seed in range(20):
        report = replay(
            mechanism(neighbours=Replace("row"), blocks=3),
            ((0, 1, 2, 0, 1), (0, 1, 2, 2, 1)),
            rng=unsafe_seeded(seed),
        )
        assert report.holds, report


def test_partition_is_uniform():
    """Chi-square over 7 blocks on 70,000 rows, false alarm 1e-6."""
    seen = np.bincount(Partition(7).sample(70_000, unsafe_seeded(1)), minlength=7)
    assert chi2.sf(((seen - 10_000) ** 2 / 10_000).sum(), 6) > 1e-6
    assert chi2.sf(((seen - np.linspace(9_000, 11_000, 7)) ** 2 / 10_000).sum(), 6) < 1e-6
    assert Partition(7).sample(0, unsafe_seeded(1)) == ()
    law = list(Partition(2).law(3))
    assert len(law) == 8
    assert sum(p for _, p in law) == 1


def released(function, data, **changed):
    exact_like = {"epsilon": 10**6, "blocks": 4, "upper": 100} | changed
    return mechanism(function=function, **exact_like).release(data, rng=unsafe_seeded(3)).value


def test_every_failure_becomes_the_declared_constant():
    def fails(_):
        raise RuntimeError("secret")

    for function in (fails, lambda _: float("nan"), lambda _: None, lambda _: "x", lambda rows: rows[10**9]):
        assert released(function, (1, 2, 3, 4)) == 50
        assert released(function, (1, 2, 3, 4), otherwise=20) == 20
    assert released(max, ()) == 50  # every block is empty
    assert released(lambda _: 10**9, (1,) * 100) == 100
    assert released(lambda _: -np.inf, (1,) * 100, otherwise=3) == 3


def test_blocks_are_of_the_datas_kind():
    kinds = []
    released(lambda rows: kinds.append(type(rows)) or 1, np.ones((100, 2)))
    released(lambda rows: kinds.append(type(rows)) or 1, [1] * 100)
    assert set(kinds[:4]) == {np.ndarray}
    assert set(kinds[4:]) == {tuple}


def test_no_row_is_lost_or_doubled():
    seen = []
    released(lambda rows: seen.extend(rows) or 1, tuple(range(1000)))
    assert sorted(seen) == list(range(1000))


def test_the_mean_of_the_blocks_is_what_comes_out():
    data = 30 + np.arange(4000) % 41 / 2
    assert abs(released(np.mean, data, grid=0.01) - 40) < 1
    assert abs(released(np.median, data, grid=0.01, blocks=20) - 40) < 1


def test_the_error_holds_on_releases():
    """1000 releases of a constant function at beta 0.1: more than 150 misses has probability below 1e-6."""
    m, rng = mechanism(function=lambda _: 1.3, blocks=5, epsilon=1, grid=0.25), unsafe_seeded(4)
    missed = sum(abs(m.release((1,) * 50, rng=rng).value - 1.3) > m.error(0.1) for _ in range(1000))
    assert missed <= 150
    assert m.width == 8
    assert math.isclose(m.error(0.1), (m.noise.reach(0.1) / 5 + 0.5) * 0.25)


def test_more_blocks_mean_less_noise_for_the_same_budget():
    errors = [mechanism(blocks=blocks, epsilon=1, grid=0.01).error(0.05) for blocks in (1, 10, 100)]
    assert errors[0] > 9 * errors[1] > 80 * errors[2]


def test_both_ways_in():
    public = {name: value for name, value in PUBLIC.items() if name != "epsilon"} | {"grid": Fraction(1, 100)}
    found = SubsampleAggregate.for_error(alpha=0.5, beta=0.05, **public)
    assert found.error(0.05) <= 0.5
    assert found == SubsampleAggregate(epsilon=found.epsilon, **public)
    assert SubsampleAggregate(epsilon=found.epsilon * Fraction(9, 10), **public).error(0.05) > 0.5


@pytest.mark.parametrize(
    ("lower", "upper", "rounding"), [(0, 10, 0.5), (0, 10.9, 0.9), (0.2, 10, 0.8), (-0.75, 10.75, 0.75)]
)
def test_the_error_covers_bounds_off_the_grid(lower, upper, rounding):
    """Such bounds are rounded inwards. A sound bound is missed 148 times with probability below 1e-5."""
    made = mechanism(function=lambda rows: rows[0], lower=lower, upper=upper, epsilon=500, blocks=1)
    assert made.error(0.05) == rounding
    rng = unsafe_seeded(8)
    for truth in (lower, upper):
        released = [Fraction(made.release([truth], rng=rng).value) for _ in range(2000)]
        assert sum(abs(value - Fraction(str(truth))) > made.error(0.05) for value in released) < 148
