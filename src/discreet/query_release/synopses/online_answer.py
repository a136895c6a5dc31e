"""What an online mechanism replies to one question, and to many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.core.fixed import Array, Floats

FREE, MEASURED, STALE = "free", "measured", "stale"


@dataclass(frozen=True, slots=True)
class OnlineAnswer:
    """One answer of a conversation about counts. Public.

    Attributes
    ----------
    value
        The estimated count.
    error
        With probability 0.95 no answer of this kind in the whole conversation is off by more; infinite where
        nothing is promised.
    kind
        "free" where earlier answers sufficed, "measured" where the data were asked again, "stale" where the
        conversation had closed and nothing was checked against the data.
    """

    value: float
    error: float
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class OnlineAnswers:
    """The answers to a workload, in its order. Public.

    Attributes
    ----------
    values, errors, kinds
        What `OnlineAnswer` has, as arrays.
    """

    values: Floats
    errors: Floats
    kinds: Array

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> OnlineAnswer:
        return OnlineAnswer(float(self.values[index]), float(self.errors[index]), str(self.kinds[index]))

    def __iter__(self) -> Iterator[OnlineAnswer]:
        listed = zip(self.values.tolist(), self.errors.tolist(), self.kinds.tolist(), strict=True)
        return (OnlineAnswer(*each) for each in listed)
