"""Going on with a counter of a stream that lies elsewhere: all that is kept of it is what it published.

A counter's answers follow from its noisy numbers alone, and each noisy number from the stream up to its step.
Where the stream can be read again, neither exact sums nor a checkpoint have to be kept between two steps: the
noisy numbers are public, and the rest is read again. What was published of a step is never measured a second
time, so that the stream may even change behind it: as long as every element of a person stays at its step,
she moves every noisy number by no more than its part of the counter's sensitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InternalError
from discreet.core.rng import Primitive, Rng
from discreet.streams.conversation import StreamCounter


class KnownNumbers(Rng):
    """Performs the steps of a stream whose first noisy numbers are known: these are not drawn again."""

    unsafe = True  # an instance says what the generator behind it says

    def __init__(self, numbers: Sequence[int], rng: Rng) -> None:
        self._known, self._rng, self.unsafe = list(numbers), rng, rng.unsafe
        self.numbers: list[int] | None = None

    def random_bytes(self, count: int) -> bytes:
        """Return bytes of the generator behind it."""
        return self._rng.random_bytes(count)

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        """Draw the noisy numbers of the steps that have none."""
        if self.numbers is not None or np.ndim(value) != 1 or len(value) < len(self._known):
            raise InternalError("a counter that is gone on with measures one vector, a number a step")
        fresh = value[len(self._known) :]
        drawn = np.ravel(self._rng.perform(primitive, fresh)).tolist() if len(fresh) else []
        self.numbers = [*self._known, *map(int, drawn)]
        return np.array(self.numbers, dtype=np.int64)


class ToldNumbers(Rng):
    """Performs steps whose noisy numbers are all known, one after the other. It draws nothing."""

    unsafe = True

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = iter(numbers)

    def random_bytes(self, count: int) -> bytes:
        """Refuse."""
        raise InternalError(f"{count} random bytes for what is known already")

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        """Return the next number, whatever it stands for."""
        return next(self._numbers)


def go_on(
    counter: StreamCounter, elements: NDArray[np.int64], numbers: Sequence[int], *, rng: Rng
) -> list[int]:
    """Return the noisy numbers of all steps so far: those that are known, and those of the steps behind them.

    Parameters
    ----------
    counter
        The counter, which was paid for.
    elements
        The stream from its first element on, in units: private.
    numbers
        The noisy numbers that were published, one a step.
    rng
        Where the noise of the others comes from.
    """
    known = KnownNumbers(numbers, rng)
    units = counter.elements.reader(counter.neighbours).read_many(elements)
    counter._start().steps(units, known)  # noqa: SLF001 - of its own family
    if known.numbers is None:
        raise InternalError("a counter measured nothing")
    return known.numbers


def decode(counter: StreamCounter, numbers: Sequence[int]) -> list[float]:
    """Return a counter's answers, which follow from its noisy numbers alone.

    They are decoded one after the other: the first ones are the same to the last bit, however many follow.
    """
    run, told = counter._start(), ToldNumbers(numbers)  # noqa: SLF001 - of its own family
    return [float(run.step(0, told)) for _ in numbers]  # what the elements are is of no account


def fingerprint(counter: StreamCounter) -> str:
    """Return all that decides what noisy numbers mean: another encoder's are not to be added to them."""
    return repr((counter, counter.loss, counter._start().write()))  # noqa: SLF001 - of its own family
