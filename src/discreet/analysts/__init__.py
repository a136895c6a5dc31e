"""Analyst privacy: what one analyst asks stays hidden from the others."""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__)
