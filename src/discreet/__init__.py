"""Differential privacy whose every guarantee is checked by exact enumeration.

>>> import discreet as dp
>>> dp.Laplace(sensitivity=1, epsilon=0.5).error(0.05)
6.0
"""

from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.laplace import Laplace

__all__ = ["AddRemove", "Laplace", "Replace"]
__version__ = "0.1.0"
