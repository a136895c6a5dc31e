"""What an online mechanism replies to one question, and to many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.core.fixed import Array, Floats, Integers

FREE, MEASURED, STALE = "free", "measured", "stale"


@dataclass(frozen=True, slots=True)
class OnlineAnswer:
    """One answer of a conversation about counts. Public.

    Attributes
    ----------
    value
        The estimated count.
    error
        With probability 0.95 no answer of this kind in the whole conversation is off by more: proved, and
        infinite where nothing is.
    kind
        "free" where earlier answers sufficed, "measured" where the data were asked again, "stale" where the
        conversation had closed and nothing was checked against the data.
    own
        How far off this answer is at most, in 95 of 100 cases: of measured answers proved, of others
        calibrated on made-up tables. As large as `error` where nothing better is known.
    """

    value: float
    error: float
    kind: str
    own: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.own):
            object.__setattr__(self, "own", self.error)

    def interval(self, *, together: bool = False) -> tuple[float, float]:
        """Return between which counts the true one lies, at 95 %.

        By itself; with `together`, all of the conversation's at once.
        """
        wide = self.error if together else self.own
        return max(0.0, self.value - wide), max(0.0, self.value + wide)


@dataclass(frozen=True, slots=True, eq=False)
class OnlineAnswers:
    """The answers to a workload, in its order. Public.

    Attributes
    ----------
    values, errors, kinds, owns
        What `OnlineAnswer` has, as arrays.
    """

    values: Floats
    errors: Floats
    kinds: Array
    owns: Floats

    @classmethod
    def of(cls, answers: Iterable[OnlineAnswer]) -> OnlineAnswers:
        """Return answers that were given one by one."""
        listed = [(one.value, one.error, one.kind, one.own) for one in answers]
        values, errors, kinds, owns = zip(*listed, strict=True)
        return cls(np.array(values), np.array(errors), np.array(kinds), np.array(owns))

    @classmethod
    def join(cls, several: Iterable[OnlineAnswers]) -> OnlineAnswers:
        """Return the answers to several workloads, one after the other."""
        listed = [(one.values, one.errors, one.kinds, one.owns) for one in several]
        return cls(*(np.concatenate(arrays) for arrays in zip(*listed, strict=True)))

    def take(self, places: Integers) -> OnlineAnswers:
        """Return some of the answers, in another order."""
        return OnlineAnswers(self.values[places], self.errors[places], self.kinds[places], self.owns[places])

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> OnlineAnswer:
        return OnlineAnswer(
            float(self.values[index]),
            float(self.errors[index]),
            str(self.kinds[index]),
            float(self.owns[index]),
        )

    def __iter__(self) -> Iterator[OnlineAnswer]:
        arrays = (self.values, self.errors, self.kinds, self.owns)
        return (OnlineAnswer(*each) for each in zip(*(array.tolist() for array in arrays), strict=True))
