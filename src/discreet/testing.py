"""Tools for tests. Nothing here may be used for a real release: the seeded generator is predictable."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from discreet.accounting.filters import ApproxFilter, ConcentratedFilter, Filter, PureFilter
from discreet.audit.empirical import proportion_bounds
from discreet.core.bounds import read_error
from discreet.core.card import Card
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.mechanism import Conversation, Interactive, Mechanism, Release
from discreet.core.neighbours import Neighbours
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.scores import Selection

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PRIVACY_PARAMETERS = (
    "epsilon",
    "epsilon_test",
    "epsilon_release",
    "delta",
    "rho",
    "sensitivity",
    "l2_sensitivity",
    "bound",
)
"""Constructor parameters that carry the promise."""

BAD_NUMBERS: tuple[Any, ...] = (
    float("nan"),
    float("inf"),
    float("-inf"),
    -1,
    -0.5,
    True,
    "1",
    b"1",
    [1],
    np.bool_(True),
    np.float64("nan"),
    1j,
)
"""Values that no privacy parameter may have."""


CANARY = "canary-7731"
"""A text that hostile data hold, and that no message may repeat."""


def hostile_parameters() -> tuple[Any, ...]:
    """Return what no number may be given as: text, bytes, booleans, what is not finite, and things."""
    bytes_like = (b"1", bytearray(b"1"), memoryview(b"1"))
    odd = ("1", True, np.bool_(True), 1j, object(), {1: 1}, Decimal("nan"), Decimal("sNaN"))
    return (*bytes_like, *odd, float("nan"), float("-inf"), np.float64("nan"))


def hostile_data() -> tuple[Any, ...]:
    """Return data of every wrong kind: no mechanism may do more than refuse them, or answer."""
    arrays = (
        np.full(4, np.nan),
        np.array([CANARY]),
        np.array([CANARY, None], dtype=object),
        np.zeros((3, 3)),
        np.zeros(0),
        np.array(5),
        np.ma.masked_array([1, 2], mask=[False, True]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([1 + 1j]),
    )
    lists: tuple[Any, ...] = (
        [CANARY],
        [[CANARY]],
        [None] * 4,
        [10**400] * 4,
        [float("inf")] * 4,
        [],
        (),
        [Decimal("sNaN")],
    )
    others: tuple[Any, ...] = (
        {CANARY: 1},
        {},
        set(),
        {CANARY},
        range(3),
        CANARY,
        CANARY.encode(),
        object(),
        None,
        type,
        1j,
    )
    numbers = (10**400, -(10**400), math.nan, math.inf, Fraction(1, 3), Decimal("sNaN"), np.float16(1))
    return (*arrays, *lists, *others, *numbers, iter([1, 2]), lambda: CANARY)


class UnsafeSeededRng(Rng):
    """A reproducible generator. Every release made with it is marked, and servers refuse it."""

    unsafe = True

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._lock = threading.Lock()
        self._seed = seed

    def random_bytes(self, count: int) -> bytes:
        """Return reproducible bytes."""
        with self._lock:
            return self._generator.bytes(count)

    def __repr__(self) -> str:
        return f"UnsafeSeededRng(seed={self._seed})"


def unsafe_seeded(seed: int) -> UnsafeSeededRng:
    """Return a generator that anyone who knows the seed can predict."""
    return UnsafeSeededRng(seed)


def check_mechanism(card: Card) -> tuple[str, ...]:
    """Check that an algorithm keeps the contract of every mechanism.

    Returns
    -------
    The names of the checks that were made: some apply to numbers only, some to conversations only.

    Raises
    ------
    AssertionError
        Saying what is broken.
    """
    mechanism, _ = card.example()
    _require(isinstance(mechanism, Mechanism | Interactive), "the example is not a mechanism")
    return tuple(check.__name__ for check in CONTRACT if check(card))


def check_is_a_frozen_value(card: Card) -> bool:
    """Two mechanisms with the same parameters are equal, hash alike, copy well, and never change."""
    (one, _), (other, _) = card.example(), card.example()
    _require(one == other and hash(one) == hash(other), "equal parameters make unequal mechanisms")
    _require(copy.deepcopy(one) == one, "a deep copy differs")
    for field in dataclasses.fields(one):
        _require_raises(AttributeError, setattr, one, field.name, None, what=f"{field.name} can be changed")
    _require_raises((AttributeError, TypeError), setattr, one, "something", 1, what="attributes can be added")
    return True


def check_promises_without_data(card: Card) -> bool:
    """Guarantee and error are known before any data, and are the same after a release."""
    mechanism, data = card.example()
    before = (mechanism.guarantee, read_error(mechanism, Fraction(1, 20)), repr(mechanism))
    _require(isinstance(before[0].neighbours, Neighbours), "the guarantee does not say what is hidden")
    _require(read_error(mechanism, Fraction(1, 100)) >= before[1], "a smaller beta gives a smaller error")
    made = _use(mechanism, data, unsafe_seeded(1))
    _require(made.guarantee == before[0], "what was released carries another guarantee")
    after = (mechanism.guarantee, read_error(mechanism, Fraction(1, 20)), repr(mechanism))
    _require(before == after, "guarantee, error or repr changed with use")
    return True


def check_refuses_bad_parameters(card: Card) -> bool:
    """Every privacy parameter refuses NaN, infinities, negative numbers, booleans and text."""
    mechanism, _ = card.example()
    given = _constructor_arguments(card)
    # A parameter that is None here is the unused one of two ways to calibrate.
    promised = [name for name in PRIVACY_PARAMETERS if given.get(name) is not None]
    _require(bool(promised), "no constructor parameter carries the promise")
    for name in promised:
        bad = (*BAD_NUMBERS, 1, 2) if name == "delta" else (*BAD_NUMBERS, 0, 0.0)
        for value in bad:
            what = f"{name}={value!r} is accepted"
            changed = {**given, name: value}
            _require_raises(InvalidParameter, lambda c=changed: type(mechanism)(**c), what=what)
    return True


def check_refuses_hostile_parameters(card: Card) -> bool:
    """No number, and no list of numbers, of a constructor may be given as bytes, text, booleans or things."""
    mechanism, _ = card.example()
    given = _constructor_arguments(card)
    for name, value in given.items():
        bad: tuple[Any, ...] = ()
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
            bad = hostile_parameters()
        elif isinstance(value, tuple | list | np.ndarray) and _are_numbers(value) and np.ndim(value) == 1:
            size = len(value)
            bad = (b"1" * size, bytearray(b"1" * size), "1" * size, [True] * size, [b"1"] * size)
        for odd in bad:
            changed = {**given, name: odd}
            what = f"{name}={odd!r} is accepted"
            _require_raises(DiscreetError, lambda c=changed: type(mechanism)(**c), what=what)
    return True


def check_refuses_bad_beta(card: Card) -> bool:
    """error(beta) takes probabilities strictly between 0 and 1 only."""
    mechanism, _ = card.example()
    for value in (*BAD_NUMBERS, 0, 1, None):
        _require_raises(InvalidParameter, mechanism.error, value, what=f"error({value!r}) is accepted")
    return True


def check_keeps_data_out_of_sight(card: Card) -> bool:
    """Take wrapped data, print none, and let no conversation be copied."""
    mechanism, data = card.example()
    wrapped = Sensitive.wrap(data)
    _require_raises(DiscreetError, pickle.dumps, wrapped, what="sensitive data can be pickled")
    made = _use(mechanism, wrapped, unsafe_seeded(2))
    if isinstance(made, Conversation):
        _require_raises(Exception, pickle.dumps, made, what="a conversation can be pickled")
        _require_raises(Exception, copy.deepcopy, made, what="a conversation can be copied")
        _require(_marker(data) not in repr(made), "a conversation prints its data")
        return True
    return True


def check_survives_hostile_data(card: Card) -> bool:
    """Answer data of the wrong kind, or refuse them by an error of ours that repeats nothing of them."""
    mechanism, _ = card.example()
    if not isinstance(mechanism, Mechanism):
        return False
    for odd in hostile_data():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a warning speaks too
                answer = mechanism.release(odd, rng=unsafe_seeded(3))
        except DiscreetError as refusal:
            _require(CANARY not in str(refusal), f"an error about {type(odd).__name__} repeats the data")
            continue
        _require(isinstance(answer, Release), "odd data give something that is not a release")
    return True


def check_marks_seeded_noise(card: Card) -> bool:
    """Releases made with a seeded generator say so; those made with the system's do not."""
    mechanism, data = card.example()
    seeded, proper = _use(mechanism, data, unsafe_seeded(4)), _use(mechanism, data, None)
    _require(seeded.unsafe_seeded and not proper.unsafe_seeded, "seeded noise is not marked")
    _require(isinstance(seeded, Conversation) or "UNSAFE" in repr(seeded), "the mark is not printed")
    return True


