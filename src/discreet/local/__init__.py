"""The local model: everybody adds the noise to their own value, and nobody is trusted with it."""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__)
