"""The one door for randomness (N6): distinct across forks and threads, uniform, the system's only."""

import ast
import copy
import os
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import Laplace
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.rng import SYSTEM, Primitive, Rng, SystemRng
from discreet.core.sensitive import Sensitive
from discreet.sparse.sparse import Sparse
from discreet.testing import unsafe_seeded

SPARSE = Sparse(sensitivity=1, epsilon=1, delta=0, positives=1, threshold=0)


class Tape(Rng):
    """Reads given bytes."""

    def __init__(self, data):
        self.data = data

    def random_bytes(self, count):
        taken, self.data = self.data[:count], self.data[count:]
        return taken


def first_blocks_of_children(children):
    """Fork, let each child send its first 16 bytes and a release, and collect them."""
    read, write = os.pipe()
    pids = []
    for _ in range(children):
        pid = os.fork()
        if pid == 0:  # pragma: no cover - runs in the child
            os.write(write, SYSTEM.random_bytes(16))
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    return [data[16 * k : 16 * k + 16] for k in range(children)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("drawn_before", [False, True])
def test_forked_children_draw_different_bits(drawn_before):
    if drawn_before:
        Laplace(sensitivity=1, epsilon=1).release(0)
    blocks = first_blocks_of_children(50)
    assert len(set(blocks)) == 50


def test_threads_draw_different_bits():
    blocks = []
    threads = [threading.Thread(target=lambda: blocks.append(SYSTEM.random_bytes(16))) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(blocks)) == 50


def test_the_system_generator_has_no_state_to_copy():
    assert repr(SYSTEM) == "SystemRng()"
    assert not vars(SYSTEM)
    assert not SYSTEM.unsafe
    other = copy.deepcopy(SYSTEM)
    assert isinstance(other, SystemRng)
    assert other.random_bytes(16) != SYSTEM.random_bytes(16)


def test_a_broken_system_generator_stops_the_release(monkeypatch):
    def fail(count):
        raise OSError("no entropy")

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(OSError, match="no entropy"):
        Laplace(sensitivity=1, epsilon=1).release(0)


def test_copies_of_a_mechanism_draw_independently():
    mechanism = Laplace(sensitivity=1, epsilon=1e-9)
    values = {copy.deepcopy(mechanism).release(0).value for _ in range(20)}
    assert len(values) == 20


@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 13, 64, 65])
def test_bits_take_the_high_end_of_whole_bytes(count):
    size = (count + 7) // 8
    assert Tape(b"\xff" * size).bits(count) == 2**count - 1
    assert Tape(b"\x00" * size).bits(count) == 0
    values = Counter(Tape(bytes([byte])).bits(min(count, 8)) for byte in range(256))
    assert set(values.values()) == {256 >> min(count, 8)}


def test_words_are_the_bytes():
    words = Tape(bytes(range(16))).words(2)
    assert words.dtype == np.uint64
    assert words.tolist() == [
        int.from_bytes(bytes(range(8)), "little"),
        int.from_bytes(bytes(range(8, 16)), "little"),
    ]
    assert Tape(b"\x01\x02\x03").words(3, np.uint8).tolist() == [1, 2, 3]
    assert not words.flags.writeable


@pytest.mark.parametrize("rng", [SYSTEM, unsafe_seeded(5)], ids=["system", "seeded"])
def test_bits_are_uniform(rng):
    # Chi-square over 2^5 cells; the false-alarm rate of the unseeded one is 1e-9.
    counts = np.bincount([rng.bits(5) for _ in range(20_000)], minlength=32)
    assert stats.chisquare(counts).pvalue > 1e-9
    biased = counts.copy()
    biased[0] += 400  # a cell with two thirds more: the test sees it
    assert stats.chisquare(biased).pvalue < 1e-9


def test_seeded_generators_repeat_and_say_so():
    one, other = unsafe_seeded(7), unsafe_seeded(7)
    assert one.random_bytes(32) == other.random_bytes(32)
    assert one.unsafe
    assert "Unsafe" in repr(one)
    release = Laplace(sensitivity=1, epsilon=1).release(5, rng=one)
    assert release.unsafe_seeded
    assert "UNSAFE" in repr(release)
    assert not Laplace(sensitivity=1, epsilon=1).release(5).unsafe_seeded


def test_perform_samples():
    class Nine(Primitive):
        sensitivity = 0

        def sample(self, value, rng):
            return (value, 9, rng)

        def law(self, value):
            return []

        def distance(self, value, other):
            return 0

    assert SYSTEM.perform(Nine(), 3) == (3, 9, SYSTEM)


def test_no_other_door():
    """No module but `testing` may import a generator that is not the operating system's."""
    root = Path(discreet.__file__).parent
    for path in root.rglob("*.py"):
        if path.name == "testing.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert "random" not in {alias.name.split(".")[0] for alias in node.names}, path
            if isinstance(node, ast.ImportFrom):
                assert node.module not in ("random", "numpy.random"), path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in {("np", "random"), ("numpy", "random")}, path


def test_only_a_class_that_says_so_is_safe():
    """A generator of one's own is marked until it declares itself, even where it inherits from the best."""

    class Wrapper(Rng):
        def random_bytes(self, count):
            return b"\x00" * count

    class Pretender(SystemRng):
        def random_bytes(self, count):
            return b"\x00" * count

    class Hardware(Rng):
        unsafe = False

        def random_bytes(self, count):
            return os.urandom(count)

    for made in (Wrapper(), Pretender()):
        assert made.unsafe
        assert Laplace(sensitivity=1, epsilon=1).release(5, rng=made).unsafe_seeded
        assert (
            Sparse(sensitivity=1, epsilon=1, delta=0, positives=1, threshold=0)
            .open([1], rng=made)
            .unsafe_seeded
        )
    assert not Laplace(sensitivity=1, epsilon=1).release(5, rng=Hardware()).unsafe_seeded


@pytest.mark.parametrize(
    "stranger", [None, 7, "rng", object(), SystemRng], ids=lambda one: type(one).__name__
)
def test_what_is_no_generator_is_refused_before_any_data_are_read(stranger):
    class Screams:
        def __getattribute__(self, name):
            raise AssertionError("the data were touched")

    for act in (Laplace(sensitivity=1, epsilon=1).release, SPARSE.open):
        with pytest.raises(InvalidParameter, match="rng must be an instance of Rng"):
            act(Sensitive(Screams()), rng=stranger)


@pytest.mark.parametrize("same", [b"\0", b"\x5a"])
def test_a_generator_that_repeats_itself_is_noticed(monkeypatch, same):
    SYSTEM.require_alive()
    monkeypatch.setattr(os, "urandom", lambda count: same * count)
    with pytest.raises(InternalError, match="repeats itself"):
        SYSTEM.require_alive()
