"""Names of something public, types and outcomes, and reports that are such names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.mechanisms.reading import is_column, make_plain
from discreet.optimisation.common.labels import bare_array, find_places, read_labels


def find_reports(data: Any, names: Sequence[Hashable], rule: str) -> Integers:
    """Return the number of what each player names, -1 for whatever is none of the names.

    Parameters
    ----------
    data
        One name a player, in a list, an array or a column of a frame. What is missing is none of the names.
    names
        The public names, in their order.
    rule
        What the reports must be, for the refusal of anything else; it says the type alone.
    """
    reports = _list_column(data) if is_column(data) else make_plain(bare_array(data))
    if isinstance(reports, np.ndarray) and reports.ndim == 1:
        reports = reports.tolist()
    if not isinstance(reports, list | tuple):
        raise InvalidParameter(name="data", rule=rule, got=f"a {type(data).__name__}")
    known = {name: place for place, name in enumerate(names)}
    # Each by itself: no report decides how the others are read.
    return np.array([(find_places([report], known) or [-1])[0] for report in reports], dtype=np.int64)


def _list_column(data: Any) -> Any:
    """Return the entries of a column, in which what is missing is no name; of moments in time, nothing."""
    if getattr(data.dtype, "kind", "") in ("m", "M") or getattr(data, "ndim", 1) != 1:
        return None
    return (data.to_list if hasattr(data, "to_list") else data.tolist)()


def find_types(data: Any, types: Sequence[Hashable], players: int) -> Integers:
    """Return the number of each player's type, -1 for none; there must be as many as there are players."""
    kinds = find_reports(data, types, "types, one a player")
    if kinds.size != players:
        raise InvalidParameter(
            name="data", rule=f"{players} types, one a player", got="another number of them"
        )
    return kinds


def find_kind(types: Sequence[Hashable], kind: Any) -> int:
    """Return the number of a type, which must be one: what something is worth for others nobody knows."""
    if kind not in types:
        rule = f"one of the {len(types)} types"
        raise InvalidParameter(
            name="kind", rule=rule, got="another name", hint="Only reports may be anything"
        )
    return types.index(kind)


def read_kinds(**named: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Read the names of types: different plain values."""
    ((name, given),) = named.items()
    names = read_labels(checks.several(**{name: given}) if not isinstance(given, str) else given, name)
    if not names or len(set(names)) != len(names):
        raise InvalidParameter(name=name, rule="different names, at least one", value=len(names))
    return names