def check_runs_in_threads(card: Card) -> bool:
    """One mechanism serves several threads at once."""
    mechanism, data = card.example()
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: _use(mechanism, data, None), range(16)))
    _require(len({id(one) for one in made}) == len(made), "two threads were given the same object")
    return True


def check_error_bound(card: Card, *, draws: int = 300) -> bool:
    """Errors exceed error(beta) at most as often as beta says.

    Made for mechanisms that add noise to the numbers they are given, and for those that choose one of the
    scores they are given. False-alarm rate 1e-9; a bound that fails three times as often as it should, at
    beta 0.1, is found with probability above 0.99.
    """
    mechanism, data = card.example()
    rng, beta = unsafe_seeded(5), Fraction(1, 10)
    if isinstance(mechanism, Interactive) or not _are_numbers(data):
        return False
    truth = np.asarray(data, dtype=np.float64)
    missed = [_miss(mechanism, mechanism.release(data, rng=rng).value, truth) for _ in range(draws)]
    known = [error for error in missed if error is not None]
    bound = read_error(mechanism, beta)
    failures = sum(error > bound for error in known)
    low, _ = proportion_bounds(failures, draws, alpha=1e-9)
    _require(low <= beta, f"the error bound for beta {float(beta)} failed {failures} times in {draws}")
    return bool(known) and bound < math.inf


