"""One line for every audit of a card: what is claimed, what was really found, and the ratio."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from discreet.audit.empirical import epsilon_lower_bound
from discreet.audit.exact_report import exact
from discreet.audit.inputs import Input, list_inputs
from discreet.audit.runs import observe
from discreet.audit.samplers import DRAWS, count_at_once, sampler
from discreet.core.card import Card, Tiny
from discreet.core.rng import SYSTEM, Primitive, Rng
from discreet.noise import AddNoise, Noise

_PAIRS, _RUNS, _TRIED = 200, 4, 12  # pairs looked at, runs of each instance, inputs compared of each step


@dataclass(frozen=True, slots=True)
class AuditRow:
    """The result of one audit of one instance.

    Attributes
    ----------
    mechanism
        The instance, or the random step, in words.
    method
        "exact", "sampler" for draws of a random step against its law, or "samples" for a black-box lower
        bound.
    view
        What was compared, such as "epsilon at delta 0"; of a sampler, the most surprising event.
    claimed, measured, ratio
        The claim, the certified lower bound on the truth, and their quotient. Of a sampler, the probability
        by the law and the share of the draws.
    holds
        Whether the claim stands.
    """

    mechanism: str
    method: str
    view: str
    claimed: float
    measured: float
    ratio: float
    holds: bool


def audit_card(
    card: Card, *, samples: int = 0, draws: int = DRAWS, rng: Rng = SYSTEM
) -> tuple[AuditRow, ...]:
    """Audit a card.

    Every tiny instance is enumerated, and sampled as a black box too where `samples` are given. The random
    steps they are made of are drawn `draws` times each and compared with their laws, on what the instances
    gave them and on the inputs that are declared for such steps: arrays, many candidates, wide noise.
    """
    instances = list(card.tiny())
    rows = [row for tiny in instances for row in _audit_instance(tiny, samples, rng)]
    if draws:
        met = collect_steps(instances, rng)
        steps = [*met, *list_inputs_for(met)]
        rows += [_audit_step(step, value, draws, rng) for step, value in steps]
    return tuple(rows)


def collect_steps(instances: list[Tiny], rng: Rng) -> list[Input]:
    """Return the random steps that instances take, one of each kind, each with an input it was given.

    Of the inputs it is the most telling one. Steps that add noise count once for each law of noise.
    """
    met: dict[tuple[Any, ...], list[Input]] = {}
    for tiny in instances:
        pairs = list(islice(tiny.pairs, _PAIRS))
        for left, _ in pairs[:: math.ceil(len(pairs) / _RUNS)]:
            collector = _Collector(rng)
            observe(tiny.run, left, collector)
            for step, value in collector.met:
                noise = getattr(step, "noise", None)
                met.setdefault((type(step), type(noise), np.ndim(value)), []).append((step, value))
    return [max(steps[:_TRIED], key=_telling) for steps in met.values()]


def list_inputs_for(met: list[Input]) -> Iterator[Input]:
    """Yield the inputs that are declared for steps of these kinds, and for their laws of noise."""
    kinds = dict.fromkeys((type(step), _law_of(step)) for step, _ in met)
    laws = dict.fromkeys((AddNoise, law) for _, law in kinds if law is not None)
    for kind, law in kinds | laws:
        yield from list_inputs(kind, law)


def _law_of(step: Primitive[Any, Any]) -> type[Noise] | None:
    noise = getattr(step, "noise", None)
    return type(noise) if isinstance(noise, Noise) else None


def _telling(given: Input) -> float:
    """Return the variance of the law's logarithm: how much draws say about a rate in the exponent."""
    step, value = given
    if isinstance(step, AddNoise):
        return 0.0  # noise is as telling on every input
    chances = np.array([float(p) for _, p in step.law(value) if p])
    logs = np.log(chances)
    return float(chances @ logs**2 - (chances @ logs) ** 2)


class _Collector(Rng):
    """Performs as always, and keeps what was performed."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self.unsafe = rng.unsafe
        self.met: list[Input] = []

    def random_bytes(self, count: int) -> bytes:
        """Return the bytes of the generator."""
        return self._rng.random_bytes(count)

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        """Note the step and draw."""
        self.met.append((primitive, value))
        return self._rng.perform(primitive, value)


def _audit_step(step: Primitive[Any, Any], value: Any, draws: int, rng: Rng) -> AuditRow:
    at_once = count_at_once(step, value)
    report = sampler(step, value, draws=math.ceil(draws / at_once), rng=rng)
    ratio = report.seen / report.expected if report.expected else math.inf
    name = report.primitive if np.size(value) == 1 else f"{report.primitive} on {np.size(value)} numbers"
    return AuditRow(name, "sampler", report.event, report.expected, report.seen, ratio, report.holds)


def _audit_instance(tiny: Tiny, samples: int, rng: Rng) -> Iterator[AuditRow]:
    report = exact(tiny.mechanism, tiny.pairs, tiny.script)
    worst, name = report.worst, repr(tiny.mechanism)
    yield AuditRow(name, "exact", worst.where, worst.claimed, worst.measured, worst.ratio, report.holds)
    if not samples:
        return
    loss = tiny.mechanism.loss
    delta = 0.0 if math.isfinite(loss.epsilon(0)) else max(loss.failure, 1e-3)
    sampled = epsilon_lower_bound(
        tiny.mechanism,
        (worst.left, worst.right),
        samples=samples,
        delta=delta,
        script=tiny.script,
        rng=rng,
    )
    view = f"epsilon at delta {delta:g}"
    yield AuditRow(name, "samples", view, sampled.claimed, sampled.epsilon, sampled.ratio, sampled.holds)
