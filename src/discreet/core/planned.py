"""What is told before a row is read: one family of values."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from discreet.core.guarantee import Guarantee


@runtime_checkable
class Planned(Protocol):
    """What something would cost and how well it would be answered, from public facts alone.

    Whatever is called `plan` returns one: of a release, of a question to a table, of a question to a curator.
    """

    @property
    def guarantee(self) -> Guarantee | None:
        """What it would cost; None where nothing more is charged."""

    def error(self, of: Any, /) -> float | None:
        """Return a bound on the error; None where it is not known beforehand.

        Of a question, `of` is the name of a column, and the bound is at 95 %. Of a release, all answers at
        once are meant, and `of` is the probability that the bound may fail with.
        """
