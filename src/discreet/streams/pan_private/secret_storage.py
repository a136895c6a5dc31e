"""Any counter whose state is masked by a pad that lies in secret storage: an assumption, not a theorem.

With a little storage that no intruder ever sees, what is kept elsewhere can be made to look random whatever
it is, and then every private counter is pan-private too, against any number of looks [DR14, Remark 12.1].
All then hangs on that storage: whoever can compel the one can usually compel the other. Nothing here makes a
storage secret; it is assumed to be.
"""

from __future__ import annotations

import json
from typing import Any

from discreet.core import checks
from discreet.core.errors import ConversationClosed, InternalError, NeighboursMismatch
from discreet.core.mechanism import Conversation
from discreet.core.neighbours import UserEvents
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive
from discreet.streams.conversation import StreamCounter

_DIGITS = 48  # of one number, which is below 10**40 but for noise that nobody ever sees


class SecretStorage:
    """Keeps one pad. Derive from it for a place that intruders do not reach: this one is in memory too."""

    __slots__ = ("_pad",)

    def __init__(self) -> None:
        self._pad = b""

    def keep(self, pad: bytes) -> None:
        """Put a pad in the place of the one before, which must be gone for good."""
        self._pad = pad

    def fetch(self) -> bytes:
        """Return the pad."""
        return self._pad

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class MaskedConversation(Conversation[Any]):
    """Takes elements one by one; between two of them its state is the XOR of a counter's state and a pad."""

    assumes = "that the secret storage is never seen, neither before nor after any look at the state"

    def __init__(self, counter: StreamCounter, storage: SecretStorage, rng: Rng) -> None:
        super().__init__(counter, rng)
        self._counter, self._storage = counter, storage
        parts = counter.open(rng=rng)._write()  # noqa: SLF001 - of the same family
        self._size, self._masked = 0, b""
        self._mask(parts)

    @property
    def state(self) -> Sensitive[dict[str, Any]]:
        """All that is kept outside the secret storage: uniform bytes, whatever came."""
        return Sensitive({"masked": self._masked.hex()})

    @property
    def words(self) -> str:
        """The guarantee in words, with what it assumes."""
        return f"{self._counter.words}, for all answers and the state at all moments, assuming {self.assumes}"

    def push(self, element: Any) -> Any:
        """Take one element, and answer the sum so far."""
        return self.ask(None, element=element)

    def _answer(self, query: Any, **public: Any) -> Any:
        del query
        counter = self._counter
        inner = counter.open(rng=self._rng)
        inner._take_on(self._unmask())  # noqa: SLF001 - of the same family
        try:
            answer = inner.push(public["element"])
            self._mask(inner._write())  # noqa: SLF001 - of the same family
        except BaseException:
            self.close("a step was interrupted")
            raise
        if inner.closed:
            self.close(f"all {counter.horizon} steps of its horizon have been taken")
        return answer

    def _mask(self, parts: dict[str, Any]) -> None:
        """Write the state under a pad of its own: two states under one would tell how they differ."""
        plain = json.dumps(parts).encode()
        self._size = 64 + _DIGITS * _count_numbers(parts)  # grows with the steps at most, which are public
        if len(plain) > self._size:
            raise InternalError("a state is longer than its pad")
        pad = self._rng.random_bytes(self._size)
        self._masked = bytes(a ^ b for a, b in zip(plain.ljust(self._size), pad, strict=True))
        self._storage.keep(pad)

    def _unmask(self) -> dict[str, Any]:
        pad = self._storage.fetch()
        if len(pad) != self._size:
            raise ConversationClosed("the secret storage holds no pad of this conversation")
        parts: dict[str, Any] = json.loads(bytes(a ^ b for a, b in zip(self._masked, pad, strict=True)))
        return parts


def open_masked(counter: StreamCounter, storage: SecretStorage, *, rng: Rng = SYSTEM) -> MaskedConversation:
    """Open a counter whose state is masked, assuming that a storage is secret. It costs its guarantee, once.

    Parameters
    ----------
    counter
        Any counter of events: with a secret storage it need not be pan-private itself.
    storage
        Where the pad is kept. One for each conversation.

    Examples
    --------
    >>> from discreet.streams import Event, TreeCounter
    >>> counter = TreeCounter(horizon=100, epsilon=1, delta=0, neighbours=Event())
    >>> with open_masked(counter, SecretStorage()) as visits:
    ...     noisy = visits.push(1)
    """
    checks.instance(StreamCounter, counter=counter)
    checks.instance(SecretStorage, storage=storage)
    checks.instance(Rng, rng=rng)
    if isinstance(counter.neighbours, UserEvents):
        raise NeighboursMismatch(
            "neighbours: a book of users grows with them, and a pad that grows tells how many there are. "
            "Use Event() or EventPresence()"
        )
    return MaskedConversation(counter, storage, rng)


def _count_numbers(parts: Any) -> int:
    """Return how many numbers a written state has, and how many names."""
    if isinstance(parts, dict):
        return len(parts) + sum(map(_count_numbers, parts.values()))
    if isinstance(parts, list | tuple):
        return sum(map(_count_numbers, parts))
    return 1
