"""Tools that try to break a guarantee: exact, replay, empirical and precision."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.audit.enumeration import Distribution, output_distribution
from discreet.audit.exact import ExactReport, exact
from discreet.audit.replay import ReplayReport, replay

if TYPE_CHECKING:
    from discreet.audit.empirical import EmpiricalReport, Event, epsilon_lower_bound
    from discreet.audit.precision import PrecisionReport, precision_attack
    from discreet.audit.rows import Row, audit_card

__all__ = [
    "Distribution",
    "EmpiricalReport",
    "Event",
    "ExactReport",
    "PrecisionReport",
    "ReplayReport",
    "Row",
    "audit_card",
    "epsilon_lower_bound",
    "exact",
    "output_distribution",
    "precision_attack",
    "replay",
]

# These need scipy, which a pytest that only loads the plugin should not wait for.
_LAZY = {
    "EmpiricalReport": "empirical",
    "Event": "empirical",
    "epsilon_lower_bound": "empirical",
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