def check_fits_its_own_budget(card: Card) -> bool:
    """Mechanisms fit a filter of the budget they were bought at."""
    for mechanism in (card.example()[0], *(tiny.mechanism for tiny in card.tiny())):
        bought, rho = mechanism.bought, mechanism.loss.exact_rho()
        epsilon, delta = bought.exact_epsilon(), bought.exact_failure()
        filters: list[Filter] = []
        if epsilon and delta:
            filters.append(ApproxFilter(epsilon=epsilon, delta=delta))
        elif epsilon:
            filters.append(PureFilter(epsilon=epsilon))
        if rho:
            filters.append(ConcentratedFilter(rho=rho, failure=mechanism.loss.exact_failure()))
        _require(bool(filters), "no filter holds it")
        for budget in filters:
            _require(budget.try_spend(mechanism), f"{mechanism!r} does not fit {budget!r}")
    return True


CONTRACT: tuple[Callable[[Card], bool], ...] = (
    check_is_a_frozen_value,
    check_promises_without_data,
    check_refuses_bad_parameters,
    check_refuses_hostile_parameters,
    check_refuses_bad_beta,
    check_keeps_data_out_of_sight,
    check_survives_hostile_data,
    check_marks_seeded_noise,
    check_runs_in_threads,
    check_error_bound,
    check_fits_its_own_budget,
)
"""Every check of `check_mechanism`. Each raises AssertionError, or returns whether it applied."""


def neighbouring_pairs(
    neighbours: Neighbours, domain: Sequence[Any], size: int
) -> SearchStrategy[tuple[Any, Any]]:
    """Return a Hypothesis strategy for pairs of neighbours over a tiny domain."""
    from hypothesis import strategies  # noqa: PLC0415 - a development tool

    return strategies.sampled_from(list(neighbours.pairs(domain, size)))


def awkward_numbers() -> SearchStrategy[Any]:
    """Return a Hypothesis strategy for the numbers that break sums: NaN, infinities, zeros, 2**53 + 1, ..."""
    from hypothesis import strategies  # noqa: PLC0415 - a development tool

    edges: list[Any] = [-0.0, 5e-324, 1.8e308, 2.0**53, 2**53 + 1, 2**63, -(2**63), 0.1]
    return strategies.one_of(strategies.sampled_from(edges), strategies.floats(), strategies.integers())


def _use(mechanism: Any, data: Any, rng: Rng | None) -> Any:
    """Release, or open a conversation, with a given generator or the default one."""
    act = mechanism.open if isinstance(mechanism, Interactive) else mechanism.release
    made = act(data) if rng is None else act(data, rng=rng)
    _require(isinstance(made, Release | Conversation), "neither a release nor a conversation came back")
    return made


def _constructor_arguments(card: Card) -> dict[str, Any]:
    """Return what the example's constructor was called with."""
    kind = type(card.example()[0])
    original, calls = kind.__init__, []

    def record(self: Any, **given: Any) -> None:
        calls.append(given)
        original(self, **given)

    with mock.patch.object(kind, "__init__", record):
        card.example()
    _require(bool(calls), "the example is not made by its constructor")
    return calls[-1]


def _are_numbers(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "iuf"
    except ValueError:  # arrays of several shapes
        return False


def _miss(mechanism: Any, value: Any, truth: Any) -> float | None:
    """Return how far a release is off, or None where that is not the card's own numbers against its own."""
    if isinstance(mechanism, Selection):
        names = list(mechanism.candidates or range(mechanism.size))
        return float(truth.max() - truth[names.index(value)]) if value in names else None
    if hasattr(mechanism, "size") and np.shape(value) == truth.shape:
        return float(np.abs(np.asarray(value, dtype=np.float64) - truth).max())
    return None


def _marker(data: Any) -> str:
    """Return a text that would betray the data; a short one could be there by chance."""
    text = repr(data)
    return text if len(text) >= 6 else "\0"


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def _require_raises(
    kind: type[Exception] | tuple[type[Exception], ...], act: Callable[..., Any], *given: Any, what: str
) -> None:
    try:
        act(*given)
    except kind:
        return
    raise AssertionError(what)
