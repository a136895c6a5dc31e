import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import audit
from discreet.audit.exact_report import exact
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import ApproxLoss
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.grid import LIMIT, Bounds
from discreet.mechanisms.propose_test_release import CARD, MedianDistance, ProposeTestRelease, StableMedian
from discreet.testing import unsafe_seeded

ROWS = Replace("row")
PUBLIC = {
    "bound": 1, "lower": 0, "upper": 3, "grid": 1,
    "epsilon_test": 2, "epsilon_release": 2, "delta": 0.01, "neighbours": ROWS,
}  # fmt: skip


def mechanism(**changed):
    return ProposeTestRelease.median(**(PUBLIC | changed))


@pytest.mark.parametrize("name", ["bound", "grid", "epsilon_test", "epsilon_release", "delta"])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_bad_numbers_are_refused_by_name(name, bad):
    with pytest.raises(InvalidParameter, match=f"{name} must be"):
        mechanism(**{name: bad})


@pytest.mark.parametrize("name", ["lower", "upper"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "1", None])
def test_bad_bounds_are_refused_by_name(name, bad):
    with pytest.raises(InvalidParameter, match=f"{name} must be"):
        mechanism(**{name: bad})


def test_bounds_the_wrong_way_round_and_tiny_deltas_are_refused():
    with pytest.raises(InvalidParameter, match="upper must be such that two grid values"):
        mechanism(lower=3, upper=3)
    with pytest.raises(InvalidParameter, match=r"delta must be > 2\*\*-99"):
        mechanism(delta=Fraction(1, 1 << 100))


WIDE = {"grid": 1e-12, "bound": 1e-11, "delta": 1e-6, "epsilon_test": 5, "epsilon_release": 5}


def test_bounds_too_wide_for_whole_numbers_of_the_grid_are_refused():
    """Differences turned around beyond 64 bits: one row moved a "stable" median by all of the range."""
    for bounds in ((-(10**8), 10**8), (0, Fraction(LIMIT, 2 * 10**12) + 1), (-(10**300), 0)):
        with pytest.raises(InvalidParameter, match="coarser grid"):
            mechanism(lower=bounds[0], upper=bounds[1], **WIDE)
    far = 2_305_843
    widest = mechanism(lower=-far, upper=far, **WIDE)
    for above in (20, 21):
        rows = [-far] * (40 - above) + [far] * above
        assert widest.distance(rows) == 0
        assert widest.release(rows).value is None


@pytest.mark.parametrize("name", ["distance", "value"])
def test_functions_must_be_functions(name):
    good = {"distance": len, "value": len} | {name: 3}
    with pytest.raises(InvalidParameter, match=f"{name} must be a function"):
        ProposeTestRelease(
            bound=1, epsilon_test=1, epsilon_release=1, delta=0.01, grid=1, neighbours=ROWS, **good
        )


def test_neighbours_are_required_and_the_medians_are_replaced_rows():
    public = {name: value for name, value in PUBLIC.items() if name != "neighbours"}
    with pytest.raises(TypeError):
        ProposeTestRelease.median(**public)
    with pytest.raises(NeighboursMismatch, match="Replace"):
        mechanism(neighbours=AddRemove("row"))
    with pytest.raises(InvalidParameter, match="neighbours"):
        mechanism(neighbours="row")


