"""Every outcome of the shipped code with its probability, by walking the tree of its random steps.

The mechanism runs along each path through the tree. An `Rng` answers every primitive with one of the
outcomes of its law and multiplies their probabilities; depth first, no outcome left out. Every path is
run at least twice: a program whose output is not a function of its data and its random steps draws
randomness elsewhere, and what was enumerated is not its distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, zip_longest
from typing import Any, NoReturn

import numpy as np

from discreet.audit.runs import Run, freeze, hidden_randomness, observe, raw_draw
from discreet.core.errors import DiscreetError, InternalError, InvalidParameter
from discreet.core.rng import SYSTEM, Primitive, Rng
from discreet.noise.oracle import uniform_below
from discreet.noise.primitives import AddNoise

PATHS = 200_000
"""How many paths one distribution may have unless the caller allows more."""
REPEATS = 128
"""How many runs one audit repeats at least; every path is among them."""
ALONE = 64
"""How often a run without any random step is repeated: there nothing else can show a hidden coin."""

_PROBES, _SURELY = 16, 4  # a tree within the limit is refused with probability below 4**-16
_LAW_ERROR = Fraction(1, 1 << 100)  # what a primitive's law promises for each outcome
_SMALL = 1 << 64  # denominators below this come from rational laws and are kept exactly
_BITS = 192


@dataclass(frozen=True, slots=True)
class _Law:
    outcomes: tuple[tuple[Any, Fraction], ...]
    rational: bool


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
        How many paths there are.
    steps
        The most random steps on one path.
    """

    probabilities: Mapping[Hashable, Fraction]
    left_out: Fraction
    error: Fraction
    paths: int
    steps: int

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
        When the program draws randomness outside a primitive, or has more paths than the limit.
    """
    return Enumerator(limit=limit).distribution(run, data)


class Enumerator:
    """Enumerates many distributions and remembers the laws it has met."""

    def __init__(self, *, limit: int = PATHS, repeats: int = REPEATS) -> None:
        self._limit, self._repeats = limit, repeats
        self._laws: dict[Hashable, _Law] = {}

    def distribution(self, run: Run, data: Any) -> Distribution:
        """Return the distribution of one program on one data set."""
        walk = _Walk(self._law)
        first = list(self._walk_within_limit(walk, run, data))
        again = self._repeats if walk.steps else ALONE
        for _ in range(max(1, math.ceil(again / len(first)))):
            for known, now in zip_longest(first, walk.paths(run, data)):
                if known != now:
                    raise hidden_randomness()
        found: dict[Hashable, Fraction] = {}
        for outcome, probability in first:
            found[outcome] = found[outcome] + probability if outcome in found else probability
        error = Fraction(0) if walk.rational else len(first) * (walk.steps + 1) * _LAW_ERROR
        left_out = max(Fraction(0), 1 - sum(found.values())) + error
        return Distribution(found, left_out, error, len(first), walk.steps)

    def _walk_within_limit(self, walk: _Walk, run: Run, data: Any) -> Iterator[tuple[Hashable, Fraction]]:
        """Yield the paths of a walk, and refuse as early as it is plain that there are too many."""
        for place, path in enumerate(walk.paths(run, data)):
            if place == 0 and walk.estimate > self._limit:
                self._probe(run, data)
            if place == self._limit:
                raise self._too_many(f"more than {self._limit} paths")
            yield path

    def _probe(self, run: Run, data: Any) -> None:
        """Refuse where random descents all say that the tree is too large.

        The product of the numbers of choices along a uniform descent has the number of paths as its
        mean, so it is more than four times as large with probability at most 1 / 4.
        """
        smallest = min(_Descent(self._law).estimate_once(run, data) for _ in range(_PROBES))
        if smallest > _SURELY * self._limit:
            raise self._too_many(f"about 10**{math.floor(math.log10(smallest))} paths")

    def _law(self, primitive: Primitive[Any, Any], key: Hashable, value: Any) -> _Law:
        place = (primitive, key)
        if place not in self._laws:
            exact = list(islice(_possible(primitive.law(value)), self._limit + 1))
            if len(exact) > self._limit:
                raise self._too_many(f"one step with more than {self._limit} outcomes")
            if any(p < 0 for _, p in exact) or sum(p for _, p in exact) > 1 + len(exact) * _LAW_ERROR:
                raise InternalError(f"the law of {type(primitive).__name__} is not a distribution")
            outcomes = tuple((outcome, _tidy(p)) for outcome, p in exact)
            self._laws[place] = _Law(outcomes, all(p.denominator < _SMALL for _, p in exact))
        return self._laws[place]

    def _too_many(self, found: str) -> InvalidParameter:
        return InvalidParameter(
            name="mechanism",
            rule=f"enumerable in {self._limit} paths",
            got=found,
            hint="Take a smaller instance, fewer questions or less noise",
        )


Lookup = Callable[[Primitive[Any, Any], Hashable, Any], _Law]


class _Chooser(Rng):
    """An Rng that chooses the outcomes of primitives, and has no bits."""

    def __init__(self, law: Lookup) -> None:
        self._law = law
        self._refusal: DiscreetError | None = None

    def random_bytes(self, count: int) -> bytes:
        """Refuse: bits that no primitive accounts for cannot be enumerated."""
        self._refuse(raw_draw(count))

    def _key(self, value: Any) -> Hashable:
        try:
            return freeze(value)
        except InvalidParameter as problem:
            self._refuse(problem)

    def _look_up(self, primitive: Primitive[Any, Any], key: Hashable, value: Any) -> _Law:
        try:
            return self._law(primitive, key, value)
        except DiscreetError as problem:
            self._refuse(problem)

    def _observe(self, run: Run, data: Any) -> Hashable:
        outcome = observe(run, data, self)
        if self._refusal is not None:
            raise self._refusal
        return outcome

    def _refuse(self, problem: DiscreetError) -> NoReturn:
        self._refusal = problem  # kept, in case the mechanism swallows the exception
        raise problem


class _Descent(_Chooser):
    """Chooses uniformly and multiplies the numbers of choices: an estimate of the number of paths."""

    _choices = 1

    def estimate_once(self, run: Run, data: Any) -> int:
        """Return the estimate of one run."""
        self._observe(run, data)
        return self._choices

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        """Return any outcome."""
        outcomes = self._look_up(primitive, self._key(value), value).outcomes
        self._choices *= len(outcomes)
        return _shape(primitive, value, outcomes[uniform_below(len(outcomes), SYSTEM)][0])


@dataclass(slots=True)
class _Step:
    primitive: Primitive[Any, Any]
    key: Hashable  # what it was given
    law: _Law
    before: Fraction  # the probability of the path up to here
    chosen: int = 0


class _Walk(_Chooser):
    """Answers primitives along one path of the tree and then moves on to the next path."""

    def __init__(self, law: Lookup) -> None:
        super().__init__(law)
        self._path: list[_Step] = []
        self._depth = 0
        self.steps = 0
        self.rational = True

    @property
    def estimate(self) -> int:
        """The number of paths, if all were like this one."""
        return math.prod(len(step.law.outcomes) for step in self._path)

    def paths(self, run: Run, data: Any) -> Iterator[tuple[Hashable, Fraction]]:
        """Yield the outcome and the probability of every path."""
        while True:
            self._depth = 0
            outcome = self._observe(run, data)
            if self._depth < len(self._path):
                raise hidden_randomness()
            self.steps = max(self.steps, self._depth)
            yield outcome, self._probability()
            while self._path and self._path[-1].chosen + 1 == len(self._path[-1].law.outcomes):
                self._path.pop()
            if not self._path:
                return
            self._path[-1].chosen += 1

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        """Return the outcome that this path takes."""
        key = self._key(value)
        if self._depth == len(self._path):
            law = self._look_up(primitive, key, value)
            self.rational &= law.rational
            self._path.append(_Step(primitive, key, law, self._probability()))
        step = self._path[self._depth]
        if step.primitive is not primitive and step.primitive != primitive:
            self._refuse(hidden_randomness())
        # Inputs that are equal only to themselves are compared by their laws, on the next walk.
        if key != step.key and not _unique(value):
            if self._look_up(primitive, key, value).outcomes != step.law.outcomes:
                self._refuse(hidden_randomness())
        self._depth += 1
        return _shape(primitive, value, step.law.outcomes[step.chosen][0])

    def _probability(self) -> Fraction:
        if not self._path:
            return Fraction(1)
        last = self._path[-1]
        product = last.before * last.law.outcomes[last.chosen][1]
        self.rational &= product.denominator < _SMALL
        return _tidy(product)


def _possible(law: Iterable[tuple[Any, Fraction]]) -> Iterator[tuple[Any, Fraction]]:
    return ((outcome, p) for outcome, p in law if p != 0)


def _unique(value: object) -> bool:
    """Tell whether a value is of a type whose objects equal only themselves."""
    equal: object = type(value).__eq__
    return equal is object.__eq__


def _shape(primitive: Primitive[Any, Any], value: Any, outcome: Any) -> Any:
    if isinstance(primitive, AddNoise) and isinstance(value, np.ndarray):
        return np.array(outcome, dtype=value.dtype).reshape(value.shape)
    return outcome


def _tidy(p: Fraction) -> Fraction:
    """Keep rational probabilities; cut long approximations down to 192 bits, far below a law's own error."""
    if p.denominator < _SMALL:
        return p
    return Fraction((p.numerator << _BITS) // p.denominator, 1 << _BITS)
