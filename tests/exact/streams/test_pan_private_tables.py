"""What an intruder and the public see of tables about users: the joint law, on all neighbouring streams."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet import audit, local
from discreet.core.neighbours import Event, UserEvents, UserStream
from discreet.streams import (
    CroppedMean,
    DynamicDensity,
    HashedDensity,
    HeavyHitterFraction,
    IncidenceFraction,
    LocalStream,
    ModularIncidence,
    PanPrivateDensity,
)
from discreet.streams.pan_private.looks import list_pairs, look_at_reports, look_between

ONE = tuple(list_pairs(((0, 1),), 3))
TWO = tuple(list_pairs(((0, 1), (1, 1)), 3))
MANY = tuple(list_pairs(((0, 1), (0, 2)), 2))


def density(**given):
    parts = {"users": 1, "epsilon": 8, "share": Fraction(1, 2), "neighbours": UserEvents(), **given}
    return PanPrivateDensity(**parts)


def measure(mechanism, pairs, script):
    report = audit.exact(mechanism, pairs, script)
    assert report.holds, report
    return report.measured


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("users", [1, 2])
def test_a_look_at_any_moment_alone_costs_what_the_state_may_cost(users, at):
    mechanism = density(users=users, epsilon=2, share=Fraction(1, 2))
    found = measure(mechanism, (ONE, TWO)[users - 1], look_between(3, (at,), ()))
    assert found == pytest.approx(float(mechanism.epsilon_state) if at else 0, abs=1e-9)


@pytest.mark.parametrize(("at", "answer"), list(itertools.product(range(3), repeat=2)))
def test_a_look_and_an_answer_at_any_two_moments(at, answer):
    measure(density(answers=2), tuple(list_pairs(((0, 1),), 2)), look_between(2, (at,), (answer,)))


def test_the_exact_cost_of_a_look_and_an_answer():
    """The page's formula: given the state, an answer tells less than its own epsilon."""
    mechanism = density(answers=2, epsilon=9, share=Fraction(1, 3))
    state, answer = float(mechanism.epsilon_state), float(mechanism.epsilon_answer)
    found = measure(mechanism, tuple(list_pairs(((0, 1),), 1)), look_between(1, (1,), (0,)))
    keep = 1 / (1 + math.exp(-state))
    assert found == pytest.approx(state + math.log(1 - keep + keep * math.exp(answer)), rel=1e-9)
    assert found < state + answer


def test_a_look_between_two_answers():
    mechanism = density(epsilon=24, answers=2, share=Fraction(1, 6))
    came = [(((0, 1), (0, 1)), (None, None))]
    state, answer = 4, 10
    keep = 1 / (1 + math.exp(-state))
    before, after = (math.log(1 - p + p * math.exp(answer)) for p in (keep, 1 - keep))
    found = measure(mechanism, came, look_between(2, (1,), (0, 2)))
    assert found == pytest.approx(state + before + after, rel=1e-6)


@pytest.mark.parametrize("at", [(0, 1), (0, 2), (1, 2), (1, 3)])
def test_two_looks_with_a_refresh_cost_at_most_twice_as_much(at):
    """Exactly: who comes after a refresh is told apart less well, since the refresh must not be noticed."""
    mechanism = density(epsilon=6, share=Fraction(2, 3), looks=2)
    found = measure(mechanism, ONE, look_between(3, at, ()))
    keep, late = 1 / (1 + math.exp(-2)), (1 + mechanism.contrast**2) / 2
    exact = 2 + math.log(keep / (1 - late)) if at[0] else math.log(late / (1 - keep))
    assert found == pytest.approx(exact, abs=1e-9)
    assert found < (4 if at[0] else 2)


def test_two_looks_without_a_refresh_cost_everything():
    mechanism = density(epsilon=6, share=Fraction(2, 3), looks=2)
    report = audit.exact(mechanism, ONE, look_between(3, (1, 2), (), refresh=False))
    assert not report.holds and report.measured > 20


