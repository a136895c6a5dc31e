"""Releasing workloads: noisy answers, synopses and synthetic data.

The package can be called: ``discreet.release(workload, data, epsilon=1, delta=1e-9)`` plans a release from
public facts, makes it and returns the synopsis; see `discreet.release.front_door.release`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that can be called, so that `discreet.release` is both the package and its front door."""

    def __call__(self, *wanted: Any, **how: Any) -> Any:
        """Plan and make a release; see `discreet.release.front_door.release`."""
        return importlib.import_module("discreet.release.front_door").release(*wanted, **how)


sys.modules[__name__].__class__ = _Callable
