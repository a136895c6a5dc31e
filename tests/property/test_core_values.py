"""Properties of the core that hold for every value: order, symmetry, reading back."""

import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit.runs import freeze
from discreet.core import checks, rounding
from discreet.core.losses import normal
from discreet.core.neighbours import AddRemove, Replace, UserStream
from discreet.testing import awkward_numbers

rows = st.lists(st.integers(0, 4), max_size=8).map(tuple)
streams = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=6).map(tuple)


@settings(deadline=None)
@given(rows, rows, rows)
def test_multiset_distances_are_metrics(a, b, c):
    for relation in (AddRemove("row"), Replace("row")):
        assert relation.distance(a, b) == relation.distance(b, a)
        assert relation.distance(a, c) <= relation.distance(a, b) + relation.distance(b, c)
        assert (relation.distance(a, b) == 0) == (sorted(a) == sorted(b))


@settings(deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(data, random):
    shuffled = list(data)
    random.shuffle(shuffled)
    assert AddRemove("row").distance(data, shuffled) == 0
    assert Replace("row").distance(data, shuffled) == 0


@settings(deadline=None)
@given(rows, st.integers(0, 4), st.integers(0, 4))
def test_one_change_is_one_step(data, one, other):
    assert AddRemove("row").distance(data, (*data, one)) == 1
    assert Replace("row").distance((*data, one), (other, *data)) == (one != other)


@settings(deadline=None)
@given(streams, st.sampled_from("abc"))
def test_leaving_a_user_out_is_one_step(stream, user):
    without = tuple(event for event in stream if event[0] != user)
    assert UserStream().distance(stream, without) == (without != stream)


@settings(deadline=None)
@given(streams, streams, streams)
def test_stream_distances_are_metrics(a, b, c):
    relation = UserStream()
    assert relation.distance(a, b) == relation.distance(b, a)
    assert relation.distance(a, c) <= relation.distance(a, b) + relation.distance(b, c)
    assert (relation.distance(a, b) == 0) == (a == b)


@settings(deadline=None)
@given(st.floats(-40, 40), st.floats(-40, 40))
def test_the_normal_distribution_is_monotone_and_symmetric(x, y):
    low, high = sorted((x, y))
    assert normal.log_cdf(low) <= normal.log_cdf(high)
    assert math.isclose(normal.cdf(x) + normal.cdf(-x), 1, rel_tol=1e-15)
    if x > -30:
        assert math.isclose(math.exp(normal.log_cdf(x)), normal.cdf(x), rel_tol=1e-12)


@settings(deadline=None)
@given(st.fractions(min_value=0, max_value=60), st.fractions(min_value=0, max_value=60))
def test_exponential_bounds_keep_order_and_multiply(x, y):
    bits = 120
    (low_x, high_x), (low_y, high_y) = rounding.exp_bounds(x, bits), rounding.exp_bounds(y, bits)
    low, high = rounding.exp_bounds(x + y, bits)
    assert low_x * low_y >> bits <= high
    assert low << bits <= high_x * high_y + (2 << bits)
    if x <= y:
        assert low_y <= high_x


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=12))
def test_decimals_and_their_text_agree(x):
    assert checks.exact(x=x) == Fraction(str(x)) == checks.exact(x=Decimal(str(x)))


@settings(deadline=None)
@given(st.lists(awkward_numbers()), st.lists(awkward_numbers()))
def test_frozen_values_are_equal_when_they_print_alike(a, b):
    assert freeze(a) == freeze(list(a))
    hash(freeze(a))
    if [repr(x) for x in a] == [repr(x) for x in b]:
        assert freeze(a) == freeze(b)
