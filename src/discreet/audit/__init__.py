"""Tools that try to break a guarantee: exact, replay, samplers, empirical and precision."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.audit.enumeration import Distribution, output_distribution
from discreet.audit.exact import ExactReport, exact
from discreet.audit.replay import ReplayReport, replay

if TYPE_CHECKING:
    from discreet.audit.bit_strings import agrees, every_string
    from discreet.audit.empirical import EmpiricalReport, Event, black_box, epsilon_lower_bound
    from discreet.audit.precision import PrecisionReport, precision_attack
    from discreet.audit.rows import Row, audit_card
    from discreet.audit.samplers import SamplerReport, missed, sampler

__all__ = [
    "Distribution",
    "EmpiricalReport",
    "Event",
    "ExactReport",
    "PrecisionReport",
    "ReplayReport",
    "Row",
    "SamplerReport",
    "agrees",
    "audit_card",
    "black_box",
    "epsilon_lower_bound",
    "every_string",
    "exact",
    "missed",
    "output_distribution",
    "precision_attack",
    "replay",
    "sampler",
]

# These need scipy, which a pytest that only loads the plugin should not wait for.
_LAZY = {
    "EmpiricalReport": "empirical",
    "Event": "empirical",
    "agrees": "bit_strings",
    "black_box": "empirical",
    "epsilon_lower_bound": "empirical",
    "every_string": "bit_strings",
    "missed": "samplers",
    "sampler": "samplers",
    "SamplerReport": "samplers",
    "PrecisionReport": "precision",
    "precision_attack": "precision",
    "Row": "rows",
    "audit_card": "rows",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