def test_who_comes_after_a_refresh_looks_like_who_came_before_it():
    """Else the estimate would depend on when people came: the law of the cell is the same."""
    mechanism = density(epsilon=6, share=Fraction(2, 3), looks=2)

    def last_cell(conversation):
        conversation.advance(1)
        conversation.refresh()
        conversation.advance(1)
        return conversation.state.reveal()["cells"][0]

    def run(stream, rng):
        return last_cell(mechanism.open(stream, rng=rng))

    early, late, never = (
        audit.output_distribution(run, stream)[1] for stream in ((0, None), (None, 0), (None, None))
    )
    assert float(early) == pytest.approx(float(late), abs=1e-12)
    assert float(early + never) == pytest.approx(1, abs=1e-12)
    assert float(early - never) == pytest.approx(mechanism.contrast**2, abs=1e-12)


def modular(modulus, **given):
    parts = {"users": 1, "epsilon": 3, "neighbours": UserEvents(), "modulus": modulus, **given}
    return ModularIncidence(**parts)


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("modulus", [2, 3, 5])
def test_counters_that_go_round_cost_what_the_state_may_cost(modulus, at):
    mechanism = modular(modulus)
    signed = tuple(list_pairs(((0, 1), (0, -1), (0, 7)), 2))
    found = measure(mechanism, signed, look_between(2, (at,), ()))
    assert found == pytest.approx(float(mechanism.epsilon_state) if at else 0, abs=1e-9)


def test_a_look_at_counters_and_an_answer_use_all_of_the_budget():
    mechanism = modular(2, epsilon=16, share=Fraction(1, 2))
    came = [(((0, 1), (0, 1)), (None, None))]
    assert measure(mechanism, came, look_between(2, (1,), (2,))) == pytest.approx(16, rel=1e-3)


def test_two_looks_at_counters_with_a_refresh_and_without():
    mechanism = modular(3, looks=2)
    pairs = tuple(list_pairs(((0, 1), (0, 2)), 2))
    found = measure(mechanism, pairs, look_between(2, (1, 2), ()))
    assert found == pytest.approx(float(2 * mechanism.epsilon_state), abs=1e-9)
    assert not audit.exact(mechanism, pairs, look_between(2, (1, 2), (), refresh=False)).holds


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize(
    "make",
    [
        lambda **given: CroppedMean(crop=1, **given),
        lambda **given: CroppedMean(crop=3, **given),
        lambda **given: HeavyHitterFraction(times=2, **given),
        lambda **given: HeavyHitterFraction(times=3, **given),
        lambda **given: IncidenceFraction(times=1, **given),
    ],
)
def test_a_look_at_cropped_tables_costs_what_the_state_may_cost(make, at):
    mechanism = make(users=1, epsilon=3, neighbours=UserEvents())
    found = measure(mechanism, MANY, look_between(2, (at,), ()))
    limit = float(mechanism.epsilon * mechanism.share)
    assert found == pytest.approx(limit, abs=1e-9) if at == 2 else found <= limit + 1e-9


@pytest.mark.parametrize("crop", [1, 2, 3, 4])
def test_counters_come_round_with_the_cropped_part_of_their_comings(crop):
    """P[a bit was drawn again] = min(a, crop) / crop, by enumeration: the estimate has no bias."""
    mechanism = CroppedMean(users=1, crop=crop, epsilon=2, neighbours=UserEvents())

    def bit(stream, rng):
        conversation = mechanism.open(stream, rng=rng)
        for _ in stream:
            conversation.advance(1)
        return conversation.state.reveal()["cells"][0][1][0]

    for came in range(6):
        stream = ((0, 1),) * came
        one = float(audit.output_distribution(bit, stream)[1])
        mean = (one - (1 - mechanism.contrast) / 2) / mechanism.contrast * crop
        assert mean == pytest.approx(min(came, crop), abs=1e-9)
        for places in audit.output_distribution(lambda s, rng: _place(mechanism, s, rng), stream).values():
            assert float(places) == pytest.approx(1 / crop, abs=1e-12), "where it stands says nothing"


