"""How a conversation about a stream is opened, and gone on with: the same way, whatever is asked of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.mechanism import Conversation, Interactive, keep_silence
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive
from discreet.streams.checkpoint import StreamCheckpoint

Opened = TypeVar("Opened", bound=Conversation[Any])


class GoesOn(Interactive[Any, Any], Generic[Opened]):
    """Whatever takes a stream that is there already, or one that is pushed, and can be written down."""

    __slots__ = ()

    def open(self, data: Any = (), *, rng: Rng = SYSTEM) -> Opened:
        """Start a conversation. All that it ever answers, and every covered look, costs `guarantee`, once.

        Parameters
        ----------
        data
            A stream that is there already: `ask(n)` takes its next n elements and answers. Others are pushed.
        rng
            The source of randomness.
        """
        checks.instance(Rng, rng=rng)
        with keep_silence():
            return self._begin(Sensitive.wrap(data), rng)

    def restore(self, checkpoint: StreamCheckpoint, data: Any = (), *, rng: Rng = SYSTEM) -> Opened:
        """Go on where a conversation of the same parameters was written down. That costs nothing, once.

        Raises
        ------
        ConversationClosed
            Where the checkpoint was restored before.
        InvalidParameter
            Where it cannot go on here. The checkpoint is still good.
        """
        parts = checks.instance(StreamCheckpoint, checkpoint=checkpoint).take(self)
        try:
            conversation: Any = self.open(data, rng=rng)
            conversation._take_on(parts)  # noqa: SLF001 - its own conversation
        except BaseException as problem:
            checkpoint._give_back()  # noqa: SLF001 - what it took
            if isinstance(problem, (KeyError, IndexError, TypeError, ValueError)):
                if not isinstance(problem, DiscreetError):  # its own words may quote the state
                    rule, got = "one that a counter wrote", "one whose parts it cannot read"
                    raise InvalidParameter(name="checkpoint", rule=rule, got=got) from None
            raise
        checkpoint.forget()
        return conversation  # type: ignore[no-any-return]

    @abstractmethod
    def _begin(self, data: Sensitive[Any], rng: Rng) -> Opened:
        """Return the conversation."""
