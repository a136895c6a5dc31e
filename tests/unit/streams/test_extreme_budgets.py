"""Errors on fine grids and at extreme budgets, where floats of noises come near their ends."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound
from discreet.noise import DiscreteLaplace
from discreet.streams import (
    BufferedCounter,
    CroppedMean,
    DynamicDensity,
    EndlessCounter,
    Event,
    HashedDensity,
    ModularIncidence,
    PanPrivateCounter,
    PanPrivateDensity,
    PanPrivateTree,
    RealElements,
    TreeCounter,
    UserStream,
    WideTreeCounter,
    WindowCounter,
)
from discreet.streams.noise_sums import NoiseSum

PURE = {
    "tree": TreeCounter,
    "consistent": lambda **given: TreeCounter(consistent=True, **given),
    "wide tree": WideTreeCounter,
    "endless": EndlessCounter,
    "window": lambda **given: WindowCounter(width=9, **given),
    "pan-private": PanPrivateCounter,
    "pan-private tree": PanPrivateTree,
}
TABLES = {
    "density": PanPrivateDensity,
    "incidence": lambda **given: ModularIncidence(modulus=3, **given),
    "cropped": lambda **given: CroppedMean(crop=3, **given),
    "hashed": lambda **given: HashedDensity(cells=1000, key=1, **given),
    "dynamic": lambda **given: DynamicDensity(cells=1000, key=1, modulus=3, **given),
}


def build(kind, **given):
    return PURE[kind](**{"horizon": 40, "epsilon": 1, "delta": 0, "neighbours": Event(), **given})


def tell_errors(counter):
    steps = (1, 7, 40)
    return [counter.error(0.05), *(counter.error(0.05, step=step) for step in steps), counter.error(1e-6)]


@pytest.mark.parametrize("kind", PURE)
def test_errors_are_the_same_on_however_fine_a_grid(kind):
    """They were a tenth too small where a noise has 10**7 units, and not to be had where it has 10**9."""

    def tell(grid):
        return tell_errors(build(kind, elements=RealElements(lower=0, upper=1, grid=Fraction(1, grid))))

    coarse = tell(10**4)
    for grid in (10**6, 10**7, 10**8, 10**10, 10**12):
        assert tell(grid) == pytest.approx(coarse, rel=5e-3)  # the coarse ones hold half a grid a step


@pytest.mark.parametrize("kind", PURE)
def test_errors_grow_as_budgets_shrink(kind):
    usual = tell_errors(build(kind, epsilon=Fraction(1, 1000)))
    for power in (6, 7, 8, 10, 12):
        scaled = [
            error / 10 ** (power - 3) for error in tell_errors(build(kind, epsilon=Fraction(1, 10**power)))
        ]
        assert scaled == pytest.approx(usual, rel=2e-3)


@pytest.mark.parametrize("kind", PURE)
def test_no_budget_breaks_a_counter(kind):
    for epsilon in (1e4, 1e6, 1e300):  # so much that there is next to no noise
        counter = build(kind, epsilon=epsilon)
        assert counter.error(0.05) <= 1 and counter.mean_variance < 1e-290
        assert (
            counter.open().push_many([1] * 40)[-1] == (4 if kind == "window" else 40) + (kind == "window") * 5
        )
    for epsilon in (1e-17, 1e-300, Fraction(1, 10**400)):
        with pytest.raises(InvalidParameter, match="large enough for noise of at most"):
            build(kind, epsilon=epsilon)


def test_gaussian_noise_beyond_words_is_refused():
    given = {"horizon": 40, "epsilon": 1e-12, "delta": 1e-12, "neighbours": Event()}
    fine = RealElements(lower=0, upper=1, grid=Fraction(1, 10**7))
    for kind, bits in ((TreeCounter, 54), (PanPrivateCounter, 48), (PanPrivateTree, 48)):
        kind(**given)
        with pytest.raises(InvalidParameter, match=rf"noise of at most 2\*\*{bits} units"):
            kind(elements=fine, **given)
    BufferedCounter(**given)
    with pytest.raises(InvalidParameter, match=r"noise of at most 2\*\*56 units"):
        BufferedCounter(fineness=10**7, **given)


def test_sums_of_very_many_noises_have_their_tails():
    """With 64 branches an answer adds up hundreds of noises, for which the tail took hours."""
    noise, times = DiscreteLaplace(Fraction(3)), 250
    masses = np.exp(-np.abs(np.arange(-2048, 2048)) / 3.0)
    sums = np.fft.irfft(np.fft.rfft(np.fft.ifftshift(masses / masses.sum())) ** times, 4096)
    for alpha in (0, 40, 150, 300):
        beyond = 1 - sums[0] - 2 * sums[1 : alpha + 1].sum()
        assert NoiseSum(noise, times).beyond(alpha) == pytest.approx(beyond, rel=1e-6)
    wide = TreeCounter(horizon=1 << 20, epsilon=1, delta=0, neighbours=Event(), branching=64)
    assert 4 < wide.error(0.05) / wide.variance((1 << 20) - 1) ** 0.5 < 7  # so many steps, and one of them


@pytest.mark.parametrize("kind", TABLES)
def test_tables_refuse_budgets_that_floats_cannot_hold(kind):
    """Errors were negative, or next to nothing, where the contrast of a cell was lost."""
    for epsilon in (1e-20, 1e-300, Fraction(1, 10**400)):
        with pytest.raises(InvalidParameter, match="large enough for looks that cost"):
            TABLES[kind](users=100, epsilon=epsilon, neighbours=UserStream())
    small = TABLES[kind](users=100, epsilon=1e-12, neighbours=UserStream())
    if kind in ("hashed", "dynamic"):
        with pytest.raises(NoBound):
            small.error(0.05)
    else:
        assert small.error(0.05) > 1e10