def _place(mechanism, stream, rng):
    conversation = mechanism.open(stream, rng=rng)
    conversation.advance(len(stream))
    return conversation.state.reveal()["cells"][0][0][0]


@pytest.mark.parametrize(("at", "answer"), [(1, 2), (2, 1)])
def test_users_who_share_a_cell_are_hidden_in_it(at, answer):
    mechanism = HashedDensity(
        users=9, cells=1, key=1, epsilon=8, answers=2, share=Fraction(1, 2), neighbours=UserEvents()
    )
    measure(mechanism, tuple(list_pairs((("a", 1), ("b", 1)), 2)), look_between(2, (at,), (answer,)))


def test_streams_of_different_lengths_look_the_same():
    mechanism = density(users=2, epsilon=2, neighbours=UserStream())
    pairs = [(tuple(left), tuple(right)) for left, right in UserStream().pairs(((0, 1), (1, 1)), 3)]
    found = measure(mechanism, pairs, look_between(9, (9,), ()))
    assert found == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("kind", [local.DirectResponse, local.HadamardResponse, local.SubsetSelection])
def test_a_survey_on_a_stream_costs_one_report_at_all_moments_together(kind):
    """The joint law of the states after every step, on all pairs of streams."""
    survey = kind(epsilon=1, domain=3)
    stream = LocalStream(horizon=3, epsilon=2, randomizer=survey, neighbours=Event())
    found = measure(stream, list(Event().pairs(range(3), 2)), look_at_reports(2))
    assert found <= 1 and found == pytest.approx(1, rel=1e-9)


HASHED = {"users": 3, "cells": 1, "key": 1}
TABLES = {
    "density": lambda **given: PanPrivateDensity(users=1, **given),
    "hashed": lambda **given: HashedDensity(**HASHED, **given),
    "dynamic": lambda **given: DynamicDensity(modulus=3, **HASHED, **given),
    "modular": lambda **given: ModularIncidence(users=1, modulus=3, **given),
    "mean": lambda **given: CroppedMean(users=1, crop=2, **given),
    "heavy": lambda **given: HeavyHitterFraction(users=1, times=2, **given),
    "exactly": lambda **given: IncidenceFraction(users=1, times=1, **given),
}


LENGTHS = {"heavy": (3, 5), "exactly": (3, 5)}  # several tables have far more paths; others have eight steps


@pytest.mark.parametrize(
    ("name", "length"),
    [
        *((name, LENGTHS.get(name, (4, 8))[0]) for name in TABLES),
        *(pytest.param(name, LENGTHS.get(name, (4, 8))[1], marks=pytest.mark.soak) for name in TABLES),
    ],
)
def test_every_moment_of_longer_streams_costs_what_the_state_may_cost(name, length):
    """All ways for a user to come, or not, at each of the steps; one look, at every moment."""
    mechanism = TABLES[name](epsilon=2, neighbours=UserEvents())
    pairs = tuple(list_pairs(((0, 1),), length))
    found = [measure(mechanism, pairs, look_between(length, (at,), ())) for at in range(length + 1)]
    assert found[0] == 0 and max(found) == pytest.approx(float(2 * mechanism.share), abs=1e-9)
    assert found == sorted(found), "and later ones cost no less"


@pytest.mark.parametrize("length", [4, pytest.param(8, marks=pytest.mark.soak)])
def test_reports_of_longer_streams_cost_one_report_at_all_moments_together(length):
    stream = LocalStream(horizon=length, epsilon=1, neighbours=Event())
    found = measure(stream, list(Event().pairs((0, 1), length)), look_at_reports(length))
    assert found == pytest.approx(1, rel=1e-9)
