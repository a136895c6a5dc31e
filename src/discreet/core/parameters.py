"""Public parameters, declared once: as the fields of a frozen value, each with its check.

::

    @frozen
    class Laplace(Mechanism[Any, Any]):
        epsilon: Exact = public(checks.positive)
        size: int = public(checks.integer, 1, default=1)
        scale: Fraction = derived()

        def _complete(self) -> None:
            self._set(scale=laplace_scale(self.shift, self.epsilon))

The constructor takes keywords only. Each value given goes through its field's check, which names the
parameter in its message and returns what is kept; then `_complete`, where there is one, looks at what several
parameters say together and fills what is derived from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, dataclass_transform

from discreet.core import checks

Given_contra = TypeVar("Given_contra", contravariant=True)
Kept_co = TypeVar("Kept_co", covariant=True)
T = TypeVar("T")


class Public(Generic[Given_contra, Kept_co]):
    """The type of a field that keeps something else than was given. For type checkers alone."""

    if TYPE_CHECKING:

        def __get__(self, owner: object, kind: Any) -> Kept_co: ...
        def __set__(self, owner: object, value: Given_contra) -> None: ...


Exact = Public[checks.Number, Fraction]
"""A number as a person writes it, kept as the fraction that was meant."""

MaybeExact = Public[checks.Number | None, Fraction | None]
"""The same, or nothing."""


def public(check: Callable[..., Any], *arguments: Any, default: Any = MISSING) -> Any:
    """Declare a parameter.

    Parameters
    ----------
    check
        Called as `check(*arguments, name=value)`; returns what is kept, or refuses.
    default
        What is meant where nothing is given. If that is None, None is kept unchecked.
    """
    return field(default=default, metadata={"check": check, "arguments": arguments})


def derived(*, init: Literal[False] = False) -> Any:
    """Declare a field that no caller gives: `_complete` fills it. The argument is for type checkers alone."""
    return field(init=init)


# Frozen, but checkers are not told: of inherited fields of a frozen class mypy forgets what is kept.
@dataclass_transform(kw_only_default=True, field_specifiers=(public, derived))
def frozen(kind: type[T]) -> type[T]:
    """Turn a class into a frozen value whose constructor checks every parameter."""
    if "__post_init__" not in vars(kind):
        kind.__post_init__ = _check_fields  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True, repr=False)(kind)


@dataclass_transform(field_specifiers=(public, derived))
def checked(kind: type[T]) -> type[T]:
    """Do the same to a value that is no mechanism: it prints its fields, and takes them by place too."""
    kind.__post_init__ = _check_fields  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True)(kind)


def _check_fields(self: Any) -> None:
    for each in fields(self):
        if each.init and "check" in each.metadata:
            value = getattr(self, each.name)
            if value is not None or each.default is not None:
                kept = each.metadata["check"](*each.metadata["arguments"], **{each.name: value})
                object.__setattr__(self, each.name, kept)
    if hasattr(self, "_complete"):
        self._complete()
