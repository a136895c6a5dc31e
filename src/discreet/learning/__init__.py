"""Learning from private rows: models, experts and classes, each with its price."""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__, extras={"sklearn": "learning"})
