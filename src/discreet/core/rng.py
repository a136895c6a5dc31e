"""The one door for randomness.

Every random bit of a release comes through an `Rng`, and every place where data meet noise is a
`Primitive` that the Rng performs. That one indirection is what makes the guarantees testable on the
shipped code itself:

* `SystemRng` draws from the operating system. It keeps no state, so it is safe across threads and
  forks and leaves nothing in memory to steal.
* `discreet.audit` has an Rng that walks through every outcome of every primitive with its exact
  probability, one that records the primitives' true inputs, and one that replays frozen outputs.
* `discreet.testing` has a seeded one, named unsafe, and every release made with it says so.
"""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import field
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from discreet.core.errors import InternalError

In = TypeVar("In")
Out = TypeVar("Out")


class Primitive(ABC, Generic[In, Out]):
    """One random step of a mechanism: the only place where data meet randomness.

    Implementations are frozen values that hold public parameters only.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A data class takes what it inherits under the name of a field for the field's default.
        if "sensitivity" in inspect.get_annotations(cls) and "sensitivity" not in vars(cls):
            type.__setattr__(cls, "sensitivity", field())

    @abstractmethod
    def sample(self, value: In, rng: Rng) -> Out:
        """Draw one outcome, exactly."""

    @abstractmethod
    def law(self, value: In) -> Iterable[tuple[Any, Fraction]]:
        """Yield every outcome with its probability, correct to 2**-100.

        Laws with infinite support stop where less than `TAIL` is left out.
        """

    @abstractmethod
    def distance(self, value: In, other: In) -> Fraction:
        """Measure how far apart two inputs are, in the unit of `sensitivity`."""

    @property
    @abstractmethod
    def sensitivity(self) -> Fraction:
        """The largest distance between the inputs of neighbours that the mechanism allows for."""


TAIL = Fraction(1, 1 << 60)
"""The probability an infinite `Primitive.law` may leave out."""


class Rng(ABC):
    """A source of uniform bits that also performs primitives."""

    unsafe: bool = True
    """Whether someone who knows a seed could predict the bits. Every class says so itself: one that says
    nothing, such as a wrapper around a seeded generator, counts as unsafe, whatever it inherits from."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "unsafe" not in vars(cls):
            cls.unsafe = True

    @abstractmethod
    def random_bytes(self, count: int) -> bytes:
        """Return `count` uniform bytes."""

    def words(self, count: int, dtype: DTypeLike = np.uint64) -> NDArray[Any]:
        """Return `count` uniform words of an unsigned integer type (read-only array)."""
        return np.frombuffer(self.random_bytes(count * np.dtype(dtype).itemsize), dtype=dtype)

    def bits(self, count: int) -> int:
        """Return a uniform integer in [0, 2**count)."""
        size = (count + 7) // 8
        return int.from_bytes(self.random_bytes(size), "little") >> (8 * size - count)

    def perform(self, primitive: Primitive[In, Out], value: In) -> Out:
        """Let a primitive meet the data. Audits override this."""
        return primitive.sample(value, self)


class SystemRng(Rng):
    """The operating system's cryptographic generator, unbuffered."""

    unsafe = False

    def random_bytes(self, count: int) -> bytes:
        """Return `count` bytes of os.urandom."""
        return os.urandom(count)

    def require_alive(self) -> None:
        """Raise where the system gives the same bits again, as a generator that broke would.

        What is drawn for this is used for nothing else, so the law of no release depends on it.
        """
        if self.random_bytes(16) == self.random_bytes(16):
            raise InternalError("the system's generator repeats itself: its noise would hide nothing")

    def __repr__(self) -> str:
        return "SystemRng()"


SYSTEM = SystemRng()
"""The default everywhere."""
