"""What an analyst was told before and after a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self


@dataclass(frozen=True, slots=True, repr=False)
class Quote:
    """What a question would cost, and how well it would be answered.

    Attributes
    ----------
    kind
        "shared" where the hypothesis of all analysts answers, "priced" where the question is answered by
        itself, "repeated" where the same numbers were given before.
    cost
        What the budget would be charged.
    error
        How far off the answer may be, in words: for all questions at once where the hypothesis answers, and
        for this one.
    """

    kind: str
    cost: Mapping[str, Fraction]
    error: str

    @classmethod
    def free(cls, kind: str, error: str) -> Self:
        """Make the quote of something that costs nothing more."""
        return cls(kind, {}, error)

    def __repr__(self) -> str:
        paid = ", ".join(f"{name} {float(amount):.3g}" for name, amount in self.cost.items() if amount)
        return f"{self.kind}: costs {paid or 'nothing'}\n{self.error}"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question an analyst asked.

    Attributes
    ----------
    number
        Its place in this analyst's own history.
    what
        The question in canonical form.
    kind, repeated
        As in the reply; "failed" where the engine gave up, which is charged all the same.
    cost
        What the budget was charged.
    """

    number: int
    what: str
    kind: str
    repeated: bool
    cost: Mapping[str, Fraction]
