"""Counts that are published again and again while their data come in."""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__)
