"""Differential privacy whose every guarantee is checked by exact enumeration.

>>> import discreet as dp
>>> dp.Laplace(sensitivity=1, epsilon=0.5).error(0.05)
6.0

Names are loaded when they are first used, so that ``import discreet`` costs next to nothing.
"""

from __future__ import annotations

from discreet.core.lazy import offer

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = offer(__name__)
