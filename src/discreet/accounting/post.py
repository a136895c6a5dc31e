"""Post-processing: whatever is done to a release without the data costs nothing [DR14] Proposition 2.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from discreet.core.guarantee import Guarantee
from discreet.core.mechanism import Release

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Processed(Generic[Value]):
    """A value made from a release alone, with the guarantee of that release."""

    value: Value
    guarantee: Guarantee
    unsafe_seeded: bool


def post_process(release: Release[Any], function: Callable[[Any], Value]) -> Processed[Value]:
    """Apply a function to a released value. The function must not see the data in any other way."""
    return Processed(function(release.value), release.guarantee, release.unsafe_seeded)
