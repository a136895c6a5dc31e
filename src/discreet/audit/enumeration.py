"""Every outcome of the shipped code with its probability, by walking the tree of its random steps.

The mechanism runs once for each path through the tree. An `Rng` answers every primitive with one of
the outcomes of its law and multiplies their probabilities; depth first, no outcome left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from discreet.core.card import Tiny
from discreet.core.errors import DiscreetError, InternalError, InvalidParameter
from discreet.core.mechanism import Conversation, Interactive, Mechanism
from discreet.core.rng import Primitive, Rng
from discreet.noise.primitives import AddNoise

PATHS = 200_000
"""How many paths one distribution may have unless the caller allows more."""

_LAW_ERROR = Fraction(1, 1 << 100)  # what a primitive's law promises for each outcome
_SMALL = 1 << 64  # denominators below this come from rational laws and are kept exactly
_BITS = 192

Run = Callable[[Any, Rng], Hashable]


@dataclass(frozen=True, slots=True)
class _Law:
    outcomes: tuple[tuple[Any, Fraction], ...]
    rational: bool


@dataclass(frozen=True, slots=True)
class Raised:
    """The outcome of a run that ended in an exception: an observer sees that too."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Distribution(Mapping[Hashable, Fraction]):
    """Outcomes and their probabilities.

    Attributes
    ----------
    probabilities
        The enumerated outcomes.
    left_out
        An upper bound on the probability of all paths that infinite laws leave out.
    error
        An upper bound on the error of every single probability, apart from what is left out. Zero
        where all laws are rational.
    paths
        How many runs it took.
    """

    probabilities: Mapping[Hashable, Fraction]
    left_out: Fraction
    error: Fraction
    paths: int

    def __getitem__(self, outcome: Hashable) -> Fraction:
        return self.probabilities[outcome]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.probabilities)

    def __len__(self) -> int:
        return len(self.probabilities)

    def __repr__(self) -> str:
        return (
            f"<distribution: {len(self)} outcomes, {self.paths} paths, {float(self.left_out):.1e} left out>"
        )


def output_distribution(run: Run, data: Any, *, limit: int = PATHS) -> Distribution:
    """Return the distribution of ``run(data, rng)``.

    Parameters
    ----------
    run
        Any program whose randomness goes through ``rng.perform`` only. Its result must be hashable.
    data
        What it runs on.
    limit
        The largest number of paths.

    Raises
    ------
    InvalidParameter
        When the program draws bits outside a primitive, or has more paths than the limit.
    """
    return Enumerator(limit=limit).distribution(run, data)


def runner(
    mechanism: Mechanism[Any, Any] | Interactive[Any, Any],
    script: Callable[[Conversation[Any]], Hashable] | None = None,
) -> Run:
    """Return the program that runs a mechanism, or its conversation through a script, once."""
    return Tiny(mechanism=mechanism, pairs=(), script=script).run


def observe(run: Run, data: Any, rng: Rng) -> Hashable:
    """Run once and return what an observer sees: the result, or the exception."""
    try:
        return frozen(run(data, rng))
    except Exception as problem:  # whatever it is, it can be seen
        return Raised(type(problem).__name__, str(problem))


class Enumerator:
    """Enumerates many distributions and remembers the laws it has met."""

    def __init__(self, *, limit: int = PATHS) -> None:
        self._limit = limit
        self._laws: dict[Hashable, _Law] = {}

    def distribution(self, run: Run, data: Any) -> Distribution:
        """Return the distribution of one program on one data set."""
        found: dict[Hashable, Fraction] = {}
        walk = _Walk(self._law)
        paths = deepest = 0
        for outcome, probability in walk.paths(run, data):
            paths += 1
            deepest = max(deepest, walk.depth)
            if paths > self._limit:
                raise InvalidParameter(
                    name="mechanism",
                    rule=f"enumerable in {self._limit} paths",
                    value=f"more than {self._limit} paths",
                    hint="Take a smaller instance, fewer questions or less noise",
                )
            found[outcome] = found[outcome] + probability if outcome in found else probability
        error = Fraction(0) if walk.rational else paths * (deepest + 1) * _LAW_ERROR
        left_out = max(Fraction(0), 1 - sum(found.values())) + error
        return Distribution(found, left_out, error, paths)

    def _law(self, primitive: Primitive[Any, Any], value: Any) -> _Law:
        key = (primitive, frozen(value))
        if key not in self._laws:
            exact = list(primitive.law(value))
            if any(p < 0 for _, p in exact) or sum(p for _, p in exact) > 1 + len(exact) * _LAW_ERROR:
                raise InternalError(f"the law of {type(primitive).__name__} is not a distribution")
            outcomes = tuple((outcome, _tidy(p)) for outcome, p in exact if p > 0)
            self._laws[key] = _Law(outcomes, all(p.denominator < _SMALL for _, p in exact))
        return self._laws[key]


