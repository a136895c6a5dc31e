"""To and from dp_accounting's events, so that other accountants can check ours.

Needs the extra `accounting`. Events without a counterpart raise; nothing is approximated silently.
"""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from types import ModuleType
from typing import Any

from discreet.accounting.amplification import FixedSampleLoss, PoissonLoss
from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.errors import InvalidParameter, MissingExtra
from discreet.core.loss import (
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
    RenyiLoss,
    ZCDPLoss,
)
from discreet.core.rounding import down, up


def _events() -> ModuleType:
    try:
        return importlib.import_module("dp_accounting.dp_event")
    except ImportError:
        raise MissingExtra(package="dp-accounting", extra="accounting") from None


def to_event(loss: Loss, *, population: int | None = None) -> Any:
    """Return the dp_accounting event of a loss.

    Parameters
    ----------
    population
        Number of units, needed for samples of fixed size, which dp_accounting describes by two sizes.

    Raises
    ------
    InvalidParameter
        For losses dp_accounting cannot express: bounded range, (epsilon, delta), noise on the integers
        covered by a widened Gaussian, Rényi losses.
    """
    events = _events()
    match loss:
        case Composed(parts=parts):
            return _compose_events(events, [(to_event(p, population=population), c) for p, c in parts])
        case GaussianLoss(mu=mu, slack=slack) if slack == 1:
            return events.GaussianDpEvent(down(1 / mu)) if mu else events.NoOpDpEvent()
        case LaplaceLoss(value=value):
            return events.LaplaceDpEvent(down(1 / value)) if value else events.NoOpDpEvent()
        case DiscreteLaplaceLoss(shift=shift, scale=scale):
            return events.DiscreteLaplaceDpEvent(up(1 / scale), shift) if shift else events.NoOpDpEvent()
        case PureLoss(value=value):
            return events.RandomizedResponseDpEvent(_flip(value), 2) if value else events.NoOpDpEvent()
        case ZCDPLoss(rho=rho):
            return events.ZCDpEvent(up(rho))
        case PoissonLoss(loss=inner, rate=rate):
            return events.PoissonSampledDpEvent(up(rate), to_event(inner, population=population))
        case FixedSampleLoss(loss=inner, rate=rate) if population is not None:
            size = math.ceil(rate * checks.integer(1, population=population))
            return events.SampledWithoutReplacementDpEvent(population, size, to_event(inner))
        case _:
            raise InvalidParameter(name="loss", rule="one that dp_accounting can express", value=loss)


def _compose_events(events: ModuleType, parts: list[tuple[Any, int]]) -> Any:
    counted = [event if count == 1 else events.SelfComposedDpEvent(event, count) for event, count in parts]
    if not counted:
        return events.NoOpDpEvent()
    return counted[0] if len(counted) == 1 else events.ComposedDpEvent(counted)


def _flip(value: Fraction) -> float:
    """Return the noise parameter of binary randomized response: the answer is uniform that often."""
    return max(0.0, 2 / (1 + math.exp(up(value))) * (1 - 1e-15)) if value < 700 else 0.0


def from_event(event: Any) -> Loss:
    """Return the loss of a dp_accounting event.

    Sampled events keep the neighbours they are defined for: adding or removing for Poisson samples, changing
    for samples of fixed size; put the result into a `Guarantee` that says so.

    Raises
    ------
    InvalidParameter
        For events without a loss here, or without any.
    """
    events = _events()
    kind = type(event)
    if kind is events.NoOpDpEvent:
        return Composed(())
    if kind is events.SelfComposedDpEvent:
        return Composed(((from_event(event.event), int(event.count)),))
    if kind is events.ComposedDpEvent:
        return Composed(tuple((from_event(inner), 1) for inner in event.events))
    if kind is events.PoissonSampledDpEvent:
        rate = checks.positive(sampling_probability=event.sampling_probability)
        return PoissonLoss(from_event(event.event), rate)
    if kind is events.SampledWithoutReplacementDpEvent:
        rate = Fraction(int(event.sample_size), int(event.source_dataset_size))
        return FixedSampleLoss(from_event(event.event), rate)
    return _leaf(events, event)


def _leaf(events: ModuleType, event: Any) -> Loss:
    kind = type(event)
    if kind is events.GaussianDpEvent:
        return GaussianLoss(1 / checks.positive(noise_multiplier=event.noise_multiplier))
    if kind is events.LaplaceDpEvent:
        return LaplaceLoss(1 / checks.positive(noise_multiplier=event.noise_multiplier))
    if kind is events.DiscreteLaplaceDpEvent:
        scale = 1 / checks.positive(noise_parameter=event.noise_parameter)
        return DiscreteLaplaceLoss(int(event.sensitivity), scale)
    if kind is events.RandomizedResponseDpEvent:
        return _randomized_response(event)
    if kind is events.ZCDpEvent:
        if event.xi == 0:
            return ZCDPLoss(checks.non_negative(rho=event.rho))
        orders = [1 + 2.0**k for k in range(-6, 20)]
        return RenyiLoss(
            tuple((a, up(Fraction(event.xi) + Fraction(event.rho) * Fraction(a))) for a in orders)
        )
    raise InvalidParameter(name="event", rule="one with a loss here", value=event)


def _randomized_response(event: Any) -> PureLoss:
    """Return the largest log ratio of probabilities: (1 - p + p/k) / (p/k)."""
    p, k = checks.positive(noise_parameter=event.noise_parameter), int(event.num_buckets)
    return PureLoss(Fraction(math.log(float((1 - p + p / k) / (p / k)))) * (1 + Fraction(1, 10**15)))
