"""The stream alarm: tells when the events that came reach a threshold, again and again."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import Loss
from discreet.core.neighbours import Event, EventPresence, UserEvents
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_up, up
from discreet.core.sensitive import Sensitive
from discreet.mechanisms.grid import LIMIT
from discreet.noise import AddNoise, NoisyComparison, OneSidedGeometric
from discreet.query_release.online.gate import NONE, FirstAbove
from discreet.sparse import accuracy
from discreet.sparse.calibration import make_plan, require
from discreet.sparse.loss import SparseLoss
from discreet.sparse.plan import Form, NoiseKind, Rule, SparsePlan, SparseSetting
from discreet.streams.conversation import CounterConversation, CounterRun, StreamMechanism
from discreet.streams.elements import RealElements
from discreet.streams.tiny import push_all
from discreet.streams.user_cap import UserCap

_WIDEST = 1 << 48  # the scale up to which noises stay far within 64-bit words
_LONGEST = 1 << 16
_AHEAD = 64  # tests drawn together at first: behind an alarm the rest of them is thrown away


@frozen
class StreamAlarm(StreamMechanism):
    """Answer at every step whether the sum since the last alarm has reached a threshold.

    Behind an alarm counting begins anew, so that an event is counted between two alarms only: all alarms
    together cost what the first one does, however many there are. With `alarms`, sums are those of all steps
    instead, and each alarm is paid for.

    Privacy: epsilon for all answers together, for elements that depend on earlier answers too. [DR14]
    Theorem 3.23, for every stretch between two alarms.
    Accuracy: error(beta) over all steps: an alarm comes at a sum of threshold - alpha or more, silence means
    a sum of threshold + alpha or less.
    Time: O(1) a step, vectorised in `push_many`.

    Parameters
    ----------
    threshold
        What a sum has to reach, public and positive.
    width
        How many steps a sum reaches back, at most; by default all since the last alarm. With 1 every element
        is compared by itself.
    alarms
        After how many alarms the conversation closes. Where it is given, sums begin with the stream, and the
        i-th alarm is about i times the threshold.

    The others are those of every `StreamMechanism`; delta must be 0.

    Examples
    --------
    >>> alarm = StreamAlarm(horizon=365, epsilon=1, delta=0, neighbours=Event(), threshold=100)
    >>> alarm.error(0.05)
    9.0
    >>> with alarm.open() as door:
    ...     rung = [door.push(1) for _ in range(7)]
    """

    threshold: Exact = public(checks.positive)
    width: int | None = public(checks.integer, 1, default=None)
    alarms: int | None = public(checks.integer, 1, default=None)

    def _complete(self) -> None:
        StreamMechanism._complete(self)  # noqa: SLF001 - its own base
        if self.delta != 0:
            raise InvalidParameter(
                name="delta", rule="0 for one-sided noise", value=self.delta, hint="It would be left unused"
            )
        if self.width is not None and (self.alarms is not None or self.width > _LONGEST):
            raise InvalidParameter(
                name="width",
                rule=f"at most {_LONGEST} steps, and left out where alarms are counted from the beginning",
                value=self.width,
            )
        if self.alarms is not None and not self.only_rises:
            raise NeighboursMismatch(
                f"neighbours: events of both signs are not hidden as {self.neighbours} where alarms are "
                f"counted from the beginning. Declare elements of one sign, or leave alarms out"
            )
        if self.bar * (self.alarms or 1) >= LIMIT >> 1:
            raise InvalidParameter(
                name="threshold",
                rule="such that the last one is below 2**61 units of the grid",
                value=self.threshold,
                hint="Declare a coarser grid, or fewer alarms",
            )
        if max(self._plan.threshold_noise.scale, self._plan.query_noise.scale) > _WIDEST:  # type: ignore[attr-defined]
            raise InvalidParameter(
                name="epsilon",
                rule="large enough for noise of at most 2**48 units of the grid",
                value=self.epsilon,
                hint="Declare a coarser grid, or take a larger epsilon",
            )

    @property
    def bar(self) -> int:
        """The threshold in units of the grid, rounded up."""
        return math.ceil(self.threshold / self.elements.bounds.unit)

    @property
    def shift(self) -> int:
        """How far neighbours move the sums of all stretches, added up, in units: what an event adds, once."""
        return self.events * self.moved

    @property
    def only_rises(self) -> bool:
        """Whether neighbours' sums, once apart, never come nearer again within a stretch."""
        low, high = self.elements.bounds.ends
        one_sign = not isinstance(self.neighbours, UserEvents) or low >= 0 or high <= 0
        return one_sign and self.width is None

    @property
    def _plan(self) -> SparsePlan:
        """The noise of the hidden threshold and of every test.

        Where sums only part, a neighbour with larger ones is hidden by a threshold that is higher by as much
        as the sum that rings, and one with smaller ones by a larger noise of that sum alone: both scales may
        use the whole budget.
        """
        if self.only_rises:
            return self._plan_rising()
        setting = SparseSetting(
            shift=self.shift,
            monotone=not isinstance(self.neighbours, UserEvents),
            positives=1,
            epsilon=self.epsilon,
            delta=Fraction(0),
            noise=NoiseKind.EXPONENTIAL,
            form=None,
            rule=Rule.OPTIMAL,
            queries=self.horizon,
        )
        plan = make_plan(setting)
        return SparsePlan(Form.REDRAWN, plan.threshold_noise, plan.query_noise, plan.offset, plan.loss)

    def _plan_rising(self) -> SparsePlan:
        count = self.alarms or 1
        scale = shorten_up(self.shift * count / self.epsilon, 12)
        each = self.shift / scale
        loss = SparseLoss(low=each, high=each, count=count)
        require(loss, self.epsilon, Fraction(0))
        noise = OneSidedGeometric(scale)
        return SparsePlan(Form.REDRAWN, noise, noise, 0, loss)

    @property
    def loss(self) -> Loss:
        """The cost of all answers together."""
        return self._plan.loss

    def error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta no answer is wrong by more than alpha.

        An alarm then means a sum of at least threshold - alpha, and silence one of at most threshold + alpha:
        of elements clipped to their range, of those that the cap lets count. What rounding to the grid adds
        is included.

        Parameters
        ----------
        beta
            The probability of missing it.
        """
        missed = checks.probability(beta=beta)
        plan, steps = self._plan, self.horizon
        alpha = accuracy.find_error(
            lambda units: accuracy.comparison_failure(
                plan, units, queries=steps, positives=min(steps, self.alarms or steps)
            ),
            missed,
        )
        bounds = self.elements.bounds
        off = 0 if bounds.unit == 1 else bounds.rounding
        # Thresholds are multiples of the one that was rounded up.
        lifted = (self.alarms or 1) * (self.bar * bounds.unit - self.threshold)
        return up(alpha * bounds.unit + min(steps, self.width or steps) * off + lifted)

    def _start(self) -> CounterRun:
        return AlarmRun(self)

    def _begin(self, data: Sensitive[Any], rng: Rng) -> CounterConversation:
        return AlarmConversation(self, data, rng)


class AlarmRun(CounterRun):
    """The exact sum since the last alarm and the hidden threshold's noise: both private."""

    def __init__(self, alarm: StreamAlarm) -> None:
        plan = alarm._plan  # noqa: SLF001 - its own mechanism
        self._bar, self._offset = alarm.bar, plan.offset
        self._width, self._most = alarm.width, alarm.alarms
        self._hide = AddNoise(plan.threshold_noise, Fraction(0))
        self._test = NoisyComparison(plan.query_noise, Fraction(alarm.shift))
        self._first = FirstAbove(plan.query_noise, Fraction(alarm.shift))
        self.alarms = 0
        self._sum = 0
        self._recent: deque[int] = deque()
        self._hidden: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the last alarm that was paid for has been given."""
        return self._most is not None and self.alarms >= self._most

    def step(self, units: int, rng: Rng) -> bool:
        """Take one element and tell whether it rings."""
        bar = self._find_bar(rng)
        self._count(units)
        rings = rng.perform(self._test, (self._sum, bar))
        self.taken += 1
        if rings:
            self._ring()
        return rings

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many: tests up to the next alarm are made together. Behind the last alarm none is taken."""
        rang = np.zeros(units.size, dtype=np.bool_)
        done, ahead = 0, _AHEAD
        while done < units.size and not self.is_over:
            bar = self._find_bar(rng)
            some = units[done : done + ahead]
            sums = self._look_ahead(some)
            place = rng.perform(self._first, np.stack([sums, np.full(some.size, bar)]))
            taken, ahead = (some.size, 2 * ahead) if place == NONE else (place + 1, _AHEAD)
            self._count_several(some[:taken], int(sums[taken - 1]))
            self.taken, done = self.taken + taken, done + taken
            if place != NONE:
                rang[done - 1] = True
                self._ring()
        return rang[:done]

    def _find_bar(self, rng: Rng) -> int:
        """Return what the next sums are compared with; its noise is drawn before the first of them."""
        if self._hidden is None:
            self._hidden = int(rng.perform(self._hide, 0))
        number = 1 if self._most is None else self.alarms + 1
        return self._bar * number + self._offset + self._hidden

    def _count(self, units: int) -> None:
        self._sum += units
        if self._width is not None:
            self._recent.append(units)
            if len(self._recent) > self._width:
                self._sum -= self._recent.popleft()

    def _look_ahead(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sums after each of the next elements, if none of them rings."""
        sums = np.cumsum(units) + self._sum
        if self._width is None:
            return sums
        leaving = np.concatenate([np.array(self._recent, dtype=np.int64), units])
        gone = len(self._recent) + np.arange(1, units.size + 1) - self._width
        total = np.concatenate([[0], np.cumsum(leaving)])
        sums -= total[np.maximum(gone, 0)]
        return sums

    def _count_several(self, units: NDArray[np.int64], total: int) -> None:
        self._sum = total
        if self._width is not None:
            self._recent.extend(units[-self._width :].tolist())
            while len(self._recent) > self._width:
                self._recent.popleft()

    def _ring(self) -> None:
        """Forget the hidden threshold, and all that was counted where counting begins anew."""
        self.alarms, self._hidden = self.alarms + 1, None
        if self._most is None:
            self._sum = 0
            self._recent.clear()

    def write(self) -> dict[str, Any]:
        """Return the sum, what it is made of, and the hidden noise."""
        return {
            "alarms": self.alarms,
            "sum": self._sum,
            "recent": list(self._recent),
            "hidden": self._hidden,
        }

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was written."""
        self.alarms, self._sum, self._hidden = written["alarms"], written["sum"], written["hidden"]
        self._recent = deque(written["recent"])


class AlarmConversation(CounterConversation):
    """Takes elements and tells whether they ring, until the horizon or the last alarm is reached.

    Of elements that were pushed together those behind the last alarm are forgotten, and not answered.
    """

    _run: AlarmRun

    def _end(self) -> None:
        if self._run.is_over:
            self.close(f"all {self._run.alarms} alarms have been given")
        super()._end()

    def _show(self, answer: Any) -> Any:
        return answer


def _tiny() -> Iterator[Tiny]:
    bits = (0, 1)
    given: dict[str, Any] = {"horizon": 2, "delta": 0, "threshold": 1}
    one = StreamAlarm(epsilon=4, neighbours=Event(), **given)
    yield Tiny(one, list(Event().pairs(bits, 2)), script=push_all(2))
    yield Tiny(one, list(Event().pairs(bits, 2))[::3], script=push_all(2, at_once=True), tight=False)
    short = StreamAlarm(epsilon=8, neighbours=EventPresence(), width=1, **given)
    moved = [((1, None), (None, None)), ((1, 1), (None, 1))]  # a sum that moved before one that did not
    yield Tiny(short, moved, script=push_all(2), tight=False)
    users = StreamAlarm(epsilon=8, neighbours=UserEvents(), cap=UserCap(2), **given)
    both = [("a", 1), ("a", 1)], [None, None]
    yield Tiny(users, [both, both[::-1]], script=push_all(2))
    signed = RealElements(lower=Fraction(-1), upper=Fraction(1), grid=Fraction(1))
    ways = StreamAlarm(epsilon=12, neighbours=UserEvents(), cap=UserCap(2), elements=signed, **given)
    yield Tiny(ways, [([("a", 1), ("a", -1)], [None, None])], script=push_all(2), tight=False)
    total = StreamAlarm(epsilon=8, neighbours=Event(), alarms=2, **given)
    yield Tiny(total, list(Event().pairs(bits, 2)), script=_push_while_open(2), tight=False)


def _push_while_open(count: int) -> Any:
    def script(conversation: Any) -> Any:
        answers: list[bool] = []
        while len(answers) < count and not conversation.closed:
            answers += conversation.ask(1).tolist()
        return (*answers, conversation.closed)

    return script


CARD = Card(
    title="Stream alarm: tells when what came since the last alarm reaches a threshold",
    theorem="epsilon-differential privacy of all answers, however many alarms there are",
    reference="[DR14] Theorem 3.23 and section 12.3",
    example=lambda: (
        StreamAlarm(horizon=1000, epsilon=1, delta=0, neighbours=Event(), threshold=100),
        tuple(number % 3 % 2 for number in range(1000)),
    ),
    tiny=_tiny,
)
