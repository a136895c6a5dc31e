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
from functools import cache
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


@dataclass_transform(frozen_default=True, field_specifiers=(public,))
def checked(kind: type[T]) -> type[T]:
    """Turn a class into a frozen value, like `frozen`; fields may be given by place too, and are printed."""
    kind.__post_init__ = _check_fields  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True)(kind)


@cache
def _list_checks(kind: Any) -> list[tuple[str, Callable[..., Any], tuple[Any, ...], bool]]:
    """Return the name of each parameter with its check, and whether it may be left out as None."""
    given = [(each.name, each.metadata, each.default is None) for each in fields(kind) if each.init]
    return [(name, data["check"], data["arguments"], spare) for name, data, spare in given if "check" in data]


def _check_fields(self: Any) -> None:
    for name, check, arguments, spare in _list_checks(self.__class__):
        value = getattr(self, name)
        if value is not None or not spare:
            object.__setattr__(self, name, check(*arguments, **{name: value}))
    if hasattr(self, "_complete"):
        self._complete()
