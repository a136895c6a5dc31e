"""The keyed counter: a histogram over time, and what one event costs in it."""

from fractions import Fraction

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise

from discreet.core.errors import InvalidParameter
from discreet.core.rng import SYSTEM
from discreet.mechanisms.gaussian import discrete_loss
from discreet.streams import Contribution, Event, EventPresence, UserCap, UserEvents, WholeElements
from discreet.streams.counters.keyed_counter import KeyedCounter
from discreet.testing import CANARY, hostile_data, unsafe_seeded

KEYS = ("a", "b", 7)


def counter(horizon=20, **given):
    return KeyedCounter(
        **{
            "keys": KEYS,
            "horizon": horizon,
            "epsilon": 1,
            "delta": 0,
            "neighbours": Event(),
            **given,
        }
    )


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_every_key_is_counted_and_others_nowhere(delta):
    stream = ["a", "b", "a", 7, "7", None, True, 7.0, ["a"], b"a", "c", "b"]
    meant = [[1, 0, 0], [1, 1, 0], [2, 1, 0], [2, 1, 1]] + [[2, 1, 1]] * 7 + [[2, 2, 1]]
    single = counter(delta=delta).open(rng=NoNoise())
    assert np.array([single.push(key) for key in stream]) == pytest.approx(np.array(meant), abs=0.02)
    several = counter(delta=delta).open(rng=NoNoise())
    parts = [several.push_many(stream[:5]), several.push_many(stream[5:])]
    assert np.concatenate(parts) == pytest.approx(np.array(meant), abs=0.02)


def test_a_changed_event_is_in_two_keys_and_one_that_comes_or_goes_in_one():
    changed, came = counter(), counter(neighbours=EventPresence())
    assert (changed.touched, came.touched) == (2, 1)
    assert changed.each.noise.scale == 2 * came.each.noise.scale
    assert counter(keys=["a"]).touched == 1, "what is not declared counts nowhere"
    for mechanism in (counter(delta=1e-6), counter(delta=1e-6, neighbours=EventPresence())):
        assert mechanism.guarantee.implies(epsilon=1, delta=1e-6)
        assert not mechanism.guarantee.implies(epsilon=0.99, delta=1e-6)
        each = mechanism.each
        moved = mechanism.touched * each.encoding.square_shift(1, 1)
        assert discrete_loss(moved, each.noise.variance).delta(1) <= 1e-6
    two, one = counter(delta=1e-6).variance(20), counter(delta=1e-6, neighbours=EventPresence()).variance(20)
    assert two / one == pytest.approx(2, rel=0.01)


def test_a_persons_part_in_one_of_the_sums_is_hidden():
    sums = counter(neighbours=Contribution(1), elements=WholeElements(50))
    assert sums.each.moved == 1 and sums.touched == 1
    conversation = sums.open(rng=NoNoise())
    assert conversation.push([3, 99, None]).tolist() == [3, 50, 0]
    assert conversation.push_many([[1, 1], np.array([1, 2, 3]), "ab"]).tolist() == [
        [4, 51, 0],
        [5, 53, 3],
        [5, 53, 3],
    ]


def test_a_person_in_several_numbers_of_a_step_is_hidden_in_all_of_them():
    """With the budget of one number for each, pure; Gaussian, with twice the square of one."""
    given = {"neighbours": Contribution(2), "elements": WholeElements(50)}
    one, two, every = (counter(parts=parts, **given) for parts in (1, 2, 99))
    assert [each.touched for each in (one, two, every)] == [1, 2, 3]
    assert [each.each.epsilon for each in (one, two, every)] == [1, Fraction(1, 2), Fraction(1, 3)]
    both = counter(parts=2, delta=1e-6, **given)
    alone = both.each.encoding.square_shift(both.each.moved, 1)
    assert both.loss == discrete_loss(2 * alone, both.each.noise.variance)
    assert both.loss.exact_epsilon() is None and both.loss.epsilon(1e-6) <= 1
    assert both.variance(20) > 1.9 * counter(delta=1e-6, **given).variance(20)
    with pytest.raises(InvalidParameter, match="parts must be left out where an element is a key"):
        counter(parts=2)


@pytest.mark.parametrize("make", [np.int64, np.uint8, np.str_, str])
def test_keys_and_users_may_be_numpys(make):
    """One by one and at once: numbers and texts that came out of an array are keys like any others."""
    mechanism = counter(keys=[make("1"), make("2")])
    assert mechanism.keys in ((1, 2), ("1", "2"))
    for act in (lambda one: one.push(make("2")), lambda one: one.push_many([make("2")])[0]):
        assert act(mechanism.open(rng=NoNoise())).tolist() == [0, 1]
    users = counter(keys=mechanism.keys, neighbours=UserEvents(), cap=UserCap(1)).open(rng=NoNoise())
    plain = mechanism.keys[0]
    assert [users.push((user, make("1"))).tolist() for user in (make("1"), plain)] == [[1, 0], [1, 0]]


