"""Counters that draw noise ahead, on neighbouring streams of up to eight steps: their bijections, as shipped.

An answer holds noises of blocks that have not ended, drawn before their data came. So a neighbour is hidden
by moving noises: those of the blocks that the step is in, one of each size, and all answers are the same. A
program finds the least that whole noises have to move by.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp
from tests.exact.streams.test_pan_private import run

from discreet.core.neighbours import Contribution, Event, UserEvents
from discreet.streams.counters.endless_counter import EndlessCounter
from discreet.streams.counters.keyed_counter import KeyedCounter
from discreet.streams.counters.wide_tree_counter import WideTreeCounter
from discreet.streams.counters.window_counter import WindowCounter
from discreet.streams.elements import WholeElements
from discreet.streams.user_cap import UserCap

SHAPES = [(), (2,), (3,), (4,), (2, 2), (3, 2), (2, 2, 2)]


def answers_in_parts(parts, at_once):
    """Return a script that publishes all answers, in whole parts of a unit."""

    def script(conversation, stream):
        if at_once == 0:
            answers = [conversation.push(element) for element in stream]
        else:
            cuts = range(0, len(stream), at_once)
            answers = np.concatenate([conversation.push_many(stream[cut : cut + at_once]) for cut in cuts])
        scaled = [answer * parts for answer in answers]
        assert all(abs(number - round(number)) < 1e-6 for number in scaled)
        return tuple(round(number) for number in scaled)

    return script


def find_least_moves(counter, script, length):
    """Return the least that noises have to move by in total to hide each of the steps."""
    nothing = (0,) * length
    empty, met = run(counter, script, nothing)
    of_step = np.stack([run(counter, script, step)[0] for step in np.eye(length, dtype=int)]) - empty
    of_noise = np.stack([run(counter, script, nothing, one)[0] for one in np.eye(met, dtype=int)]) - empty
    every = itertools.product((0, 1), repeat=length) if length <= 5 else [(1,) * length]
    for place, stream in enumerate(every):  # answers are sums of elements and noises indeed, on all streams
        noises = np.array([(place + 7 * n) % 11 - 5 for n in range(met)])
        seen, drawn = run(counter, script, stream, noises)
        assert drawn == met
        assert (seen == empty + noises @ of_noise + np.array(stream) @ of_step).all()
    both = np.vstack([of_noise, -of_noise])
    found = []
    for moved in of_step:
        least = milp(np.ones(2 * met), integrality=1, constraints=LinearConstraint(both.T, moved, moved))
        noises = np.rint(least.x).astype(int)
        assert (noises @ both == moved).all(), "the bijection is one of whole numbers"
        found.append(noises.sum())
    return found


@pytest.mark.parametrize("radices", SHAPES)
@pytest.mark.parametrize("length", range(1, 9))
def test_one_event_costs_what_is_claimed_and_no_less_is_paid(radices, length):
    counter = WideTreeCounter(horizon=length, epsilon=1, delta=0, neighbours=Event(), radices=radices)
    for at_once in (0, 3, length):
        moved = find_least_moves(counter, answers_in_parts(counter.lengths[-1], at_once), length)
        assert max(moved) <= counter.total_shift
        if length >= counter.lengths[-1] and length > 1 and at_once != 3:
            assert max(moved) == counter.total_shift or radices == ()
    assert counter.total_shift / counter.noise.scale <= 1


@pytest.mark.parametrize("length", [1, 3, 5, 8])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_an_event_of_an_endless_stream_is_in_one_counter(length, first):
    counter = EndlessCounter(epsilon=1, delta=0, neighbours=Event(), first=first)
    spans = [part for span, _ in counter._spans(length) for part in [counter.make_part(span)] * span]
    for at_once in (0, 3, length):
        moved = find_least_moves(counter, answers_in_parts(spans[length - 1].lengths[-1], at_once), length)
        # Each step's moves, at the scale of the counter that the step is in.
        assert all(m / part.noise.scale <= 1 for m, part in zip(moved, spans, strict=False))
        assert any(m / part.noise.scale > 0.999 for m, part in zip(moved, spans, strict=False))


@pytest.mark.parametrize("cap", [1, 2])
def test_a_user_in_several_counters_costs_no_more_than_in_one(cap):
    counter = EndlessCounter(epsilon=1, delta=0, neighbours=UserEvents(), cap=UserCap(cap), first=1)
    spans = [part for span, _ in counter._spans(6) for part in [counter.make_part(span)] * span]
    for steps in itertools.combinations(range(6), cap):
        cost = sum(len(spans[step].lengths) * spans[step].moved / spans[step].noise.scale for step in steps)
        assert cost <= 1


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("length", [3, 6, 8])
def test_an_event_is_in_one_piece_of_all_windows(width, length):
    counter = WindowCounter(width=width, horizon=length, epsilon=1, delta=0, neighbours=Event())
    for at_once in (0, 3, length):
        moved = find_least_moves(counter, answers_in_parts(1, at_once), length)
        assert max(moved) == counter.part.total_shift
    assert counter.part.total_shift / counter.part.noise.scale <= 1


@pytest.mark.parametrize("length", [1, 2, 4])
def test_an_event_with_another_key_moves_two_counters(length):
    counter = KeyedCounter(keys=(0, 1), horizon=length, epsilon=1, delta=0, neighbours=Event())

    def script(conversation, stream):
        return tuple(int(number) for key in stream for number in conversation.push(key))

    moved = find_least_moves(counter, script, length)
    assert max(moved) == 2 * counter.each.total_shift
    assert max(moved) / counter.each.noise.scale <= 1


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_person_in_several_numbers_of_a_step_moves_as_many_counters(parts):
    """A step is told by which of three numbers the person is in: the noises of no others move."""
    counter = KeyedCounter(
        keys=(0, 1, 2),
        horizon=4,
        epsilon=1,
        delta=0,
        neighbours=Contribution(1),
        elements=WholeElements(1),
        parts=parts,
    )

    def script(conversation, stream):
        rows = [[step * (key < parts) for key in range(3)] for step in stream]
        return tuple(int(number) for row in rows for number in conversation.push(row))

    moved = find_least_moves(counter, script, 4)
    assert max(moved) == parts * counter.each.total_shift
    assert max(moved) / counter.each.noise.scale <= 1
