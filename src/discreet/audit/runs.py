"""One run of a program under audit: what goes in, what an observer sees, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.card import Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.mechanism import Conversation, Interactive, Mechanism
from discreet.core.rng import Rng

Run = Callable[[Any, Rng], Hashable]
"""A program: data and randomness in, what is published out."""

NO_STEP = "no random step: the output is a function of the data"
"""What reports say of a mechanism that draws nothing."""

_SAID = 200
"""How much of what an error says is repeated."""

_ONE_PAIR = "This audit takes one pair: loop over pairs"
_PLAIN = frozenset({int, bool, str, type(None)})


@dataclass(frozen=True, slots=True)
class Raised:
    """The outcome of a run that ended in an exception: an observer sees that too."""

    kind: str
    message: str


def make_runner(
    mechanism: Mechanism[Any, Any] | Interactive[Any, Any],
    script: Callable[[Conversation[Any]], Hashable] | None = None,
) -> Run:
    """Return the program that runs a mechanism, or its conversation through a script, once."""
    if not isinstance(mechanism, Mechanism | Interactive):
        raise InvalidParameter(
            name="mechanism",
            rule="a Mechanism or Interactive",
            got=type(mechanism).__name__,
            hint="For a plain function use audit.black_box, or audit.output_distribution",
        )
    if isinstance(mechanism, Interactive) and script is None:
        raise InvalidParameter(name="script", rule="given for an interactive mechanism", got="none")
    return Tiny(mechanism=mechanism, pairs=(), script=script).run


def observe(run: Run, data: Any, rng: Rng) -> Hashable:
    """Run once and return what an observer sees: the result, or the exception."""
    try:
        return freeze(run(data, rng))
    except Exception as problem:  # whatever it is, it can be seen
        return Raised(type(problem).__name__, str(problem))


def list_pairs(pairs: Any) -> list[tuple[Any, Any]]:
    """Return pairs of data sets as a list."""
    given = list(pairs) if isinstance(pairs, Iterable) else [pairs]
    if not given:
        raise InvalidParameter(name="pairs", rule="at least one pair", got="none")
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in given):
        raise InvalidParameter(
            name="pairs",
            rule="a list of pairs of data sets",
            got=type(pairs).__name__,
            hint="Write [(left, right)]",
        )
    return [(left, right) for left, right in given]


def read_pair(pair: Any) -> tuple[Any, Any]:
    """Return the two data sets of one pair."""
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise InvalidParameter(name="pair", rule="two data sets", got=type(pair).__name__, hint=_ONE_PAIR)
    return pair[0], pair[1]


def require_answers(outcomes: Iterable[Hashable], *, name: str = "pair") -> None:
    """Raise where a mechanism never answers: that would pass every audit."""
    kinds: dict[str, str] = {}
    for outcome in outcomes:
        if not isinstance(outcome, Raised):
            return
        kinds.setdefault(outcome.kind, outcome.message)
    said = " and ".join(f"{kind} from every run ({words[:_SAID]})" for kind, words in sorted(kinds.items()))
    raise InvalidParameter(
        name=name,
        rule="made of data sets the mechanism answers on",
        got=said,
        hint=_ONE_PAIR if name == "pair" else "",
    )


def hidden_randomness() -> InvalidParameter:
    """Return the error for a program that is not a function of its data and its random steps."""
    return InvalidParameter(
        name="mechanism",
        rule="one that draws all its randomness through rng.perform",
        got="different outputs from the same random steps",
        hint="Replace random/numpy/secrets by a primitive, or use audit.epsilon_lower_bound",
    )


def raw_draw(count: int) -> InvalidParameter:
    """Return the error for random bits that were drawn outside a primitive."""
    return InvalidParameter(
        name="mechanism",
        rule="random through rng.perform(primitive, value) only",
        got=f"a draw of {count} raw bytes",
        hint="Randomness that bypasses perform cannot be audited",
    )


class _Real(float):
    """A float that equals no integer: an observer sees the difference between 1 and 1.0."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and float.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


def freeze(value: Any) -> Hashable:
    """Return a hashable stand-in that is equal only for values an observer cannot tell apart."""
    if type(value) in _PLAIN:  # most are, and audits ask millions of times
        return value  # type: ignore[no-any-return]
    if isinstance(value, np.ndarray):
        return freeze(value.tolist())
    if isinstance(value, np.generic):
        return freeze(value.item())
    if isinstance(value, float):
        # NaN differs from itself and -0.0 equals 0.0: an observer sees it the other way round.
        if math.isnan(value):
            return "nan"
        return "-0.0" if value == 0 and math.copysign(1, value) < 0 else _Real(value)
    if isinstance(value, tuple | list):
        return tuple(freeze(item) for item in value)
    if isinstance(value, dict):
        return frozenset((freeze(key), freeze(item)) for key, item in value.items())
    if isinstance(value, set | frozenset):
        return frozenset(freeze(item) for item in value)
    if type(value).__hash__ is None:
        raise InvalidParameter(name="value", rule="hashable to be enumerated", value=type(value).__name__)
    return value  # type: ignore[no-any-return]
