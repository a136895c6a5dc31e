"""What all counters share: what a stream may do, what is refused, and how one goes on later."""

import copy
import functools
import os
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise, counter

import discreet as dp
from discreet.core.errors import ConversationClosed, InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import AddRemove, Replace, UserStream
from discreet.core.rng import SYSTEM, Rng
from discreet.streams import (
    Contribution,
    Event,
    EventPresence,
    RealElements,
    StreamCheckpoint,
    TreeCounter,
    UserCap,
    UserEvents,
    Which,
    WholeElements,
    plan,
)
from discreet.testing import CANARY, hostile_data, unsafe_seeded

REAL = RealElements(lower=1, upper=5, grid=0.5)


@pytest.mark.parametrize("changing", [UserStream(), AddRemove("row"), Replace("row")])
def test_relations_that_change_the_length_are_refused_by_name(changing):
    with pytest.raises(NeighboursMismatch, match=rf"cannot hide {changing}.*EventPresence\(\)"):
        counter(8, neighbours=changing)


def test_the_range_of_a_sum_over_people_is_declared_never_guessed():
    """A week of 200 cases counted as 1 where nobody had said how many there may be."""
    public = {"epsilon": 1, "delta": 0, "neighbours": Contribution(1)}
    with pytest.raises(
        InvalidParameter, match=r"elements must be given for Contribution.*WholeElements\(200\)"
    ):
        TreeCounter(horizon=10, **public)
    with pytest.raises(InvalidParameter, match="elements must be given"):
        plan(10, **public)
    assert TreeCounter(horizon=10, epsilon=1, delta=0, neighbours=Event()).elements == WholeElements(1)


def test_a_cap_is_for_users():
    with pytest.raises(InvalidParameter, match="cap must be given for UserEvents"):
        counter(8, neighbours=UserEvents())
    with pytest.raises(InvalidParameter, match="cap"):
        counter(8, cap=UserCap(3))


def test_no_element_raises_and_each_has_its_meaning():
    odd = [7, -7, None, float("nan"), float("inf"), "x", True, 0.6, [1], object(), np.int64(3), 10**400]
    meant = [2, 0, 0, 0, 2, 0, 1, 1, 0, 0, 2, 2]
    mechanism = counter(len(odd), elements=WholeElements(2))
    one = mechanism.open(rng=NoNoise())
    assert [one.push(element) for element in odd] == np.cumsum(meant).tolist()
    assert mechanism.open(rng=NoNoise()).push_many(odd).tolist() == np.cumsum(meant).tolist()


def test_nothing_is_the_number_nearest_to_zero_where_elements_are_replaced():
    pushed, replaced = [None, 2.7, 99], counter(3, elements=REAL)
    assert replaced.moved == 8  # of halves
    assert replaced.open(rng=NoNoise()).push_many(pushed).tolist() == [1, 3.5, 8.5]
    present = counter(3, elements=REAL, neighbours=EventPresence())
    assert present.moved == 10
    assert present.open(rng=NoNoise()).push_many(pushed).tolist() == [0, 2.5, 7.5]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.float32, np.float64, np.bool_])
def test_arrays_and_lists_mean_the_same(kind):
    stream = np.array([0, 1, 2, 3, 1], dtype=np.float64).astype(kind)
    for elements in (WholeElements(2), WholeElements(10**6), REAL):
        mechanism = counter(5, elements=elements)
        from_list = mechanism.open(rng=NoNoise()).push_many(stream.tolist())
        assert mechanism.open(rng=NoNoise()).push_many(stream).tolist() == from_list.tolist()
        held = mechanism.open(stream, rng=NoNoise())
        assert held.ask(3).tolist() + held.ask(2).tolist() == from_list.tolist()


def test_odd_containers_are_refused_by_type_and_repeat_nothing():
    mechanism = counter(50)
    for odd in hostile_data():
        conversation = mechanism.open()
        for act in (conversation.push_many, mechanism.open):
            try:
                act(odd)
            except InvalidParameter as refusal:
                assert CANARY not in str(refusal)
        conversation.push(odd)


