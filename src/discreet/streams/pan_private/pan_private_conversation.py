"""What counters share whose state may be seized: how many looks are covered, and what happens after one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from discreet.core import checks
from discreet.core.errors import NeighboursMismatch
from discreet.core.neighbours import UserEvents
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.streams.blocks import BlockCounter
from discreet.streams.checkpoint import StreamCheckpoint
from discreet.streams.conversation import CounterConversation, CounterRun, StreamCounter
from discreet.streams.pan_private.user_table import require_refresh, say_covered


class SeizableRun(CounterRun):
    """A run whose state is noisy at every moment between two steps."""

    @abstractmethod
    def refresh(self, rng: Rng) -> None:
        """Draw noise again, so that the next look tells no more than a first one."""

    @abstractmethod
    def erase(self) -> None:
        """Overwrite what is kept."""


@frozen
class SeizableCounter(BlockCounter):
    """A counter whose state may be seized. Its parameters are those of every `StreamCounter`, and `looks`.

    Parameters
    ----------
    looks
        How many looks at the state are covered: with a `refresh` after each of them but the last. More cost
        no privacy, since an event comes between two of them at most, but noise.
    """

    _bits: ClassVar[int] = 48
    """Sums of noises are never cut off here: that would be no post-processing, since data are added later."""

    looks: int = public(checks.integer, 1, default=1)

    def _require_relation(self) -> None:
        if isinstance(self.neighbours, UserEvents):
            raise NeighboursMismatch(
                f"neighbours: to hide {self.neighbours}, the counter would have to keep who was counted how "
                f"often, which an intruder reads. Use Event() or EventPresence()"
            )
        StreamCounter._require_relation(self)  # noqa: SLF001 - its base

    @property
    def words(self) -> str:
        """The guarantee in words, with what it covers."""
        return f"{super(StreamCounter, self).words}, for {say_covered(None, self.looks)}"

    def _begin(self, data: Sensitive[Any], rng: Rng) -> CounterConversation:
        return SeizableConversation(self, data, rng)


class SeizableConversation(CounterConversation):
    """Takes elements and answers, and draws noise again after a look."""

    def __init__(self, mechanism: SeizableCounter, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, data, rng)
        self._looks = mechanism.looks
        self._refreshes = 0

    @property
    def refreshes(self) -> int:
        """How often the state was drawn anew for a look that was announced. Nobody sets it back."""
        return self._refreshes

    @property
    def state(self) -> Sensitive[dict[str, Any]]:
        """All that is kept between two steps, and all that an intruder finds."""
        return self._look()

    def refresh(self) -> None:
        """Say that somebody looked inside, or may have: noise is drawn again before the next step.

        Raises
        ------
        InvalidParameter
            Where no further look is covered.
        """
        self._require_here()
        with self._turn:
            self._require_open()
            require_refresh(self._refreshes, self._looks)
            try:
                self._run.refresh(self._rng)  # type: ignore[attr-defined]
            except BaseException:
                self.close("a refresh was interrupted")
                self._run.erase()  # type: ignore[attr-defined]
                raise
            self._refreshes += 1

    def checkpoint(self) -> StreamCheckpoint:
        """End this conversation and return what it takes to go on elsewhere. Whoever keeps a copy looks."""
        made = super().checkpoint()
        self._run.erase()  # type: ignore[attr-defined]  # beside what goes on it would be a second look
        return made

    def _take(self, take: Callable[[Any, Rng], Any], units: Any) -> Any:
        try:
            return super()._take(take, units)
        except BaseException:
            self._run.erase()  # type: ignore[attr-defined]  # half a step may hold an element without noise
            raise

    def _write(self) -> dict[str, Any]:
        return {**super()._write(), "refreshes": self._refreshes}

    def _take_on(self, parts: dict[str, Any]) -> None:
        super()._take_on(parts)
        self._refreshes = parts["refreshes"]
