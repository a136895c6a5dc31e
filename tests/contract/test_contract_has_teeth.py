"""Every check of the contract rejects a mechanism that breaks it, and nothing else does."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from discreet import Laplace, testing
from discreet.catalogue import find
from discreet.core.card import Card
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.loss import PureLoss
from discreet.core.mechanism import Conversation, Interactive, Mechanism, Release
from discreet.core.neighbours import ROWS
from discreet.core.rng import SYSTEM
from discreet.core.sensitive import Sensitive
from discreet.mechanisms import laplace
from discreet.mechanisms.exponential import Exponential

GOOD = find("laplace")


def card(example):
    return dataclasses.replace(GOOD, example=example)


def with_class(cls, data=1234, **given):
    return card(lambda: (cls(sensitivity=1, epsilon=0.5, **given), data))


class Mutable(Mechanism):
    """Not frozen, equal to nothing but itself."""

    neighbours = ROWS

    def __init__(self, *, sensitivity, epsilon):
        self.sensitivity, self.epsilon = sensitivity, epsilon

    loss = PureLoss(1)

    def error(self, beta):
        return 1.0

    def _draw(self, data, rng):
        return data


@dataclasses.dataclass
class Changeable(Mutable):
    """Equal by value and hashable, but its fields can be changed."""

    sensitivity: int
    epsilon: float

    def __hash__(self):
        return 0


class OpenToAdditions(Laplace):
    """Has a __dict__ and lets it be written."""

    def __setattr__(self, name, value):
        if name in {"sensitivity", "epsilon", "grid", "size", "neighbours"}:
            raise AttributeError(name)
        object.__setattr__(self, name, value)


class CountsItsUses(Laplace):
    """The repr changes with every release."""

    uses = itertools.count()

    def __repr__(self):
        return f"CountsItsUses({next(self.uses)})"


class ErrorGrowsWithBeta(Laplace):
    def error(self, beta):
        return float(beta)


class Believing(Laplace):
    """Reads any parameter as it comes."""

    def __init__(self, *, sensitivity, epsilon):
        super().__init__(sensitivity=1, epsilon=1 if epsilon == "1" else epsilon)


class AnyBeta(Laplace):
    def error(self, beta):
        try:
            return super().error(beta)
        except ValueError:
            return 0.0


class RawErrors(Laplace):
    def _draw(self, data, rng):
        if isinstance(data, str):
            raise KeyError(data)
        return super()._draw(data, rng)


class ReadsBytes(Laplace):
    """Takes whatever can be turned into whole numbers."""

    def __init__(self, *, sensitivity, epsilon, rounds=(), times=1):
        super().__init__(sensitivity=sensitivity, epsilon=epsilon)
        sum(int(each) for each in rounds)
        int(times)


class Telltale(Laplace):
    """Names what it refuses."""

    def _draw(self, data, rng):
        if testing.CANARY in repr(data):
            raise InvalidParameter(name="data", rule="a number", value=repr(data))
        return super()._draw(data, rng)


class SilentlySeeded(Laplace):
    def release(self, data, *, rng=SYSTEM):
        return Release(value=1, mechanism=self, unsafe_seeded=False)


class NotThreadSafe(Laplace):
    busy: ClassVar[list[Release]] = []

    def release(self, data, *, rng=SYSTEM):
        made = super().release(data, rng=rng)
        self.busy.append(made)
        return self.busy[0]


class TooOptimistic(Laplace):
    def error(self, beta):
        return super().error(beta) / 2


class FarChoice(Exponential):
    """Chooses the worst of the scores and promises the best."""

    def _draw(self, data, rng):
        return int(np.argmin(data))

    def error(self, beta):
        super().error(beta)
        return 0.0


class DearerThanBought(Laplace):
    """Costs twice what was asked for."""

    @property
    def loss(self):
        return PureLoss(2 * self.epsilon)


@pytest.mark.parametrize(
    ("check", "broken", "words"),
    [
        (testing.check_is_a_frozen_value, with_class(Mutable), "unequal"),
        (testing.check_is_a_frozen_value, with_class(Changeable), "can be changed"),
        (testing.check_is_a_frozen_value, with_class(OpenToAdditions), "can be added"),
        (testing.check_promises_without_data, with_class(CountsItsUses), "changed with use"),
        (testing.check_promises_without_data, with_class(ErrorGrowsWithBeta), "smaller beta"),
        (testing.check_refuses_bad_parameters, with_class(Believing), "is accepted"),
        (testing.check_refuses_hostile_parameters, with_class(ReadsBytes, rounds=(1, 2)), "rounds=b'11' is"),
        (testing.check_refuses_hostile_parameters, with_class(ReadsBytes, times=3), "times=b'1' is accepted"),
        (testing.check_refuses_bad_beta, with_class(AnyBeta), "is accepted"),
        (testing.check_survives_hostile_data, with_class(Telltale), "repeats the data"),
        (testing.check_marks_seeded_noise, with_class(SilentlySeeded), "not marked"),
        (testing.check_runs_in_threads, with_class(NotThreadSafe), "same object"),
        (testing.check_error_bound, with_class(TooOptimistic), "failed"),
        (testing.check_error_bound, with_class(FarChoice, data=np.array([300, 100, 200]), size=3), "failed"),
        (testing.check_fits_its_own_budget, with_class(DearerThanBought), "does not fit <PureFilter"),
        (testing.check_mechanism, card(lambda: (object(), 1)), "not a mechanism"),
    ],
)
def test_the_check_rejects(check, broken, words):
    with pytest.raises(AssertionError, match=words):
        check(broken)


def test_errors_of_others_are_not_swallowed():
    with pytest.raises(KeyError):
        testing.check_survives_hostile_data(with_class(RawErrors))


class Talker(Interactive):
    """A conversation that keeps its data in the open, or wrapped."""

    __slots__ = ("naked", "neighbours")

    def __init__(self, *, naked):
        object.__setattr__(self, "naked", naked)
        object.__setattr__(self, "neighbours", ROWS)

    loss = PureLoss(1)

    def error(self, beta):
        return 1.0

    def __repr__(self):
        return "Talker()"

    def _begin(self, data, rng):
        return Talk(self, data.reveal() if self.naked else data, rng)


class Talk(Conversation):
    def __init__(self, mechanism, data, rng):
        super().__init__(mechanism, rng)
        self.data = data
        self._rng = None  # not a reason to refuse a copy

    def _answer(self, query, **public):
        return 0

    def __repr__(self):
        return f"Talk({self.data!r})"


class CopyableTalk(Talk):
    """Takes back the refusal that every conversation has."""

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        return (str, ("talk",))


def test_a_conversation_that_gives_its_data_away_is_rejected(monkeypatch):
    naked = card(lambda: (Talker(naked=True), "a secret text"))
    wrapped = card(lambda: (Talker(naked=False), "a secret text"))
    with pytest.raises(AssertionError, match="prints its data"):
        testing.check_keeps_data_out_of_sight(naked)
    testing.check_keeps_data_out_of_sight(wrapped)

    def begin(self, data, rng):
        return CopyableTalk(self, data, rng)

    monkeypatch.setattr(Talker, "_begin", begin)
    with pytest.raises(AssertionError, match="can be pickled"):
        testing.check_keeps_data_out_of_sight(wrapped)
    monkeypatch.setattr(CopyableTalk, "__reduce_ex__", Talk.__reduce_ex__)
    with pytest.raises(AssertionError, match="can be copied"):
        testing.check_keeps_data_out_of_sight(wrapped)


def test_the_whole_contract_says_what_it_checked():
    assert testing.check_mechanism(GOOD) == tuple(check.__name__ for check in testing.CONTRACT)


def test_a_mechanism_without_a_promise_is_rejected():
    class Nothing(Laplace):
        def __init__(self, *, colour):
            super().__init__(sensitivity=1, epsilon=1)

    with pytest.raises(AssertionError, match="carries the promise"):
        testing.check_refuses_bad_parameters(card(lambda: (Nothing(colour="red"), 1)))


def test_repeated_names_are_refused(monkeypatch):
    from discreet import catalogue

    monkeypatch.setattr(laplace, "CARDS", (GOOD,), raising=False)
    catalogue.catalogue.cache_clear()
    try:
        with pytest.raises(InternalError, match="more than one card: laplace"):
            catalogue.catalogue()
    finally:
        monkeypatch.undo()
        catalogue.catalogue.cache_clear()


def test_cards_are_found_by_name():
    assert find("laplace").name == "laplace"
    assert isinstance(find("laplace"), Card)
    with pytest.raises(ValueError, match=r"one of .*laplace"):
        find("laplacian")


def test_sorted_and_unique():
    from discreet.catalogue import catalogue

    names = [one.name for one in catalogue()]
    assert names == sorted(set(names))


def test_wrapped_data_print_nothing():
    assert repr(Sensitive(Fraction(1, 3))) == "Sensitive(...)"