def brute_force_distances(domain, size, bound):
    """Return how many replacements every data set is away from one with a larger local sensitivity."""
    every = list(itertools.combinations_with_replacement(domain, size))

    def median(rows):
        return sorted(rows)[(size + 1) // 2 - 1]

    def changed(rows):
        return {tuple(sorted((*rows[:i], other, *rows[i + 1 :]))) for i in range(size) for other in domain}

    unstable = {rows for rows in every if any(abs(median(rows) - median(r)) > bound for r in changed(rows))}
    distance, frontier, steps = {}, unstable, 0
    while frontier:
        distance |= dict.fromkeys(frontier, steps)
        frontier = {rows for near in frontier for rows in changed(near)} - distance.keys()
        steps += 1
    return every, distance


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("bound", [0, 1, 2, 3, 4])
def test_the_distance_of_the_median_is_the_brute_force_one(size, bound):
    every, distance = brute_force_distances(range(5), size, bound)
    function = MedianDistance(Bounds(Fraction(1), Fraction(0), Fraction(4)), bound)
    for rows in every:
        assert function(rows) == distance.get(rows, size + 1)


def test_one_change_moves_the_distance_by_at_most_one():
    function = MedianDistance(Bounds(Fraction(1), Fraction(0), Fraction(9)), 2)
    for rows in unsafe_seeded(1).words(1400).reshape(200, 7) % np.uint64(10):
        for place, other in itertools.product(range(7), (0, 5, 9)):
            near = rows.astype(np.int64)
            near[place] = other
            assert abs(function(rows) - function(near)) <= 1


def test_the_median_is_clamped_rounded_and_total():
    rows = Bounds(Fraction(1, 2), Fraction(-1), Fraction(10))
    median = StableMedian(rows)
    assert median([1, 2, 3]) == 2
    assert median([1, 2, 3, 4]) == 2  # the lower one
    assert median([0.26, 0.26, 9]) == Fraction(1, 2)
    assert median([99, 99, -99]) == 10
    assert median([float("nan"), 5, -5]) == 0
    assert median([]) == -1
    assert MedianDistance(rows, 3)([]) == 0


def test_the_threshold_is_the_smallest_that_keeps_delta():
    for epsilon, delta in ((2, 0.01), (1, 1e-6), (0.1, 1e-9), (5, 0.3), (1, 0.6)):
        m = mechanism(epsilon_test=epsilon, delta=delta)
        assert m.test_noise.tail(m.threshold) <= Fraction(str(delta))
        assert m.threshold == 1 or m.test_noise.tail(m.threshold - 1) > Fraction(str(delta))


def test_exact_loss_is_within_the_claim_on_all_pairs():
    tiny, *_ = CARD.tiny()
    report = exact(tiny.mechanism, tiny.pairs)
    assert report.holds, report
    assert report.pairs == 120
    assert report.ratio > 0.6


class LowThreshold(ProposeTestRelease):
    __slots__ = ()

    @property
    def threshold(self):
        return 2


class WrongDistance(MedianDistance):
    """Takes the local sensitivity of the data for that of everything near: the classical mistake."""

    def __call__(self, data):
        return 10 if super().__call__(data) > 0 else 0


def test_a_threshold_one_too_low_is_caught():
    """Negative control: P[Z >= 2] = 0.016 > delta = 0.01."""
    tiny, *_ = CARD.tiny()
    wrong = LowThreshold.median(**PUBLIC)
    assert wrong.threshold == tiny.mechanism.threshold - 1
    assert not exact(wrong, tiny.pairs).holds


def test_a_distance_that_jumps_is_caught():
    tiny, *_ = CARD.tiny()
    right = tiny.mechanism
    wrong = ProposeTestRelease(
        bound=1, epsilon_test=2, epsilon_release=2, delta=0.01, grid=1, neighbours=ROWS,
        distance=WrongDistance(right.distance.bounds, 1), value=right.value,
    )  # fmt: skip
    assert not exact(wrong, tiny.pairs).holds


def test_noise_for_a_smaller_bound_is_caught():
    class LargeSteps(ProposeTestRelease):
        __slots__ = ()

        @property
        def loss(self):
            return ApproxLoss(Fraction(2), self.delta)

    tiny, *_ = CARD.tiny()
    assert not exact(LargeSteps.median(**(PUBLIC | {"epsilon_release": 6})), tiny.pairs).holds


def test_stable_data_get_a_reply_within_the_error():
    """400 runs at beta 0.05 each: more than 45 of either kind has probability below 1e-6."""
    m, rng = mechanism(upper=100, bound=2, epsilon_test=1, epsilon_release=1, delta=1e-6), unsafe_seeded(1)
    data = tuple(range(30, 70)) * 20
    assert m.distance(data) >= m.needed_distance(0.05)
    replies = [m.release(data, rng=rng).value for _ in range(400)]
    assert sum(reply is None for reply in replies) <= 45
    assert sum(reply is not None and abs(reply - 49) > m.error(0.05) for reply in replies) <= 45


def test_no_reply_is_an_outcome_and_costs_the_same():
    m = mechanism(upper=100, delta=1e-9)
    released = m.release((0, 0, 100, 100, 100), rng=unsafe_seeded(2))
    assert released.value is None
    assert released.guarantee == m.guarantee
    assert "epsilon 4 at delta 1e-09" in repr(released)
    with pytest.raises(InvalidParameter, match="to have an interval"):
        released.interval(0.95)


def test_any_function_will_do_and_its_failures_look_like_zero():
    def fails(_):
        raise RuntimeError("secret")

    public = {
        "bound": 1,
        "epsilon_test": 9,
        "epsilon_release": 9,
        "delta": 0.1,
        "grid": 1,
        "neighbours": ROWS,
    }
    silent = ProposeTestRelease(distance=fails, value=fails, **public)
    replies = {silent.release("anything", rng=unsafe_seeded(seed)).value for seed in range(50)}
    assert None in replies
    stable = ProposeTestRelease(distance=lambda _: float("inf"), value=lambda _: 7.2, **public)
    assert stable.release("anything").value is None  # infinity is not a number: count steps
    sure = ProposeTestRelease(distance=lambda _: 10**30, value=lambda _: 7.2, **public)
    assert abs(sure.release("anything", rng=unsafe_seeded(3)).value - 7) < 9


def test_both_ways_in():
    public = {
        name: value for name, value in PUBLIC.items() if name not in ("epsilon_test", "epsilon_release")
    }
    half = ProposeTestRelease.split_evenly(
        3, distance=len, value=len, **{k: v for k, v in public.items() if k not in ("lower", "upper")}
    )
    assert half.epsilon_test == half.epsilon_release == Fraction(3, 2)
    assert half.guarantee.implies(epsilon=3, delta=0.01)
    found = ProposeTestRelease.for_error(
        alpha=5,
        beta=0.05,
        epsilon_test=1,
        distance=len,
        value=len,
        bound=1,
        grid=1,
        delta=0.01,
        neighbours=ROWS,
    )
    assert found.error(0.05) <= 5


def test_instances_are_values():
    assert {mechanism()} == {mechanism()}
    assert mechanism() != mechanism(bound=2)


def test_the_median_says_the_way_out():
    with pytest.raises(NeighboursMismatch, match=r"Pass neighbours=Replace\(.*SubsampleAggregate"):
        ProposeTestRelease.median(**(PUBLIC | {"neighbours": AddRemove("row")}))


@pytest.mark.parametrize("bad", ["unknown", 10**400, 1j, object(), [1]], ids=lambda bad: type(bad).__name__)
def test_one_malformed_row_does_not_switch_the_median_off(bad):
    steady = mechanism(bound=2, upper=100, epsilon_test=1, epsilon_release=1, delta=1e-6)
    clean = (50,) * 401
    assert audit.replay(steady, (clean, (*clean[:-1], bad))).holds


@pytest.mark.parametrize(("upper", "rounding"), [(10, 0.5), (10.4, 0.5), (10.9, 0.9)])
def test_the_error_covers_bounds_off_the_grid(upper, rounding):
    """At beta 0.05 a sound bound is missed 148 times in 2,000 with probability below 1e-5."""
    made, rng = mechanism(upper=upper, bound=11, epsilon_test=50, epsilon_release=5000), unsafe_seeded(9)
    assert made.error(0.05) == rounding
    replies = [made.release([upper] * 9, rng=rng).value for _ in range(2000)]
    assert sum(abs(reply - Fraction(str(upper))) > made.error(0.05) for reply in replies) < 148


def test_a_number_of_ones_own_is_rounded_to_the_nearest():
    public = {name: value for name, value in PUBLIC.items() if name not in ("lower", "upper")}
    made = ProposeTestRelease(distance=len, value=len, **(public | {"epsilon_release": 5000}))
    assert made.error(0.05) == 0.5


@pytest.mark.parametrize(("lower", "upper"), [(-(2**63), 2**63 - 1), (-(2**62), 2**62), (0, 10**30)])
def test_the_median_has_bounds_whose_difference_fits(lower, upper):
    with pytest.raises(InvalidParameter, match="within 2\\^61 multiples"):
        mechanism(lower=lower, upper=upper)
    widest = mechanism(lower=-(2**61), upper=2**61)
    assert widest.distance([2**61] * 9) == 4 == widest.distance([-(2**61)] * 9)


@pytest.mark.parametrize("kind", [int, Fraction, Decimal, np.int64], ids=lambda kind: kind.__name__)
def test_rows_beyond_what_floats_hold_are_read_exactly(kind):
    """2^60 + 100 was 76 less, where the error said one half."""
    rows, wide = [kind(2**60 + 100)] * 50, mechanism(lower=0, upper=2**61)
    assert wide.value(rows) == 2**60 + 100 == wide.value(np.array(rows))
    assert wide.value([*rows, 0.5]) == 2**60 + 100, "nor is one because another row is a float"
    fine = mechanism(lower=0, upper=1, grid=Fraction(1, 10), bound=Fraction(1, 10))
    assert fine.value(np.full(9, 0.35, np.float32)) == Fraction(4, 10) == fine.value([np.float32(0.35)] * 9)
