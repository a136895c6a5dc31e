"""Where long games keep their large arrays: in memory, as numpy's, or on a GPU, as torch's.

A choice of speed, not of law: whole numbers are exact on both, randomness never leaves the host, and what
floats cannot decide is settled in integers there. So it is no parameter of a mechanism::

    with on_torch():
        play(...)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import Refused

Array = Any
"""An array of numpy's or torch's: only operators, indices and methods that both have are used on it."""

Host = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Arrays:
    """The few operations that numpy and torch spell differently; `module` has those they spell alike."""

    module: Any
    put: Callable[[Host], Array]
    """Bring a host array to the device."""
    fetch: Callable[[Array], Host]
    """Bring an array to the host."""
    whole: Callable[[Array], Array]
    """Turn into 64-bit integers."""
    real: Callable[[Array], Array]
    """Turn into 64-bit floats, at once and not by way of 32-bit ones."""
    unpack: Callable[[Array], Array]
    """Turn a row of bytes into eight times as many bits, the highest first."""

    block: int
    """How many numbers to handle at once: few where they should stay in a cache."""

    def parts(self, rows: int, width: int = 1) -> Iterator[slice]:
        """Cut rows of some width into blocks."""
        step = max(1, self.block // width)
        yield from (slice(start, start + step) for start in range(0, rows, step))


NUMPY = Arrays(
    module=np,
    put=np.asarray,
    fetch=np.asarray,
    whole=lambda array: array.astype(np.int64),
    real=lambda array: array.astype(np.float64),
    unpack=np.unpackbits,
    block=1 << 14,
)

_WORTH = 1 << 18  # below, a pass in memory is quicker than asking a device for a few numbers

_CHOSEN: ContextVar[tuple[Arrays, int]] = ContextVar("arrays", default=(NUMPY, 0))


def choose_arrays(size: int) -> Arrays:
    """Return where a game started now keeps arrays of some size."""
    arrays, worth = _CHOSEN.get()
    return arrays if size >= worth else NUMPY


@contextmanager
def on_torch(device: str = "cuda", *, worth: int = _WORTH) -> Iterator[None]:
    """Play the games begun inside on a device of torch's.

    Parameters
    ----------
    device
        As torch calls it.
    worth
        From how many numbers on an array goes to the device. The others stay in memory.
    """
    token = _CHOSEN.set((torch_arrays(device), checks.integer(0, worth=worth)))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def torch_arrays(device: str) -> Arrays:
    """Return the operations on one of torch's devices; torch is imported here only."""
    checks.text(device=device)
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        raise _no_device(device, "torch is not installed") from None
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise _no_device(device, "torch sees no CUDA device")
    shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=device)
    return Arrays(
        module=torch,
        put=lambda array: torch.from_numpy(np.array(array)).to(device),
        fetch=lambda array: np.asarray(array.cpu().numpy()),
        whole=lambda array: array.to(torch.int64),
        real=lambda array: array.to(torch.float64),
        unpack=lambda row: ((row[:, None] >> shifts) & 1).reshape(-1),
        block=1 << 30,
    )


def _no_device(device: str, why: str) -> Refused:
    return Refused(
        what=f"playing on {device!r}",
        why=why,
        way_out="Leave the choice out: games are played in memory then",
    )
