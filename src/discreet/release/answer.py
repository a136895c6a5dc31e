"""What an online mechanism replies to one question."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
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
