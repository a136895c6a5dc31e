"""What groups rows: columns, and numbers that are computed from them with a finite public image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from discreet.data.plan.row_nodes import Field, Polynomial


@dataclass(frozen=True, slots=True)
class ComputedKey:
    """What groups rows beside a column: a whole number a row with a finite public image.

    Parameters
    ----------
    number
        What is computed; rows where it is missing are in no group.
    kind
        What a group is called by: the number, the date of so many days since 1970-01-01, false or true (0 and
        1), or a label.
    codes
        The groups, in the order answers list them, in steps of the number's unit.
    labels
        What the numbers 0, 1, 2, ... are called, where they stand for values of a category.
    """

    number: Polynomial
    kind: Literal["number", "date", "truth", "label"]
    codes: tuple[int, ...]
    labels: tuple[str | int, ...] = ()

    @property
    def name(self) -> str:
        """What to call it where the request gives no name."""
        used = self.number.fields
        return used[0].name if len(used) == 1 else "key"


Key = Field | ComputedKey


def sort_keys(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Return keys in the order of a plan, each once: columns first."""
    return tuple(sorted(dict.fromkeys(keys), key=_key_order))


def sort_sets(sets: Iterable[tuple[Key, ...]]) -> list[tuple[Key, ...]]:
    """Return grouping sets in the order of a plan, each once."""
    return sorted(dict.fromkeys(sets), key=lambda keys: [_key_order(key) for key in keys])


def _key_order(key: Key) -> tuple[int, str, str]:
    return (
        (0, key.table, key.name)
        if isinstance(key, Field)
        else (1, key.number.digest, repr((key.kind, key.codes, key.labels)))
    )
