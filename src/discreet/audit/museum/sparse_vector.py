"""Six sparse-vector techniques that were printed or used, and do not keep their promise.

The first four are Algorithms 3 to 6 in the comparison of [LSL17]; the last two are mistakes their analysis
warns of. All of them claim epsilon for sensitivity 1. Each differs from the right one in a line.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.audit.museum.exhibit import Claimed, Exhibit, Shown
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.rng import Primitive, Rng
from discreet.core.sensitive import Sensitive
from discreet.noise import AddNoise, DiscreteLaplace, Noise, NoisyComparison, OneSidedGeometric
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.plan import Form, NoiseKind
from discreet.sparse.sparse import Sparse
from discreet.sparse.tiny import each_value


@dataclass(frozen=True, slots=True)
class NoisyAboveOnly(Primitive["tuple[int, int]", "int | None"]):
    """Given (value, threshold), return the noisy value if it reaches the threshold, else None."""

    noise: Noise
    sensitivity: Fraction

    def sample(self, value: tuple[int, int], rng: Rng) -> int | None:
        """Draw fresh noise, compare, and show the very number that was compared."""
        noisy = value[0] + self.noise.draw(rng)
        return noisy if noisy >= value[1] else None

    def law(self, value: tuple[int, int]) -> Iterator[tuple[int | None, Fraction]]:
        """Yield None and every value of the window that reaches the threshold."""
        yield None, 1 - self.noise.tail(value[1] - value[0])
        for z in self.noise.window():
            if value[0] + z >= value[1]:
                yield value[0] + z, self.noise.pmf(z)

    def distance(self, value: tuple[int, int], other: tuple[int, int]) -> Fraction:
        """Return how far the values are apart."""
        return Fraction(abs(value[0] - other[0]))


@dataclass(frozen=True, slots=True, repr=False)
class BrokenSparse(Claimed, Interactive[Any, Any]):
    """A sparse vector whose scales and habits are taken as given. Never use one for a release.

    Attributes
    ----------
    threshold_scale, query_scale
        Scales of the noise; query scale None adds no noise to queries.
    positives
        The cutoff; None never closes.
    redraws
        Whether a fresh threshold is drawn after each positive answer.
    shows
        Whether a positive answer is the noisy value that was compared.
    follows_data
        Whether the threshold is the first number of the data instead of 0.
    one_sided
        Whether the noise is exponential instead of Laplace.
    """

    threshold_scale: Fraction = field(kw_only=True)
    query_scale: Fraction | None = None
    positives: int | None = None
    redraws: bool = False
    shows: bool = False
    follows_data: bool = False
    one_sided: bool = False

    def law(self, scale: Fraction) -> Noise:
        """Return the noise of a scale."""
        return OneSidedGeometric(scale) if self.one_sided else DiscreteLaplace(scale)

    def _begin(self, data: Sensitive[Any], rng: Rng) -> Conversation[Any]:
        return _BrokenConversation(self, data, rng)


class _BrokenConversation(Conversation[Any]):
    def __init__(self, mechanism: BrokenSparse, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self._public, self._data = mechanism, data
        self._threshold = data.reveal()[0] if mechanism.follows_data else 0
        self._found = 0
        self._draw_threshold()

    def _draw_threshold(self) -> None:
        noise = AddNoise(self._public.law(self._public.threshold_scale), sensitivity=Fraction(0))
        self._hidden = int(self._rng.perform(noise, 0))

    def _answer(self, query: Any, **public: Any) -> Any:
        value = query(self._data.reveal(), **public)
        answer = self._compare(value, self._threshold + self._hidden)
        if answer is not None and answer is not False:
            self._found += 1
            if self._found == self._public.positives:
                self.close("its positive answers have been given")
            elif self._public.redraws:
                self._draw_threshold()
        return answer

    def _compare(self, value: int, bar: int) -> bool | int | None:
        if self._public.query_scale is None:
            return value >= bar
        noise = self._public.law(self._public.query_scale)
        if self._public.shows:
            return self._rng.perform(NoisyAboveOnly(noise, Fraction(1)), (value, bar))
        return self._rng.perform(NoisyComparison(noise, Fraction(1)), (value, bar))


def reused_noise(epsilon: Fraction, positives: int) -> BrokenSparse:
    """Return [LSL17] Algorithm 3: the noisy value that passed the test is published."""
    return _break(epsilon, 2, 2 * positives, positives=positives, shows=True)


def no_cutoff(epsilon: Fraction) -> BrokenSparse:
    """Return [LSL17] Algorithm 6: both are noisy, and it never closes."""
    return _break(epsilon, 2, 2)


def unpaid_redraw(epsilon: Fraction, positives: int) -> BrokenSparse:
    """Return the scales of one threshold with a fresh one drawn after each positive answer."""
    return _break(epsilon, 2, 4 * positives, positives=positives, redraws=True, one_sided=True)


def _break(
    epsilon: Fraction, threshold: int, query: int | Fraction | None = None, **habits: Any
) -> BrokenSparse:
    """Return a sparse vector with noise of these scales over epsilon."""
    scale = None if query is None else Fraction(query) / epsilon
    return BrokenSparse(epsilon, threshold_scale=threshold / Fraction(epsilon), query_scale=scale, **habits)


_RISE_THEN_FALL = ((0, 0, 1, 1), (1, 1, 0, 0))
_RISE_AND_FALL = ((0, 1, 0, 1), (1, 0, 1, 0))


def _without_first(conversation: Conversation[Any]) -> Hashable:
    answers = [conversation.ask(lambda data: data[1])]
    if not conversation.closed:
        answers.append(conversation.ask(lambda data: data[2]))
    return (*answers, conversation.closed)


def _make_right(epsilon: int, positives: int, noise: NoiseKind = NoiseKind.LAPLACE) -> Callable[[], Sparse]:
    parameters: dict[str, Any] = {"sensitivity": 1, "delta": 0, "threshold": 0, "form": Form.ONCE}
    return lambda: Sparse(epsilon=epsilon, positives=positives, noise=noise, **parameters)


EXHIBITS = (
    Exhibit(
        name="sparse-reused-noise",
        wrong="the noisy value that passed the test is published, and so bounds the hidden threshold",
        source="[LSL17] Algorithm 3, from lecture notes of 2011",
        shown=Shown.on(
            [((0, 0, 0, 1), (1, 1, 1, 0))],
            lambda: reused_noise(Fraction(4), 1),
            lambda: NumericSparse(sensitivity=1, epsilon=9, delta=0, positives=1, threshold=0),
            each_value(4),
        ),
    ),
    Exhibit(
        name="sparse-unscaled-noise",
        wrong="the query noise does not grow with the number of positive answers",
        source="[LSL17] Algorithm 4, from a method for frequent itemsets of 2014",
        shown=Shown.on(
            [_RISE_THEN_FALL],
            lambda: _break(Fraction(2), 4, Fraction(4, 3), positives=2),
            _make_right(2, 2),
            each_value(4),
        ),
    ),
    Exhibit(
        name="sparse-no-query-noise",
        wrong="only the threshold is noisy: a low answer after a high one is impossible on the neighbour",
        source="[LSL17] Algorithm 5, from a method for feature selection of 2014",
        shown=Shown.on([((0, 1), (1, 0))], lambda: _break(Fraction(2), 2), _make_right(2, 2), each_value(2)),
    ),
    Exhibit(
        name="sparse-no-cutoff",
        wrong="it never closes, so the loss grows with every positive answer",
        source="[LSL17] Algorithm 6, from a method for high-dimensional data of 2015",
        shown=Shown.on([_RISE_THEN_FALL], lambda: no_cutoff(Fraction(2)), _make_right(2, 2), each_value(4)),
    ),
    Exhibit(
        name="sparse-unpaid-redraw",
        wrong="a fresh threshold is drawn after each positive answer, paid for once",
        source="[DR14] Algorithm 2 with the scales of [LSL17] Algorithm 1",
        shown=Shown.on(
            [_RISE_AND_FALL],
            lambda: unpaid_redraw(Fraction(8), 2),
            _make_right(8, 2, NoiseKind.EXPONENTIAL),
            each_value(4),
        ),
    ),
    Exhibit(
        name="sparse-threshold-from-data",
        wrong="the threshold is read from the data, so a query moves twice as far against it",
        source="a mistake [LSL17] section 4 warns of",
        shown=Shown.on(
            [((1, 0, 1), (0, 1, 0))],
            lambda: _break(Fraction(2), 2, 4, positives=1, follows_data=True, one_sided=True),
            _make_right(2, 1, NoiseKind.EXPONENTIAL),
            _without_first,
        ),
    ),
)
