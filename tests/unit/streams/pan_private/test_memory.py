"""What lies in memory and what `state` says of it: the same, for every algorithm that may be seized.

Whatever can be reached from a conversation is written down, attribute by attribute. A second one is made from
public parameters, built anew, and from the state of the first: if anything of the stream were kept that the
state does not say, the two would differ. Dictionaries are compared without their order, and the interpreter's
own numbers, which are freed and not wiped, are out of reach here.
"""

import threading
import types
from fractions import Fraction

import numpy as np
import pytest

from discreet import local
from discreet.core.errors import InvalidParameter
from discreet.core.rng import Rng
from discreet.streams import (
    CroppedMean,
    DynamicDensity,
    Event,
    HashedDensity,
    HeavyHitterFraction,
    IncidenceFraction,
    LocalStream,
    ModularIncidence,
    PanPrivateCounter,
    PanPrivateDensity,
    PanPrivateTree,
    TreeCounter,
    UserStream,
    WholeElements,
)
from discreet.streams.pan_private.pan_private_counter import PanPrivateRun
from discreet.testing import unsafe_seeded

PLAIN = (int, float, str, bytes, type(None), Fraction, np.generic)
PASSED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type(threading.RLock()))
BITS, NAMES = [1, 0, 1, 1, 0], ["a", "b", "a"]
EVENTS = {"horizon": 13, "epsilon": 1, "neighbours": Event(), "looks": 2}
USERS = {"users": 5, "epsilon": 1, "neighbours": UserStream(), "answers": 2}
HASHED = {**USERS, "cells": 7, "key": 3, "looks": 2}

SEIZABLE = {
    "counter": (lambda: PanPrivateCounter(delta=0, **EVENTS), BITS),
    "counter, Gaussian": (lambda: PanPrivateCounter(delta=1e-6, **EVENTS), BITS),
    "tree": (lambda: PanPrivateTree(delta=0, branching=3, **EVENTS), BITS),
    "density": (lambda: PanPrivateDensity(looks=2, **USERS), BITS),
    "hashed": (lambda: HashedDensity(**HASHED), NAMES),
    "dynamic": (lambda: DynamicDensity(modulus=3, **HASHED), [("a", 1), ("b", 2), ("a", -1)]),
    "modular": (lambda: ModularIncidence(modulus=3, looks=2, **USERS), [1, 0, (1, 5), (3, -1)]),
    "mean": (lambda: CroppedMean(crop=3, **USERS), BITS),
    "heavy": (lambda: HeavyHitterFraction(times=2, **USERS), BITS),
    "exactly": (lambda: IncidenceFraction(times=2, **USERS), BITS),
    "reports": (lambda: LocalStream(horizon=20, epsilon=1, neighbours=Event(), categories=3), BITS),
    "survey": (
        lambda: LocalStream(
            horizon=20, epsilon=1, neighbours=Event(), randomizer=local.HadamardResponse(epsilon=1, domain=5)
        ),
        BITS,
    ),
}


def write_memory(thing, path="", seen=None):
    """Return all that can be reached from a thing: every plain value, under the path that leads to it."""
    seen = {} if seen is None else seen
    if isinstance(thing, PLAIN):
        return {path: repr(thing)}
    if isinstance(thing, PASSED) or id(thing) in seen:
        return {}
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        return {path: repr(thing.tolist())}
    if isinstance(thing, dict):
        parts = {f"{path}[{name!r}]": value for name, value in thing.items()}
    elif isinstance(thing, list | tuple | set | frozenset):
        parts = {f"{path}[{place}]": value for place, value in enumerate(thing)}
    else:
        slots = [kind.__dict__.get("__slots__", ()) for kind in type(thing).__mro__]
        names = {*getattr(thing, "__dict__", ())}.union(*([s] if isinstance(s, str) else s for s in slots))
        parts = {f"{path}.{name}": getattr(thing, name) for name in sorted(names) if hasattr(thing, name)}
    found = {path: f"{type(thing).__name__} of {len(parts)}"}
    for place, value in parts.items():
        found |= write_memory(value, place, seen)
    return found


def find_what_no_state_says(make, stream, *, at_once):
    """Return what differs between a conversation and the one that is made from its state."""
    rng = unsafe_seeded(3)
    conversation = make().open(rng=rng)
    conversation.push_many(stream) if at_once else [conversation.push(element) for element in stream]
    if getattr(conversation.mechanism, "looks", 1) > 1:
        conversation.refresh()
        conversation.push(stream[0])
    if hasattr(conversation, "estimate"):
        conversation.estimate()
    here = write_memory(conversation)
    there = write_memory(make().restore(conversation.checkpoint(), rng=rng))
    assert len(here) > 20, "a walk that reaches nothing finds nothing"
    return {path for path in here.keys() | there.keys() if here.get(path) != there.get(path)}


