"""Attacks on releases, and what they prove: how wrong every private answer must be. Each can be run."""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__)