def test_users_are_capped_by_the_declared_rule():
    events = [("a", 1), ("a", 1), ("b", 1), ("a", 1), None, ("a", 1), (3.5, 1), "ab"]
    first = counter(8, neighbours=UserEvents(), cap=UserCap(2))
    spread = counter(8, neighbours=UserEvents(), cap=UserCap(2, Which.SPREAD))
    assert first.open(rng=NoNoise()).push_many(events).tolist() == [1, 2, 3, 3, 3, 3, 3, 3]
    assert spread.open(rng=NoNoise()).push_many(events).tolist() == [1, 1, 2, 2, 2, 3, 3, 3]


def test_the_horizon_ends_a_conversation():
    conversation = counter(3).open()
    with pytest.raises(InvalidParameter, match="at most as many as there are steps left, 3"):
        conversation.push_many([1] * 4)
    assert conversation.steps == 0
    conversation.push_many([1, 1])
    conversation.push(1)
    for push in (lambda: conversation.push(1), lambda: conversation.push_many([1])):
        with pytest.raises(ConversationClosed, match="all 3 steps"):
            push()


def test_sums_that_could_wrap_are_refused():
    with pytest.raises(InvalidParameter, match=r"below 2\*\*61"):
        counter(2**40, elements=WholeElements(2**40))


class Interrupted(Rng):
    unsafe = False

    def random_bytes(self, count):
        return SYSTEM.random_bytes(count)

    def perform(self, primitive, value):
        raise KeyboardInterrupt


@pytest.mark.parametrize("act", ["push", "push_many"])
def test_a_step_that_is_interrupted_ends_the_conversation(act):
    conversation = counter(3).open(rng=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        getattr(conversation, act)([1])
    assert conversation.closed


@pytest.mark.parametrize("at", [0, 1, 5, 8, 10])
def test_a_checkpoint_goes_on_as_if_nothing_had_happened(at, tmp_path):
    stream = [(f"u{place % 3}", place % 2) for place in range(12)]
    for given in ({}, {"neighbours": UserEvents(), "cap": UserCap(2)}):
        elements = stream if given else [bit for _, bit in stream]
        mechanism = counter(12, **given)
        whole = mechanism.open(rng=NoNoise()).push_many(elements).tolist()
        begun = mechanism.open(rng=NoNoise())
        before = begun.push_many(elements[:at]).tolist()
        begun.checkpoint().write(tmp_path / f"{len(given)}")
        assert begun.closed
        later = mechanism.restore(StreamCheckpoint.read(tmp_path / f"{len(given)}"), rng=NoNoise())
        assert later.steps == at
        assert before + later.push_many(elements[at:]).tolist() == whole


def test_a_checkpoint_is_restored_once(tmp_path):
    mechanism, file = counter(12), tmp_path / "saved"
    begun = mechanism.open()
    begun.push(1)
    saved = begun.checkpoint()
    with pytest.raises(ConversationClosed):
        begun.push(1)
    with pytest.raises(InvalidParameter, match="open conversation"):
        begun.checkpoint()
    file.write_text("taken")
    with pytest.raises(FileExistsError):
        saved.write(file)
    file.unlink()
    saved.write(file)  # and may be, since nothing was written
    assert file.stat().st_mode & 0o077 == 0
    for again in (mechanism.restore, lambda one: one.write(tmp_path / "second")):
        with pytest.raises(ConversationClosed, match="written to a file"):
            again(saved)
    taken = StreamCheckpoint.read(file)
    with pytest.raises(InvalidParameter, match="same parameters"):
        counter(13).restore(taken)
    mechanism.restore(taken)
    for again in (mechanism.restore, lambda one: one.write(tmp_path / "third")):
        with pytest.raises(ConversationClosed, match="restored before"):
            again(taken)
    with pytest.raises(InvalidParameter, match="path must be a file that is there, got none"):
        StreamCheckpoint.read(file)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_goes_on_under_its_own_budget_to_the_last_digit():
    """As printed, both have an epsilon of 0.333333333333."""
    third, more = (counter(12, epsilon=Fraction(1, 3) + Fraction(part, 10**30)) for part in (0, 1))
    assert repr(third) == repr(more)
    saved = third.open().checkpoint()
    with pytest.raises(InvalidParameter, match="same parameters"):
        more.restore(saved)
    assert third.restore(saved).push(1) is not None


def test_a_file_that_is_no_checkpoint_stays_where_it_is(tmp_path):
    for number, told in enumerate((b"ward,beds\nA1,20\n", b"\xff\xfe", b'{"format": 1}', b"[" * 100_000)):
        file = tmp_path / f"wards{number}.csv"
        file.write_bytes(told)
        with pytest.raises(InvalidParameter, match="one that a counter wrote, got something else"):
            StreamCheckpoint.read(file)
        assert file.read_bytes() == told
    with pytest.raises(InvalidParameter, match="path must be a file that can be read and taken away"):
        StreamCheckpoint.read(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_damaged_checkpoint_is_refused_and_stays_where_it_is(tmp_path):
    file = tmp_path / "saved"
    begun = counter(12).open(rng=NoNoise())
    begun.push_many([1, 0, 1])
    begun.checkpoint().write(file)
    whole = file.read_text()
    for true, false in (('"total": 2', '"total": 3'), ('"taken": 3', '"taken": 2')):
        assert true in whole
        file.write_text(whole.replace(true, false))
        with pytest.raises(InvalidParameter, match="one that a counter wrote, got something else"):
            StreamCheckpoint.read(file)
    file.write_text(whole)
    assert counter(12).restore(StreamCheckpoint.read(file), rng=NoNoise()).push(1) == 3


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"run": None},
        {"run": {"total": 1, "exact": [], "noisy": "secret"}, "taken": "secret"},
        {"run": {"total": 1, "exact": [], "noisy": []}, "taken": 1, "asked": 1, "users": [["int", "secret"]]},
    ],
)
def test_a_forged_checkpoint_is_not_quoted(parts):
    mechanism = counter(12, neighbours=UserEvents(), cap=UserCap(2))
    saved = StreamCheckpoint.of(mechanism, parts)
    for _ in range(2):  # refused, it is still what it was
        with pytest.raises(InvalidParameter, match="got one whose parts it cannot read") as refused:
            mechanism.restore(saved)
        assert "secret" not in str(refused.value)


