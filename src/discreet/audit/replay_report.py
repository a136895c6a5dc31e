"""Grey-box replay: the same coins on a neighbour, step by step.

Record what every random step was given and what it answered on one data set; then run the same code on
a neighbour with the answers frozen. A guarantee that is proved step by step needs three things, and
each is checked: the steps are the same public ones in the same order, no step's input moved by more than
the step allows for, and what is published depends on the data through the steps alone. Replaying a data
set on itself must give the same output again, or the program draws randomness that no step accounts for.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from discreet.audit.enumeration import ALONE
from discreet.audit.runs import (
    NO_STEP,
    Raised,
    Run,
    hidden_randomness,
    make_runner,
    observe,
    raw_draw,
    read_pair,
    require_answers,
)
from discreet.core.errors import DiscreetError
from discreet.core.mechanism import Conversation, Interactive, Mechanism
from discreet.core.rng import SYSTEM, Primitive, Rng


@dataclass(frozen=True, slots=True)
class Step:
    """One random step: what it was, what it was given, what it answered."""

    primitive: Primitive[Any, Any]
    value: Any
    answer: Any


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What the replay found.

    Attributes
    ----------
    problems
        What went wrong, in words; empty where nothing did.
    distances
        For every step, how far the inputs of the neighbours lay apart.
    allowed
        For every step, its declared sensitivity.
    """

    problems: tuple[str, ...]
    distances: tuple[Fraction, ...]
    allowed: tuple[Fraction, ...]

    @property
    def holds(self) -> bool:
        """Whether the neighbour took the same steps, close enough, to the same output."""
        return not self.problems

    @property
    def total(self) -> Fraction:
        """The distances in units of the sensitivities, added up over all steps."""
        used = zip(self.distances, self.allowed, strict=True)
        return sum((distance / allowed for distance, allowed in used if allowed), Fraction(0))

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else f"BROKEN: {'; '.join(self.problems)}"
        verdict += "" if self.distances or self.problems else f" | {NO_STEP}"
        return f"replay of {len(self.distances)} steps: {verdict} | {float(self.total):g} sensitivities used"


def replay(
    mechanism: Mechanism[Any, Any] | Interactive[Any, Any],
    pair: tuple[Any, Any],
    script: Callable[[Conversation[Any]], Hashable] | None = None,
    *,
    rng: Rng = SYSTEM,
) -> ReplayReport:
    """Record a run on the first data set of a pair and replay it on the second, each of them twice."""
    return replay_run(make_runner(mechanism, script), pair, rng=rng)


def replay_run(run: Run, pair: tuple[Any, Any], *, rng: Rng = SYSTEM) -> ReplayReport:
    """Record and replay any program ``run(data, rng)``."""
    left, right = read_pair(pair)
    recorder = _Recorder(rng)
    published = observe(run, left, recorder)
    replayer = _Replayer(tuple(recorder.steps))
    again = observe(run, right, replayer)
    if not recorder.problems:
        _require_the_same(run, left, recorder.steps, (published, [Fraction(0)] * len(recorder.steps), []))
    if not replayer.problems:
        _require_the_same(run, right, recorder.steps, (again, replayer.distances, []))
    problems = list(recorder.problems) + list(replayer.problems)
    if not problems:
        if replayer.met < len(recorder.steps):
            problems.append(f"the neighbour stopped after {replayer.met} of {len(recorder.steps)} steps")
        elif published != again:
            problems.append("the output differs although every random step answered the same")
    if not problems and isinstance(published, Raised):
        # One run may raise by chance; a program that always does was given the wrong data.
        require_answers(observe(run, data, rng) for _ in range(ALONE) for data in (left, right))
    return ReplayReport(tuple(problems), tuple(replayer.distances), tuple(replayer.allowed))


def _require_the_same(run: Run, data: Any, steps: list[Step], seen: tuple[Hashable, Any, Any]) -> None:
    """Raise unless the same answers lead to the same output, distances and problems again."""
    for _ in range(1 if steps else ALONE):
        again = _Replayer(tuple(steps))
        if (observe(run, data, again), again.distances, again.problems) != seen:
            raise hidden_randomness()


class _Watcher(Rng):
    """An Rng that knows no bits of its own and keeps a list of what went wrong."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def random_bytes(self, count: int) -> bytes:
        """Refuse: bits that no primitive accounts for cannot be replayed."""
        self._refuse(raw_draw(count))

    def _refuse(self, problem: DiscreetError) -> NoReturn:
        self.problems.append(str(problem))
        raise problem


class _Recorder(_Watcher):
    def __init__(self, rng: Rng) -> None:
        super().__init__()
        self._rng = rng
        self.steps: list[Step] = []

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        """Draw as always, and keep a copy of what went in and out."""
        kept = copy.deepcopy(value)
        answer = self._rng.perform(primitive, value)
        self.steps.append(Step(primitive, kept, copy.deepcopy(answer)))
        return answer


class _Replayer(_Watcher):
    def __init__(self, steps: tuple[Step, ...]) -> None:
        super().__init__()
        self._steps = steps
        self.met = 0
        self.distances: list[Fraction] = []
        self.allowed: list[Fraction] = []

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        """Give the recorded answer, once the step is found to be the recorded one."""
        place = self.met
        if place == len(self._steps):
            self._refuse(DiscreetError(f"the neighbour took more than {place} steps"))
        step = self._steps[place]
        if primitive != step.primitive:
            self._refuse(
                DiscreetError(f"step {place} has other parameters: {step.primitive}, then {primitive}")
            )
        self.met += 1
        self._measure(place, step, value)
        return copy.deepcopy(step.answer)

    def _measure(self, place: int, step: Step, value: Any) -> None:
        if np.shape(step.value) != np.shape(value):
            self._refuse(DiscreetError(f"step {place} was given another shape"))
        try:
            distance = step.primitive.distance(step.value, value)
        except (ValueError, TypeError) as problem:
            self._refuse(DiscreetError(f"step {place} has inputs that cannot be compared: {problem}"))
        allowed = step.primitive.sensitivity
        self.distances.append(distance)
        self.allowed.append(allowed)
        if not distance <= allowed:
            moved = f"moved by {float(distance):g}, its sensitivity is {float(allowed):g}"
            self.problems.append(f"step {place} {moved}")
