"""Tools that try to break a guarantee: exact, replay, samplers, empirical and precision."""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__)