def test_a_checkpoint_that_was_refused_can_be_written_again(tmp_path):
    begun = counter(12).open(rng=NoNoise())
    begun.push(1)
    begun.checkpoint().write(tmp_path / "saved")
    kept = StreamCheckpoint.read(tmp_path / "saved")
    with pytest.raises(InvalidParameter, match="still good"):
        counter(13).restore(kept)
    kept.write(tmp_path / "saved")
    later = counter(12).restore(StreamCheckpoint.read(tmp_path / "saved"), rng=NoNoise())
    assert later.push(1) == 2


def test_a_checkpoint_shows_nothing_and_holds_no_noise_to_come():
    conversation = counter(1000).open(rng=unsafe_seeded(1))
    conversation.push_many([1] * 700)
    state = conversation.state
    assert "Sensitive" in repr(state)
    run = state.reveal()["run"]
    assert set(run) == {"total", "exact", "noisy"} and run["total"] == 700
    saved = conversation.checkpoint()
    assert repr(saved) == "StreamCheckpoint(...)"
    with pytest.raises(InvalidParameter):
        copy.deepcopy(saved)
    with pytest.raises(InvalidParameter, match="one that a counter wrote"):
        counter(1000).restore(StreamCheckpoint("{}"))


def test_a_session_charges_a_counter_once():
    stream = [1, 0, 1, 1]
    with dp.Session(stream, epsilon=3, delta=0, neighbours=Event()) as session:
        conversation = session.open(counter(10))
        assert session.left == 2
        conversation.ask(3)
        with pytest.raises(InvalidParameter, match="steps of the stream that are left, 1"):
            conversation.ask(2)
        conversation.push(1)
        with pytest.raises(NeighboursMismatch):
            session.open(counter(10, neighbours=EventPresence()))
    with pytest.raises(ConversationClosed):
        conversation.push(1)