@pytest.mark.parametrize("name", sorted(SEIZABLE.keys() - {"reports", "survey"}))
def test_what_went_on_elsewhere_is_not_kept_here_as_well(name, tmp_path):
    """An earlier state beside the one that goes on is a second look, which nobody announced or paid for."""

    def leave(stream, file=None):
        make = SEIZABLE[name][0]
        conversation = make().open()
        for element in stream:
            conversation.push(element)
        saved = conversation.checkpoint()
        make().restore(saved) if file is None else saved.write(tmp_path / file)
        return write_memory((conversation, saved))

    stream = SEIZABLE[name][1]
    other = stream[:1] * len(stream)
    assert leave(stream) == leave(other), "not even its noise"
    assert leave(stream, "one") == leave(other, "another")


class Looking(Rng):
    """Has somebody else look at a conversation while a step draws its noise."""

    unsafe = True

    def __init__(self):
        self.looks, self.seen = [], []

    def random_bytes(self, count):
        return bytes(count)

    def perform(self, primitive, value):
        while self.looks:
            self.looks[-1].start()
            self.looks.pop().join(0.05)
        assert not self.seen, "a look came within a step"
        return primitive.sample(value, self)


@pytest.mark.parametrize("name", ["tree", "density", "reports"])
def test_a_look_waits_for_the_end_of_a_step(name):
    rng = Looking()
    conversation = SEIZABLE[name][0]().open(rng=rng)
    somebody = threading.Thread(target=lambda: rng.seen.append(conversation.state.reveal()))
    rng.looks = [somebody]
    conversation.push(1)
    somebody.join()
    assert rng.seen == [conversation.state.reveal()]


def test_whoever_interrupts_a_step_does_not_look_into_it():
    """A handler of a signal runs in the very thread that holds the turn."""

    class Interrupted(Looking):
        def perform(self, primitive, value):
            with pytest.raises(InvalidParameter, match="between two steps"):
                conversation.state  # noqa: B018 - a look
            return primitive.sample(value, self)

    conversation = SEIZABLE["tree"][0]().open(rng=Interrupted())
    conversation.push(1)
    assert conversation.state.reveal()["taken"] == 1


class BreaksOff(Rng):
    """Draws so many times, adding nothing, and is then interrupted."""

    unsafe = True

    def __init__(self, times):
        self.left = times

    def random_bytes(self, count):
        raise AssertionError("bits that no step accounts for")

    def perform(self, primitive, value):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return value


@pytest.mark.parametrize("act", ["push", "push_many", "refresh"])
@pytest.mark.parametrize("kind", [PanPrivateCounter, PanPrivateTree])
def test_an_interrupted_step_leaves_nothing(kind, act):
    """An element that had no noise yet stayed in a tree's blocks, for whoever looked later."""
    counter = kind(**EVENTS, delta=0, elements=WholeElements(999))
    broken = set()
    for times in range(7):
        conversation = counter.open(rng=BreaksOff(times))
        try:
            if act == "push_many":
                conversation.push_many([777, 1, 2])
            else:
                conversation.push(777)
            if act == "refresh":
                conversation.refresh()
        except KeyboardInterrupt:
            assert conversation.closed
            assert not any(np.ravel([*conversation.state.reveal()["run"].values()]))
            broken.add(times)
    assert {0, 1, 2} <= broken


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("name", SEIZABLE)
def test_nothing_is_in_memory_that_the_state_does_not_say(name, at_once):
    assert not find_what_no_state_says(*SEIZABLE[name], at_once=at_once)


def test_a_last_element_that_is_kept_is_found(monkeypatch):
    """The walk has teeth: a run that remembers one element, or a stream that was handed in."""

    class Remembers(PanPrivateRun):
        def step(self, units, rng):
            self.last = units
            return super().step(units, rng)

    monkeypatch.setattr(PanPrivateCounter, "_start", lambda counter: Remembers(counter))  # noqa: PLW0108 - to be a method
    assert find_what_no_state_says(*SEIZABLE["counter"], at_once=False) == {"._run.last", "._run"}
    held = write_memory(TreeCounter(horizon=9, epsilon=1, delta=0, neighbours=Event()).open([1, 0, 1]))
    assert held["._held"] == "tuple of 3", "which is why elements are pushed"
