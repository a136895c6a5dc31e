"""What does not hold as printed in the sources of query release, each with its counterexample."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.enumeration import output_distribution
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.queries.dimension import fat_by_search
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.projected_halfspaces import printed_sizes
from discreet.query_release.population_count import mirrored_mod

# [DR14] section 12.4 ---------------------------------------------------------------------------------


def printed_projection(rows, rng):
    """Algorithm 18 for one query that counts everybody: project the noisy count onto [-n, n]."""
    n = len(rows)
    noisy = rng.perform(AddNoise(DiscreteLaplace(Fraction(2)), Fraction(1)), n)
    return min(max(noisy, -n), n)


def test_theorem_12_7_needs_a_public_number_of_rows():
    """Neighbours with one row and none: an answer of 1 is frequent on the one and impossible on the other."""
    one, none = (output_distribution(printed_projection, rows) for rows in ((0,), ()))
    assert one[1] > Fraction(1, 2)
    assert 1 not in none
    assert none[0] > 1 - Fraction(1, 1 << 50)


def test_theorem_12_8_is_false_for_few_queries():
    """One query, one cell: the bound is passed more than twice as often as it may be.

    With y = ln(2 |X| / beta) = 10 and noise of scale b, take n = b sqrt(24 y) / 4 rows; the stated bound on
    the squared error is n b sqrt(24 y) = (2 n)^2, so it fails when the noise takes the answer from n to -n.
    """
    delta, epsilon, y = 1e-6, 0.001, 10.0
    beta = 2 * math.exp(-y)
    scale = math.sqrt(8 * math.log(1 / delta)) / epsilon
    n = math.ceil(scale * math.sqrt(24 * y) / 4)
    stated = n * math.sqrt(192 * math.log(1 / delta) * math.log(2 / beta)) / epsilon
    needed = math.ceil(math.sqrt(stated))
    assert needed <= 2 * n
    passed = float(DiscreteLaplace(Fraction(scale)).tail(needed))
    assert passed > 2 * beta


def test_the_factor_two_of_lemma_12_9_is_not_needed():
    """The angle at a projection is obtuse: |a - p|^2 <= <p - a, noise>, without the 2."""
    generator = np.random.default_rng(1)  # noqa: TID251
    for _ in range(200):
        inside = generator.dirichlet(np.ones(4)) * 3
        noise = generator.normal(size=4) * 2
        target = inside + noise
        level = max((np.sort(target)[::-1][: k + 1].sum() - 3) / (k + 1) for k in range(4))
        nearest = np.maximum(target - level, 0)
        assert np.sum((inside - nearest) ** 2) <= (nearest - inside) @ noise + 1e-9


# [Roth10] chapter 3 ----------------------------------------------------------------------------------


def test_a_scale_that_depends_on_the_number_of_rows_is_not_private():
    """Observation 3 with rows added or removed: averages with noise Lap(1 / (alpha n)).

    Everybody answers 0, so both averages are 0; the noise of n = 10 and n = 11 rows loses any amount far out.
    """
    alpha = 1.0

    def log_density(n, x):
        return math.log(alpha * n / 2) - alpha * n * abs(x)

    losses = [log_density(10, x) - log_density(11, x) for x in (0.5, 2.0, 50.0)]
    assert losses[0] < alpha < losses[1] < losses[2]
    assert losses[2] > 49 * alpha


def test_the_rows_for_halfspaces_are_a_product_not_a_sum():
    """Section 3.6: solving m |N| exp(-eps n alpha / (m |N|)) <= delta multiplies m |N| and its logarithm."""
    counts, accuracy, epsilon, delta = 1000.0, 0.1, 1.0, 0.05
    printed = (math.log(1 / delta) + math.log(counts) + counts) / (accuracy * epsilon)
    needed = counts / (accuracy * epsilon) * math.log(counts / delta)

    def missed(n):
        return counts * math.exp(-accuracy * n * epsilon / counts)

    assert missed(needed) == pytest.approx(delta)
    assert missed(printed) > 100 * delta
    sizes = printed_sizes(margin=0.5, accuracy=0.1, beta=0.05, epsilon=1, bits=1, attributes=2)
    assert sizes.log10_rows > sizes.log10_counts + 1


def test_points_within_the_margin_cannot_be_counted_at_will():
    """Section 3.6: "equivalently, we may count or not count any point within the margin" is not equivalent.

    Normal (0, 1). A point just above the border on the right and one just below it on the left are both
    within the margin, but every halfspace that is near counts at least one of them: 0 is not an answer.
    """
    points = np.array([[1000, 1], [-1000, -1]])
    for tilt in np.linspace(-0.01, 0.01, 2001):
        normal = np.array([math.sin(tilt), math.cos(tilt)])
        assert (points @ normal >= 0).sum() >= 1
    lengths = np.linalg.norm(points, axis=1)
    assert (np.abs(points @ [0, 1]) / lengths < 0.01).all()


# [Roth10] section 3.7 --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_two_neighbours_are_met_with_probability_two_over_n_plus_one_squared(n):
    """Theorem 12 prints 2 / n^2."""
    people = range(n + 1)
    samples = [frozenset(people) - {left_out} for left_out in people]
    wanted = {samples[0], samples[1]}
    met = sum({a, b} == wanted for a, b in itertools.product(samples, repeat=2))
    assert Fraction(met, len(samples) ** 2) == Fraction(2, (n + 1) ** 2) < Fraction(2, n * n)


def test_the_ratio_of_theorem_13_holds_outside_the_two_answers_only():
    """The printed exponent lacks n, and between the answers the ratio is larger than stated."""
    noise = DiscreteLaplace(Fraction(4))  # alpha 1/4
    left, right = mirrored_mod(7, 8), mirrored_mod(0, 8)
    assert (left, right) == (7, 0)

    def ratio(x):
        return math.log(noise.pmf(x - left) / noise.pmf(x - right))

    for outside in (-3, 0):
        assert ratio(outside) == pytest.approx(-7 / 4)
    assert ratio(3) == pytest.approx(-1 / 4)
    assert ratio(7) == pytest.approx(7 / 4)


# [Roth10] chapter 5 ----------------------------------------------------------------------------------


def test_the_output_of_section_5_4_reveals_the_norm():
    """D_out is scaled to |D|, so neighbours have no output in common."""
    sums = [
        {sum(Fraction(norm, 2) * k for k in split) for split in ((2, 0), (1, 1), (0, 2))} for norm in (3, 4)
    ]
    assert sums == [{3}, {4}]


def test_the_sensitivity_of_section_5_4_is_one_and_not_by_the_printed_steps():
    """It is sup |q_i - the small database's mean|; the printed second term can be 1 and is called 1 / m."""
    m, levels = 3, [Fraction(k, 4) for k in range(5)]
    moved, second = Fraction(0), Fraction(0)
    for weights in itertools.product(levels, repeat=2):
        for small in itertools.combinations_with_replacement(range(2), m):
            mean = sum(weights[cell] for cell in small) / m
            second = max(second, mean)
            for data in ((1, 0), (2, 1), (0, 3)):
                for cell in range(2):
                    more = tuple(c + (k == cell) for k, c in enumerate(data))
                    scores = [
                        abs(sum(c * w for c, w in zip(d, weights, strict=True)) - sum(d) * mean)
                        for d in (data, more)
                    ]
                    moved = max(moved, abs(scores[0] - scores[1]))
    assert moved == 1 < 1 + Fraction(1, m)
    assert second == 1 > Fraction(1, m)


def test_the_index_of_theorem_31_goes_the_wrong_way():
    """The dimension falls as its width grows: the one at 2 eta / 5 can be 0 where that at eta / 10 is not."""
    eta = Fraction(1, 2)
    cells = Universe([("cell", (0, 1))])
    rows = [(0.45 + 0.1 * a, 0.45 + 0.1 * b) for a, b in itertools.product((0, 1), repeat=2)]
    workload = Weighted(cells, [(["cell"], row) for row in rows])
    assert fat_by_search(workload, 2 * eta / 5) == 0
    assert fat_by_search(workload, eta / 11) == 2
