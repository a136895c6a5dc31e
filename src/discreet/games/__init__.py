"""Games and markets: privacy as a tool for mechanisms that nobody gains by lying to."""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__)
