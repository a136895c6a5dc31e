"""Tables about users: what they read, keep and forget, how often they answer, what they estimate."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.core.rng import SYSTEM, Rng
from discreet.streams import (
    CroppedMean,
    DynamicDensity,
    Event,
    HashedDensity,
    HeavyHitterFraction,
    IncidenceFraction,
    ModularIncidence,
    PanPrivateDensity,
    StreamCheckpoint,
    UserEvents,
    UserStream,
)
from discreet.streams.pan_private.user_table import MOST_USERS
from discreet.testing import unsafe_seeded

SURE = {"epsilon": 4000, "share": Fraction(1, 2), "neighbours": UserStream()}
"""Budgets at which every coin falls on one side: a table then tells the truth."""
ODD = (
    "eve",
    None,
    math.nan,
    10**400,
    -(10**5000),
    -1,
    0.5,
    b"eve",
    object(),
    True,
    {},
    (1, 2, 3),
    [],
    float("inf"),
)


def density(**given):
    return PanPrivateDensity(**{"users": 100, "epsilon": 1, "neighbours": UserStream(), **given})


def cells(conversation):
    return conversation.state.reveal()["cells"]


def test_with_a_huge_budget_every_table_tells_the_truth():
    stream = [0, 1, (2, 2), np.int64(3), 1, (1, 1), 3.0, (4, 7)]  # comings: 1, 3, 2, 2, 7
    answers = {
        PanPrivateDensity(users=10, **SURE): 0.5,
        CroppedMean(users=10, crop=3, **SURE): (1 + 3 + 2 + 2 + 3) / 10,
        HeavyHitterFraction(users=10, times=3, **SURE): 0.2,
        HeavyHitterFraction(users=10, times=1, **SURE): 0.5,
        IncidenceFraction(users=10, times=2, **SURE): 0.2,
        IncidenceFraction(users=10, times=1, **SURE): 0.1,
    }
    for table, truth in answers.items():
        seen = [table.open(rng=unsafe_seeded(seed)) for seed in range(60)]
        for conversation in seen:
            conversation.push_many(stream)
        # Counters of a crop begin anywhere, so bits are uncertain even then: the mean is not.
        mean = np.mean([conversation.estimate() for conversation in seen])
        spread = sum(abs(weight) for weight in getattr(table, "weights", ())) / 2 / math.sqrt(60 * 10)
        assert abs(mean - truth) <= 4 * spread + 1e-6, table


def test_incidences_count_round_and_take_back():
    table = ModularIncidence(users=10, modulus=4, **SURE)
    with table.open() as conversation:
        conversation.push_many([(0, 1), (0, -1), (1, 5), (2, -1), (3, 2), 3, (4, "x"), (5, 10**30)])
        estimate = conversation.estimate()
    # 0: 0, 1: 5 = 1, 2: -1 = 3, 3: 3, 4: 0, 5: clipped to 2**31 = 0
    assert np.allclose(estimate.fractions, [0.7, 0.1, 0, 0.2])
    assert estimate.exactly(3) == pytest.approx(0.2)
    assert estimate.at_least(1) == pytest.approx(0.3)
    assert estimate.cropped_mean(2) == pytest.approx(0.1 + 2 * 0.2)
    with pytest.raises(dp.errors.InvalidParameter, match="times"):
        estimate.exactly(4)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_nothing_about_an_element_raises_or_changes_a_cell(odd):
    for table in (density(), ModularIncidence(users=9, modulus=3, epsilon=1, neighbours=UserStream())):
        conversation = table.open(rng=unsafe_seeded(1))
        before = cells(conversation)
        conversation.push(odd)
        conversation.push((odd, 1))
        conversation.push_many([odd, odd])
        assert cells(conversation) == before
    for kind, given in ((HashedDensity, {}), (DynamicDensity, {"modulus": 3})):
        hashed = kind(users=9, cells=5, key=1, epsilon=1, neighbours=UserStream(), **given)
        hashed.open(rng=unsafe_seeded(1)).push_many([odd, (odd, odd), (odd, 1), ("a", odd)])


def test_a_name_may_be_numpys():
    """A text that came out of an array is hashed as the same text."""
    hashed = HashedDensity(users=9, cells=5, key=1, epsilon=1, neighbours=UserStream())
    plain, theirs = hashed.open(rng=unsafe_seeded(1)), hashed.open(rng=unsafe_seeded(1))
    plain.push_many(["ann", b"ann", 7, ("ben", 1)])
    theirs.push_many([np.str_("ann"), np.bytes_(b"ann"), np.int16(7), (np.str_("ben"), 1)])
    assert cells(plain) == cells(theirs) != cells(hashed.open(rng=unsafe_seeded(1)))


def test_arrays_of_other_things_than_whole_numbers_are_refused_by_their_type():
    with density().open() as conversation:
        with pytest.raises(dp.errors.InvalidParameter, match="elements"):
            conversation.push_many(np.array([0.5, 1.0]))
        conversation.push_many(np.array([3, 120, -1], dtype=np.int8))
        conversation.push_many(np.array([3, 2**64 - 1], dtype=np.uint64))
        assert not conversation.closed


def test_the_state_is_the_cells_and_says_nothing_of_how_many_came():
    conversation = density(answers=2).open(rng=unsafe_seeded(1))
    conversation.push_many([1, 2, 3])
    conversation.push(4)
    state = conversation.state.reveal()
    assert sorted(state) == ["answered", "cells", "refreshes"]
    assert state["answered"] == conversation.asked == 0
    assert len(state["cells"]) == 100 and set(state["cells"]) <= {0, 1}
    assert json.loads(json.dumps(state)) == state
    numbers = {value for value in vars(conversation).values() if type(value) is int}
    assert numbers <= {0, conversation._process}, "nothing in memory counts elements"
    conversation.estimate()
    assert conversation.state.reveal()["answered"] == 1


def test_answers_are_given_as_often_as_declared_and_then_the_cells_are_gone():
    conversation = density(answers=2, epsilon=9).open(rng=unsafe_seeded(1))
    conversation.push_many([1])
    conversation.estimate()
    assert any(cells(conversation))
    conversation.estimate()
    assert conversation.closed and not any(cells(conversation))
    with pytest.raises(dp.errors.ConversationClosed, match="paid for"):
        conversation.estimate()
    with pytest.raises(dp.errors.ConversationClosed):
        conversation.push(1)
    with density().open() as left:
        left.push(1)
    assert not any(cells(left)), "who leaves, overwrites"


def test_a_stream_that_is_there_is_taken_by_parts_and_its_end_is_no_secret_told():
    conversation = density(answers=2, **SURE | {"epsilon": 4000}).open([1, 2, 3, 4])
    assert conversation.ask(2) == pytest.approx(0.02)
    assert conversation.ask(9) == pytest.approx(0.04), "more than there are is as many as there are"


def test_refreshes_are_counted_and_the_last_look_needs_none():
    conversation = density(looks=3).open()
    conversation.refresh()
    conversation.refresh()
    assert conversation.refreshes == 2
    with pytest.raises(dp.errors.InvalidParameter, match="looks"):
        conversation.refresh()
    with pytest.raises(dp.errors.InvalidParameter, match="looks"):
        density().open().refresh()
    with pytest.raises(dp.errors.InvalidParameter, match="looks"):
        CroppedMean(users=5, crop=2, epsilon=1, neighbours=UserStream()).open().refresh()


@pytest.mark.parametrize("make", [density, lambda **given: ModularIncidence(modulus=3, users=100, **given)])
def test_a_refresh_changes_cells_and_not_what_they_estimate(make):
    table = make(epsilon=6, looks=3, neighbours=UserStream())
    found = []
    for seed in range(200):
        conversation = table.open(rng=unsafe_seeded(seed))
        conversation.push_many(list(range(30)))
        before = cells(conversation)
        conversation.refresh()
        assert cells(conversation) != before
        conversation.push_many(list(range(30, 50)))
        conversation.refresh()
        estimate = conversation.estimate()
        found.append(estimate if make is density else estimate.exactly(1))
    assert abs(np.mean(found) - 0.5) <= 4 * np.std(found) / math.sqrt(200)


def test_a_checkpoint_goes_on_where_it_was_written(tmp_path):
    table = density(looks=2, answers=2, epsilon=20)
    first = table.open(rng=unsafe_seeded(1))
    first.push_many(list(range(50)))
    first.refresh()
    first.estimate()
    state = first.state.reveal()
    first.checkpoint().write(tmp_path / "kept")
    assert first.closed and not any(cells(first))
    later = table.restore(StreamCheckpoint.read(tmp_path / "kept"), rng=unsafe_seeded(2))
    assert later.state.reveal() == state
    with pytest.raises(dp.errors.InvalidParameter, match="looks"):
        later.refresh()
    later.push_many(list(range(50, 100)))  # drawn as after a refresh
    assert 0.5 < later.estimate() and later.closed
    with pytest.raises(dp.errors.InvalidParameter, match="checkpoint"):
        later.checkpoint()


def test_the_budget_is_split_as_declared_and_said_in_words():
    table = density(epsilon=2, answers=4, looks=2, share=Fraction(3, 4))
    assert table.epsilon_state == Fraction(3, 4) and table.epsilon_answer == Fraction(1, 8)
    assert 2 * table.epsilon_state + 4 * table.epsilon_answer == 2
    assert table.words.endswith(
        "for 4 answers and the state at 2 moments, with a refresh after each but the last, together"
    )
    assert density().words.endswith("for one answer and the state at one moment together")
    heavy = HeavyHitterFraction(users=9, times=2, epsilon=2, neighbours=UserStream())
    assert 2 * heavy.epsilon_state + heavy.epsilon_answer == 2


def test_other_relations_and_sizes_are_refused():
    with pytest.raises(dp.errors.NeighboursMismatch, match="UserStream"):
        density(neighbours=Event())
    assert density(neighbours=UserEvents()).loss.epsilon(0) == 1
    with pytest.raises(dp.errors.InvalidParameter, match="users"):
        density(users=MOST_USERS + 1)
    with pytest.raises(dp.errors.InvalidParameter, match="modulus"):
        ModularIncidence(users=9, modulus=1 << 17, epsilon=1, neighbours=UserStream())
    with pytest.raises(dp.errors.InvalidParameter, match="prime"):
        DynamicDensity(users=9, cells=9, key=1, modulus=9, epsilon=1, neighbours=UserStream())
    with pytest.raises(dp.errors.InvalidParameter, match="crop"):
        CroppedMean(users=9, crop=1 << 21, epsilon=1, neighbours=UserStream())


def test_the_deviation_is_that_of_randomized_response():
    """0.96 / sqrt(m) where a look costs 1."""
    m = 100_000
    table = density(users=m, epsilon=2, share=Fraction(1, 2))
    deviation = 1 / (2 * math.sqrt(m) * math.sinh(0.5))
    assert deviation * math.sqrt(m) == pytest.approx(0.96, abs=0.005)
    answers = []
    for seed in range(60):
        conversation = table.open(rng=unsafe_seeded(seed))
        conversation.push_many(np.arange(30_000))
        answers.append(conversation.estimate())
    assert np.mean(answers) == pytest.approx(0.3, abs=4 * deviation / math.sqrt(60))
    assert 0.6 < np.std(answers) / deviation < 1.4
    assert table.error(0.05) < 2.1 * deviation


def test_few_cells_have_no_bound_and_full_ones_no_exception():
    full = HashedDensity(users=10**6, cells=10, key=1, epsilon=1, neighbours=UserStream())
    with pytest.raises(dp.errors.NoBound, match="keep more cells"):
        full.error(0.05)
    with full.open() as conversation:
        conversation.push_many([f"user {place}" for place in range(200)])
        assert 0 <= conversation.estimate() <= 1


def test_users_of_different_types_are_different_and_keys_mix():
    table = HashedDensity(users=9, cells=1 << 20, key=1, epsilon=1, neighbours=UserStream())
    places = [int(table._read([user])[0][0]) for user in (1, "1", b"1", "\ud800", -1, 10**5000)]
    assert len(set(places)) == 6
    other = HashedDensity(users=9, cells=1 << 20, key=2, epsilon=1, neighbours=UserStream())
    assert int(other._read([1])[0][0]) != places[0]
    assert table._read([(1, 5), 1])[0].tolist() == [places[0]] * 2


def test_what_was_taken_back_leaves_no_trace_in_a_sketch():
    sketch = DynamicDensity(users=9, cells=64, key=1, modulus=5, epsilon=1, neighbours=UserStream())
    conversation = sketch.open(rng=unsafe_seeded(1))
    before = cells(conversation)
    conversation.push_many([("anna", 1), ("ben", 3), ("anna", 2)])
    assert cells(conversation) != before
    conversation.push_many([("anna", -3), ("ben", -3)])
    assert cells(conversation) == before


class Closes(Rng):
    """Closes a conversation while it takes a step."""

    unsafe = True
    conversation = None

    def random_bytes(self, count):
        return SYSTEM.random_bytes(count)

    def perform(self, primitive, value):
        if self.conversation is not None:
            self.conversation.close()
        return SYSTEM.perform(primitive, value)


def test_a_table_that_is_closed_during_a_step_keeps_no_cell_of_it():
    rng = Closes()
    table = PanPrivateDensity(users=5, **SURE).open(rng=rng)
    rng.conversation = table
    table.push(3)
    assert table.closed and table.state.reveal()["cells"] == [0] * 5


def test_a_table_is_written_down_and_changed_in_its_own_process_only():
    table = PanPrivateDensity(users=5, **SURE).open()
    table._process += 1  # as a child sees it
    for step in (table.checkpoint, table.refresh, lambda: table.push(3)):
        with pytest.raises(dp.errors.ConversationClosed, match="another process"):
            step()
