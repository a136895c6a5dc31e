"""One of several buffered counters, each of a stream of its own, whose noise covers them all together."""

from __future__ import annotations

from fractions import Fraction

from discreet.core import checks
from discreet.core.parameters import frozen, public
from discreet.streams.counters.buffered_counter import BufferedCounter


@frozen
class SharedCounter(BufferedCounter):
    """A `BufferedCounter` of one stream among several, with noise for all that neighbours differ in.

    Privacy: (epsilon, delta) for the answers of all counters together. All have noise of one variance, so
    squared distances add up. A changed event is in `streams` of them, and moves each as far as one. A user's
    events are in one stream each: distances as they are encoded exactly add up to no more than if all were in
    one, because there they overlap; rounding moves every stream that an event is in.

    Parameters
    ----------
    streams
        In how many streams neighbours differ at most.
    """

    streams: int = public(checks.integer, 1)

    @property
    def square_shift(self) -> Fraction:
        """The square of the L2 sensitivity of all encoded streams together, in units of the noise."""
        if self.cap is None:
            return self.streams * self.encoding.square_shift(self.moved, 1)
        return self.encoding.square_shift(self.moved, self.events, min(self.streams, self.events))
