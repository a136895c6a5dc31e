"""Mechanisms, what they release, and the conversations they open.

A mechanism is a frozen value that holds public parameters only, so its guarantee and its error are
known before any data are touched. Data given as plain values are wrapped at the door.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.bounds import find_cheapest
from discreet.core.errors import ConversationClosed, DiscreetError, InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, Loss, PureLoss
from discreet.core.neighbours import Neighbours
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive

Data = TypeVar("Data")
Value = TypeVar("Value")

_PRINTED = 24  # numbers of an array that are printed


class Promise(ABC):
    """What one-shot and interactive mechanisms share: a guarantee and an error, both free of data."""

    __slots__ = ()
    neighbours: Neighbours
    _budget: ClassVar[str] = "epsilon"
    """The parameter that `for_error` makes as small as it can be."""

    def _set(self, **fields: Any) -> None:
        """Fill the fields of a frozen mechanism; only constructors call it."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What one use costs."""

    @property
    def guarantee(self) -> Guarantee:
        """The loss together with the change it is about."""
        return Guarantee(self.loss, self.neighbours)

    @property
    def bought(self) -> Loss:
        """The loss in the terms the mechanism was built with: the pair, where it was built for one."""
        epsilon, delta = getattr(self, "epsilon", None), getattr(self, "delta", Fraction(0))
        if epsilon is None:
            return self.loss
        return ApproxLoss(epsilon, delta) if delta else PureLoss(epsilon)

    @property
    def words(self) -> str:
        """The guarantee in words, as releases print it: the pair that was bought, where it was a pair."""
        bought = self.bought
        if not isinstance(bought, ApproxLoss):
            return str(self.guarantee)
        return f"epsilon {float(bought.value):.6g} at delta {float(bought.mass):.6g} for {self.neighbours}"

    @abstractmethod
    def error(self, beta: checks.Number) -> float:
        """Return alpha: the error exceeds alpha with probability at most beta.

        It is about what a release answers, on all data that the mechanism accepts.

        Raises
        ------
        NoBound
            Where no theorem says so, or only one that promises no more than is true without any release.
        """

    @classmethod
    def for_error(cls, *, alpha: checks.Number, beta: checks.Number, **public: Any) -> Self:
        """Return the mechanism with the smallest epsilon whose error(beta) is at most alpha.

        Parameters
        ----------
        alpha, beta
            The wanted error and the probability of missing it.
        public
            All parameters but the budget.

        Raises
        ------
        NoBound
            Where no error is known at any budget.
        """
        return find_cheapest(cls._for_budget(alpha, public), alpha=alpha, beta=beta)

    @classmethod
    def _for_budget(cls, alpha: checks.Number, public: dict[str, Any]) -> Callable[[Fraction], Self]:
        """Return what builds the mechanism from a budget; a parameter may follow from the wanted error."""
        return lambda budget: cls(**{cls._budget: budget}, **public)

    def __repr__(self) -> str:
        shown = (f"{f.name}={_write_plain(getattr(self, f.name))}" for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


class Mechanism(Promise, Generic[Data, Value]):
    """A one-shot mechanism: data in, one release out."""

    measures: ClassVar[bool] = True
    """Whether a released number estimates a true one. The number of a chosen candidate does not."""

    @abstractmethod
    def _draw(self, data: Data, rng: Rng) -> Value:
        """Compute the released value; all randomness goes through `rng.perform`."""

    def release(self, data: Data | Sensitive[Data], *, rng: Rng = SYSTEM) -> Release[Value]:
        """Draw one release. It costs `guarantee`, whatever comes out."""
        checks.instance(Rng, rng=rng)
        with keep_silence():
            value = self._draw(Sensitive.wrap(data).reveal(), rng)
        return Release(value=value, mechanism=self, unsafe_seeded=rng.unsafe)


class Interactive(Promise, Generic[Data, Value]):
    """A mechanism that answers adaptively chosen questions under one guarantee, charged at `open`."""

    @abstractmethod
    def _begin(self, data: Sensitive[Data], rng: Rng) -> Conversation[Value]:
        """Make the conversation over already wrapped data."""

    def open(self, data: Data | Sensitive[Data], *, rng: Rng = SYSTEM) -> Conversation[Value]:
        """Start a conversation. Everything it will ever answer costs `guarantee`, once."""
        checks.instance(Rng, rng=rng)
        with keep_silence():
            return self._begin(Sensitive.wrap(data), rng)


class Conversation(ABC, Generic[Value]):
    """An open interactive mechanism. Subclasses answer one question in `_answer`."""

    def __init__(self, mechanism: Interactive[Any, Value], rng: Rng) -> None:
        self.mechanism = mechanism
        self._asked = 0
        self._rng = rng
        self._closed_because = ""
        self._turn = threading.RLock()
        self._answering = False
        self._process = os.getpid()

    @property
    def asked(self) -> int:
        """How many questions have been asked. Some conversations close by it: nobody sets it back."""
        return self._asked

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that covers every answer of this conversation together."""
        return self.mechanism.guarantee

    @property
    def unsafe_seeded(self) -> bool:
        """Whether the noise came from a seeded generator."""
        return self._rng.unsafe

    @property
    def closed(self) -> bool:
        """Whether no further question is answered."""
        return bool(self._closed_because)

    def close(self, because: str = "its owner ended it") -> None:
        """Refuse every further question, saying why."""
        self._closed_because = self._closed_because or because

    def ask(self, query: Any, **public: Any) -> Value:
        """Answer one question; its choice may depend on all earlier answers.

        One at a time: other threads wait, and a query cannot ask its own conversation, or more answers
        could be given than the guarantee covers.

        Raises
        ------
        ConversationClosed
            When every answer the guarantee covers has been given. Nothing is drawn.
        """
        self._require_here()
        with self._turn:
            if self._answering:
                raise InvalidParameter(name="query", rule="one that asks no other", value="a nested question")
            if self._closed_because:
                raise ConversationClosed(
                    f"this conversation is closed: {self._closed_because}. Open a new one; it costs again"
                )
            self._answering = True
            try:
                with keep_silence():
                    answer = self._answer(query, **public)
            finally:
                self._answering = False
            self._asked += 1
            return answer

    def _require_here(self) -> None:
        """Refuse what a fork copied: it would go on twice. Before the lock, which may be left taken there."""
        if os.getpid() != self._process:
            raise ConversationClosed("this conversation was opened by another process")

    @abstractmethod
    def _answer(self, query: Any, **public: Any) -> Value:
        """Answer one question on the data."""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a conversation cannot be copied or pickled: its answers would be given twice")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = f"closed: {self._closed_because}" if self.closed else "open"
        return f"<conversation {type(self.mechanism).__name__}, {self.asked} asked, {state}>"


def keep_silence() -> np.errstate:
    """Return a context for work on data: NumPy's warning, or its error, would tell of an entry in them."""
    return np.errstate(all="ignore")


@dataclass(frozen=True, slots=True)
class Release(Generic[Value]):
    """One published value, with its guarantee, its error and how it was made."""

    value: Value
    mechanism: Mechanism[Any, Value]
    unsafe_seeded: bool = False

    @property
    def guarantee(self) -> Guarantee:
        """What the release cost."""
        return self.mechanism.guarantee

    def error(self, beta: checks.Number) -> float:
        """Return the bound that holds with probability at least 1 - beta."""
        return self.mechanism.error(beta)

    def interval(self, confidence: checks.Number) -> tuple[Any, Any]:
        """Return (low, high): the true value, or all true values at once, lie there with that probability."""
        if not (self.mechanism.measures and _is_numeric(self.value)):
            raise InvalidParameter(
                name="value", rule="a measured number or array to have an interval", value=type(self.value)
            )
        alpha = self.error(1 - checks.probability(confidence=confidence))
        return self.value - alpha, self.value + alpha  # type: ignore[operator]

    def __repr__(self) -> str:
        ending = ", UNSAFE: seeded noise" if self.unsafe_seeded else ""
        if self.mechanism.measures and _is_numeric(self.value):
            shown, sure = str(self.value), "95 %"
            if isinstance(self.value, np.ndarray):
                shown = np.array2string(  # of a long one, the numbers at either end
                    self.value, threshold=_PRINTED, edgeitems=4, separator=", ", max_line_width=100
                )
                sure = "95 %, all at once"
            return f"{shown} ± {self.error(0.05):.4g} ({sure}), {self.mechanism.words}{ending}"
        return f"Release({self.value!r}, {self.mechanism.words}{ending})"

    def _repr_html_(self) -> str:
        from_text = repr(self).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return f"<code>{from_text}</code>"


def _write_plain(value: object) -> str:
    """Print a parameter the way a person would write it."""
    if type(value) is tuple:
        return f"({', '.join(map(_write_plain, value))}{',' * (len(value) == 1)})"
    return f"{float(value):.12g}" if isinstance(value, Fraction) else repr(value)


def _is_numeric(value: object) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, int | float | np.number) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
    )