def test_all_events_of_a_user_in_any_keys():
    users = counter(neighbours=UserEvents(), cap=UserCap(2))
    assert users.each.total_shift == 2 * len(users.each.lengths)
    events = [("u", "a"), ("u", "b"), ("u", "a"), ("v", "a"), None, ("w", "c")]
    assert users.open(rng=NoNoise()).push_many(events)[-1].tolist() == [2, 1, 0]


def test_seen_errors_are_the_stated_ones():
    mechanism, rng, runs = counter(), unsafe_seeded(3), 800
    seen = np.array([mechanism.open([None] * 20, rng=rng).ask(20) for _ in range(runs)])
    stated = np.array([mechanism.variance(step) for step in range(1, 21)])
    assert np.all(np.abs(seen.var(axis=(0, 2)) / stated - 1) < 5 * np.sqrt(5 / (3 * runs)))
    assert np.mean(np.abs(seen).max(axis=(1, 2)) > mechanism.error(0.05)) <= 0.05
    missed = np.mean(np.abs(seen[:, 9]).max(axis=1) > mechanism.error(0.05, step=10))
    assert missed <= 0.05 + 4 * 0.0077


class HidesItself(np.int64):
    """A number that does not say which."""

    def item(self):
        raise ValueError(CANARY)


def test_nothing_that_is_pushed_raises():
    assert len(counter(5).open().push_many([HidesItself(3)])) == 1
    conversation = counter(5000, neighbours=Contribution(1), elements=WholeElements(1)).open()
    keyed = counter(5000).open()
    for odd in hostile_data():
        conversation.push(odd)
        keyed.push(odd)
        try:
            keyed.push_many(odd)
        except InvalidParameter as refusal:
            assert CANARY not in str(refusal)


@pytest.mark.parametrize(
    ("given", "refusal", "words"),
    [
        ({"keys": []}, InvalidParameter, "keys"),
        ({"keys": ["a", "a"]}, InvalidParameter, "keys"),
        ({"keys": [1.5]}, InvalidParameter, "keys"),
        ({"elements": WholeElements(3)}, InvalidParameter, "elements"),
        ({"neighbours": UserEvents(), "cap": UserCap(2), "parts": 2}, InvalidParameter, "parts"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(given, refusal, words):
    with pytest.raises(refusal, match=words):
        counter(**given)


def test_a_checkpoint_goes_on_where_it_stood():
    mechanism = counter()
    whole, begun = mechanism.open(rng=unsafe_seeded(5)), mechanism.open(rng=unsafe_seeded(5))
    rng = begun._rng
    before = [begun.push("a").tolist() for _ in range(7)]
    later = mechanism.restore(begun.checkpoint(), rng=rng)
    after = [later.push("b").tolist() for _ in range(13)]
    assert before + after == [whole.push(key).tolist() for key in ["a"] * 7 + ["b"] * 13]


@pytest.mark.parametrize("delta", [1e-9, Fraction(1, 10)])
def test_a_person_may_be_in_very_many_numbers_of_a_step(delta):
    """No epsilon of one counter alone has noise for as many as that, where delta is large."""
    many = counter(
        keys=range(400), parts=400, delta=delta, neighbours=Contribution(1), elements=WholeElements(9)
    )
    one = counter(delta=delta, neighbours=Contribution(1), elements=WholeElements(9))
    assert many.loss == discrete_loss(400 * one.each.square_shift, many.each.noise.variance)
    assert 0.999 < many.loss.epsilon(float(delta)) <= 1
    assert many.variance(20) == pytest.approx(400 * one.variance(20), rel=0.01)


def test_events_of_a_user_cost_no_more_in_several_keys_than_in_one_but_for_rounding():
    users = {"neighbours": UserEvents(), "cap": UserCap(3), "delta": 1e-6}
    one, many = counter(keys=["a"], **users), counter(keys=range(9), **users)
    assert one.each.streams == 1 and many.each.streams == 9
    assert one.each.square_shift < many.each.square_shift < 1.001 * one.each.square_shift
    assert many.each.square_shift == many.each.encoding.square_shift(1, 3, 3)
    assert many.guarantee.implies(epsilon=1, delta=1e-6)


def test_a_thousand_keys_in_one_process():
    mechanism = counter(200, keys=range(1000))
    answers = mechanism.open(rng=SYSTEM).push_many([step % 1000 for step in range(200)])
    assert answers.shape == (200, 1000)