@pytest.mark.parametrize(
    "kind",
    [
        functools.partial(dp.streams.TreeCounter, delta=0),
        functools.partial(dp.streams.TreeCounter, delta=0, consistent=True),
        functools.partial(dp.streams.WideTreeCounter, delta=0),
        functools.partial(dp.streams.EndlessCounter, delta=1e-6),
        functools.partial(dp.streams.BufferedCounter, delta=1e-6),
        functools.partial(dp.streams.PerturbedCounter, delta=1e-6),
        functools.partial(dp.streams.SquareRootCounter, delta=1e-6),
        functools.partial(dp.streams.KeyedCounter, delta=1e-6, keys=(1, 2)),
        functools.partial(dp.streams.WindowCounter, delta=0, width=3),
        functools.partial(dp.streams.StreamAlarm, delta=0, threshold=3),
        functools.partial(dp.streams.PanPrivateTree, delta=0),
        functools.partial(dp.streams.PanPrivateCounter, delta=0),
    ],
    ids=lambda kind: kind.func.__name__,
)
def test_nothing_may_be_pushed_and_the_conversation_goes_on(kind):
    with kind(horizon=6, epsilon=1, neighbours=dp.streams.Event()).open() as conversation:
        for _ in range(2):
            assert len(conversation.push_many([])) == 0 and conversation.steps == 0
        conversation.push(1)
        assert len(conversation.push_many(())) == 0 and conversation.steps == 1
        assert len(conversation.push_many([1, 0, 1, 1, 1])) == 5


class HidesItself(np.int64):
    """A number that does not say which."""

    def __int__(self):
        raise ValueError(CANARY)

    item = __index__ = __int__


@pytest.mark.parametrize("user", [np.timedelta64(3, "D"), np.timedelta64("NaT"), HidesItself(3)])
def test_no_user_raises_and_what_names_none_counts_as_nothing(user):
    mechanism = counter(2, neighbours=UserEvents(), cap=UserCap(2))
    assert mechanism.open(rng=NoNoise()).push((user, 1)) == 0
    assert mechanism.open(rng=NoNoise()).push_many([(user, 1), (np.int8(3), 1)]).tolist() == [0, 1]


class InTheMiddle(Rng):
    """Does something to a conversation while it takes a step."""

    unsafe = True

    def __init__(self):
        self.do = None

    def random_bytes(self, count):
        return SYSTEM.random_bytes(count)

    def perform(self, primitive, value):
        now, self.do = self.do, None
        if now is not None:
            now()
        return SYSTEM.perform(primitive, value)


def test_half_a_step_is_not_written_down():
    rng = InTheMiddle()
    conversation = counter(4).open(rng=rng)
    rng.do = conversation.checkpoint
    with pytest.raises(InvalidParameter, match="between two steps"):
        conversation.push(1)
    assert conversation.closed


def test_a_forked_conversation_is_not_written_down_in_the_other_process():
    conversation = counter(4).open()
    conversation.push(1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            conversation.checkpoint()
            os.write(writer, b"written")
        except ConversationClosed:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 8) == b"refused"
    conversation.push(1)


@pytest.mark.parametrize(
    "user", [10**5000, -7, "\ud83d\ude00", "ann", b"ann"], ids=["long", "less", "halves", "str", "bytes"]
)
def test_who_was_counted_is_known_after_a_checkpoint_whatever_the_name(user):
    mechanism = counter(8, neighbours=UserEvents(), cap=UserCap(1))
    today = mechanism.open(rng=NoNoise())
    assert today.push((user, 1)) == 1
    tomorrow = mechanism.restore(today.checkpoint(), rng=NoNoise())
    assert tomorrow.push((user, 1)) == 1


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64])
def test_a_range_beyond_what_a_type_holds_is_kept(kind):
    far = RealElements(lower=300, upper=400, grid=1)
    given = np.array([1, np.iinfo(kind).max], dtype=kind)
    one, many = (counter(2, elements=far).open(rng=NoNoise()) for _ in range(2))
    assert many.push_many(given).tolist() == [one.push(number) for number in given]


class ShowsMore(list):
    """Shows more events than it holds."""

    def __len__(self):
        return 100

    def __iter__(self):
        return iter([("ann", 1)] * 100)


def test_a_list_of_somebody_elses_class_takes_no_more_steps_than_it_holds():
    users = counter(4, neighbours=UserEvents(), cap=UserCap(4)).open(rng=NoNoise())
    assert users.push_many(ShowsMore([("ann", 1)])).tolist() == [1]
    assert users.steps == 1


def test_a_forked_checkpoint_goes_on_in_one_process_only(tmp_path):
    mechanism = counter(4)
    kept = mechanism.open().checkpoint()
    kept._process += 1  # as a child sees it
    for step in (lambda: kept.write(tmp_path / "copy"), lambda: mechanism.restore(kept)):
        with pytest.raises(ConversationClosed, match="another process"):
            step()
    kept._process -= 1
    assert mechanism.restore(kept).push(1) is not None
