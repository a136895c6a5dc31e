"""Black-box lower bounds on epsilon from samples, sound at a stated confidence.

For any event E, (epsilon, delta)-differential privacy says P[E] <= e^epsilon P'[E] + delta. Exact binomial
(Clopper-Pearson) bounds on both probabilities turn counts into a lower bound on epsilon that is wrong
with probability at most 1 - confidence, whatever the mechanism. A search for a good event uses one half
of the samples, the bound the other half; given events share the confidence between them.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from numbers import Real
from typing import Any

from scipy.special import betaincinv

from discreet.audit.runs import Run, make_runner, observe, read_pair, require_answers
from discreet.core import checks
from discreet.core.errors import InvalidParameter, MissingExtra
from discreet.core.mechanism import Conversation, Interactive, Mechanism
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import up

_CANDIDATES = 48


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """A set of outcomes, in words and as a test."""

    name: str
    contains: Callable[[Any], bool]

    def count(self, seen: Mapping[Any, int]) -> int:
        """Count what was seen inside, from the number of times each outcome was."""
        return sum(times for outcome, times in seen.items() if self.contains(outcome))


Directed = tuple[OutputEvent, bool]
"""An event, and whether it is likelier on the second data set than on the first."""

NOTHING = OutputEvent("no event", lambda _: False)


@dataclass(frozen=True, slots=True, repr=False)
class LowerBound:
    """A lower bound on epsilon at a delta.

    Attributes
    ----------
    claimed, epsilon
        What the mechanism claims at `delta`, and what was proved from samples.
    event, left, right
        The event that gave the bound, and the data on which it is likely and unlikely.
    """

    claimed: float
    epsilon: float
    delta: float
    event: str
    left: Any
    right: Any

    @property
    def holds(self) -> bool:
        """Whether the claim was not refuted."""
        return self.epsilon <= self.claimed


@dataclass(frozen=True, slots=True, repr=False)
class EmpiricalReport(LowerBound):
    """A lower bound at a confidence; `samples` runs on each data set are what it rests on."""

    confidence: float
    samples: int

    @property
    def ratio(self) -> float:
        """The proved part of the claim."""
        return self.epsilon / self.claimed if self.claimed else (math.inf if self.epsilon else 1.0)

    def __repr__(self) -> str:
        verdict = "stands" if self.holds else "REFUTED"
        return (
            f"claim {verdict} | claimed epsilon {self.claimed:.6g}, at least {self.epsilon:.6g} "
            f"at confidence {self.confidence:g}, ratio {self.ratio:.4f} | {self.event}, "
            f"{self.left!r} vs {self.right!r}, {self.samples} samples"
        )


def proportion_bounds(successes: int, trials: int, *, alpha: float) -> tuple[float, float]:
    """Return Clopper-Pearson bounds on a probability; each side is wrong with probability at most alpha."""
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, alpha))
    # By symmetry, since 1 - alpha would lose a tiny alpha to rounding.
    high = 1.0 if successes == trials else 1 - float(betaincinv(trials - successes, successes + 1, alpha))
    return low, high


def ratio_bound(inside: int, inside_other: int, trials: int, *, alpha: float, delta: float) -> float:
    """Return a lower bound on epsilon from the counts of one event; wrong with probability at most alpha."""
    low, _ = proportion_bounds(inside, trials, alpha=alpha / 2)
    _, high = proportion_bounds(inside_other, trials, alpha=alpha / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def epsilon_lower_bound(
    mechanism: Mechanism[Any, Any] | Interactive[Any, Any],
    pair: tuple[Any, Any],
    *,
    samples: int,
    delta: checks.Number,
    confidence: checks.Number = 0.999999,
    events: Sequence[OutputEvent] | None = None,
    script: Callable[[Conversation[Any]], Hashable] | None = None,
    rng: Rng = SYSTEM,
    progress: bool = False,
) -> EmpiricalReport:
    """Bound epsilon from below by running a mechanism on two neighbours.

    Parameters
    ----------
    mechanism, pair, script
        What to run, on which two data sets, and for conversations how.
    samples
        Runs on each data set.
    delta
        The delta at which epsilon is bounded.
    confidence
        One minus the probability that the bound is wrong.
    events
        Events to test. Without them, one is searched on the first half of the samples.
    rng
        Where the mechanism's randomness comes from.
    progress
        Whether to draw a progress bar (needs the extra ``cli``).
    """
    count, pair = checks.integer(2, samples=samples), read_pair(pair)
    drawn = draw_both(make_runner(mechanism, script), pair, count, rng=rng, progress=progress)
    claimed = mechanism.loss.epsilon(delta)
    return _report(drawn, pair, claimed=claimed, delta=delta, confidence=confidence, events=events)


def black_box(
    function: Callable[[Any], Any],
    left: Any,
    right: Any,
    *,
    epsilon: checks.Number,
    delta: checks.Number,
    samples: int = 20_000,
    confidence: checks.Number = 0.999999,
    events: Sequence[OutputEvent] | None = None,
    progress: bool = False,
) -> EmpiricalReport:
    """Bound epsilon from below by calling any function at all on two neighbours.

    Nothing is asked of the function but that it draws afresh at every call; an exception counts as an answer.
    `report.holds` is False only where (epsilon, delta) is refuted, which happens to a true claim with
    probability at most 1 - confidence. That it is True proves nothing: rare events need many samples.

    Parameters
    ----------
    function
        Data -> what is published: numbers, text, arrays, or tuples and lists of them.
    left, right
        Two neighbouring data sets.
    epsilon, delta
        The claim.
    samples
        Calls on each data set.
    confidence
        One minus the probability that the bound is wrong.
    events
        Events to test. Without them, one is searched on the first half of the samples.
    progress
        Whether to draw a progress bar (needs the extra ``cli``).
    """
    if not callable(function):
        raise InvalidParameter(name="function", rule="a function of the data", got=type(function).__name__)
    claimed = up(checks.non_negative(epsilon=epsilon))
    count = checks.integer(2, samples=samples)
    drawn = draw_both(lambda data, _: function(data), (left, right), count, rng=SYSTEM, progress=progress)
    return _report(drawn, (left, right), claimed=claimed, delta=delta, confidence=confidence, events=events)


def _report(
    drawn: tuple[list[Hashable], list[Hashable]],
    pair: tuple[Any, Any],
    *,
    claimed: float,
    delta: checks.Number,
    confidence: checks.Number,
    events: Sequence[OutputEvent] | None,
) -> EmpiricalReport:
    left, right = drawn
    mass, alpha = float(checks.delta(delta=delta)), float(1 - checks.probability(confidence=confidence))
    tested: Sequence[Directed] = direct(events or ())
    if events is None:
        half = len(left) // 2
        tested = [_search(left[:half], right[:half], alpha=alpha, delta=mass)]
        left, right = left[half:], right[half:]
    seen, trials = (Counter(left), Counter(right)), len(left)
    bound, best = find_strongest(tested, seen, trials, alpha=alpha / max(1, len(tested)), delta=mass)
    first, second = pair[::-1] if best[1] else pair
    return EmpiricalReport(claimed, bound, mass, best[0].name, first, second, 1 - alpha, trials)


def direct(events: Iterable[OutputEvent]) -> list[Directed]:
    """Return every event in both directions."""
    return [(event, swapped) for event in events for swapped in (False, True)]


def find_strongest(
    tested: Iterable[Directed],
    seen: tuple[Mapping[Any, int], Mapping[Any, int]],
    trials: int,
    *,
    alpha: float,
    delta: float,
) -> tuple[float, Directed]:
    """Return the best bound and its event; each event alone is wrong with probability at most alpha."""
    best: tuple[float, Directed] = (0.0, (NOTHING, False))
    for event, swapped in tested:
        inside, other = (event.count(side) for side in (seen[::-1] if swapped else seen))
        bound = ratio_bound(inside, other, trials, alpha=alpha, delta=delta)
        if bound > best[0]:
            best = bound, (event, swapped)
    return best


def draw_both(
    run: Run, pair: tuple[Any, Any], samples: int, *, rng: Rng, progress: bool = False
) -> tuple[list[Hashable], list[Hashable]]:
    """Return the outcomes of `samples` runs on each of two data sets."""
    drawn: tuple[list[Hashable], list[Hashable]] = ([], [])
    bar = _progress_bar() if progress else nullcontext()
    with bar:
        for data, outcomes in zip(pair, drawn, strict=True):
            steps: Iterable[int] = range(samples)
            if progress:
                steps = bar.track(steps, description="sampling")  # type: ignore[union-attr]
            outcomes.extend(observe(run, data, rng) for _ in steps)
    require_answers(chain(*drawn))
    return drawn


def _progress_bar() -> Any:
    try:
        from rich.progress import Progress  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise MissingExtra(package="rich", extra="cli") from None
    return Progress()


def _search(left: Sequence[Hashable], right: Sequence[Hashable], *, alpha: float, delta: float) -> Directed:
    """Return the event, and its direction, with the best bound on these samples."""
    p, q = Counter(left), Counter(right)
    events = [*_likeliest(p, q), *_thresholds([*left, *right])]
    return find_strongest(direct(events), (p, q), len(left), alpha=alpha, delta=delta)[1]


def _likeliest(p: Counter[Hashable], q: Counter[Hashable]) -> Iterable[OutputEvent]:
    """Yield sets of outcomes by likelihood ratio, from both ends: the best tests there are."""
    # Rare outcomes say nothing about their ratio; they are dealt with by thresholds.
    common = [outcome for outcome in {**p, **q} if p[outcome] + q[outcome] >= 10]
    common.sort(key=lambda outcome: math.log((p[outcome] + 1) / (q[outcome] + 1)))
    for order in (common, common[::-1]):
        for size in range(1, min(len(order), _CANDIDATES) + 1):
            chosen = frozenset(order[:size])
            named = f"outcome {order[0]!r}" if size == 1 else f"one of {size} outcomes, {order[0]!r} first"
            yield OutputEvent(named, chosen.__contains__)


def _thresholds(outcomes: Sequence[Hashable]) -> Iterable[OutputEvent]:
    """Yield half-lines at quantiles, where all outcomes are numbers."""
    if not all(isinstance(outcome, Real) for outcome in outcomes):
        return
    ordered: list[Any] = sorted(outcomes)
    for cut in {ordered[len(ordered) * k // _CANDIDATES] for k in range(1, _CANDIDATES)}:
        yield OutputEvent(f"output <= {cut}", partial(operator.ge, cut))
        yield OutputEvent(f"output >= {cut}", partial(operator.le, cut))