@dataclass(slots=True)
class _Step:
    primitive: Primitive[Any, Any]
    law: _Law
    before: Fraction  # the probability of the path up to here
    chosen: int = 0


class _Walk(Rng):
    """Answers primitives along one path of the tree and then moves on to the next path."""

    def __init__(self, law: Callable[[Primitive[Any, Any], Any], _Law]) -> None:
        self._law = law
        self._steps: list[_Step] = []
        self.depth = 0
        self.rational = True
        self._refusal: DiscreetError | None = None

    def paths(self, run: Run, data: Any) -> Iterator[tuple[Hashable, Fraction]]:
        """Yield the outcome and the probability of every path."""
        while True:
            self.depth = 0
            outcome = observe(run, data, self)
            if self._refusal is not None:
                raise self._refusal
            if self.depth < len(self._steps):
                raise InternalError("a run on the same outcomes made fewer random steps: it has hidden state")
            yield outcome, self._probability()
            while self._steps and self._steps[-1].chosen + 1 == len(self._steps[-1].law.outcomes):
                self._steps.pop()
            if not self._steps:
                return
            self._steps[-1].chosen += 1

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        """Return the outcome that this path takes."""
        if self.depth == len(self._steps):
            try:
                law = self._law(primitive, value)
            except DiscreetError as problem:
                self._refuse(problem)
            self.rational &= law.rational
            self._steps.append(_Step(primitive, law, self._probability()))
        step = self._steps[self.depth]
        if step.primitive is not primitive and step.primitive != primitive:
            self._refuse(InternalError("a run on the same outcomes took another step: it has hidden state"))
        self.depth += 1
        outcome = step.law.outcomes[step.chosen][0]
        if isinstance(primitive, AddNoise) and isinstance(value, np.ndarray):
            return np.array(outcome, dtype=value.dtype).reshape(value.shape)
        return outcome

    def random_bytes(self, count: int) -> bytes:
        """Refuse: bits that no primitive accounts for cannot be enumerated."""
        self._refuse(raw_draw(count))

    def _probability(self) -> Fraction:
        if not self._steps:
            return Fraction(1)
        last = self._steps[-1]
        product = last.before * last.law.outcomes[last.chosen][1]
        self.rational &= product.denominator < _SMALL
        return _tidy(product)

    def _refuse(self, problem: DiscreetError) -> NoReturn:
        self._refusal = problem  # kept, in case the mechanism swallows the exception
        raise problem


def raw_draw(count: int) -> InvalidParameter:
    """Return the error for random bits that were drawn outside a primitive."""
    return InvalidParameter(
        name="mechanism",
        rule="random through rng.perform(primitive, value) only",
        value=f"a draw of {count} raw bytes",
        hint="Randomness that bypasses perform cannot be audited",
    )


def frozen(value: Any) -> Hashable:
    """Return a hashable stand-in that is equal only for values an observer cannot tell apart."""
    if isinstance(value, np.ndarray):
        return frozen(value.tolist())
    if isinstance(value, np.generic):
        return frozen(value.item())
    if isinstance(value, float):
        # NaN differs from itself and -0.0 equals 0.0: an observer sees it the other way round.
        if math.isnan(value):
            return "nan"
        return "-0.0" if value == 0 and math.copysign(1, value) < 0 else value
    if isinstance(value, tuple | list):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return frozenset((frozen(key), frozen(item)) for key, item in value.items())
    if isinstance(value, set | frozenset):
        return frozenset(frozen(item) for item in value)
    if type(value).__hash__ is None:
        raise InvalidParameter(name="value", rule="hashable to be enumerated", value=type(value).__name__)
    return value  # type: ignore[no-any-return]


def _tidy(p: Fraction) -> Fraction:
    """Keep rational probabilities; cut long approximations down to 192 bits, far below a law's own error."""
    if p.denominator < _SMALL:
        return p
    return Fraction((p.numerator << _BITS) // p.denominator, 1 << _BITS)
