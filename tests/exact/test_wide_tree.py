"""The wide tree on all neighbouring streams of up to eight steps: the bijection of its proof, as shipped.

An answer holds noises of blocks that have not ended, drawn before their data came. So a neighbour is hidden
by moving noises: those of the blocks that the step is in, one of each size, and all answers are the same. A
program finds the least that whole noises have to move by.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp
from tests.exact.test_pan_private import run

from discreet.core.neighbours import Event
from discreet.streams.counters.wide_tree_counter import WideTreeCounter

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
