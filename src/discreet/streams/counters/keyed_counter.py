"""The keyed counter: one counter a key, all of them on one budget."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.neighbours import Contribution, Event, EventPresence, UserEvents
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.streams.conversation import BITS, CounterConversation, CounterRun, StreamCounter
from discreet.streams.counters.shared_counter import SharedCounter
from discreet.streams.counters.wide_tree_counter import WideTreeCounter
from discreet.streams.noise_sums import ErrorLaw, find_reach
from discreet.streams.user_cap import UserCap, read_event, read_name

Part = WideTreeCounter | SharedCounter
_LARGEST = 1 << 26  # numbers of one reply to `push_many`


def read_key(**named: object) -> int | str:
    """Return a declared key: a whole number or text."""
    ((name, value),) = named.items()
    key = read_name(value)
    if isinstance(key, int | str):
        return key
    raise InvalidParameter(name=name, rule="whole numbers or texts", got=f"a {type(value).__name__}")


@frozen
class KeyedCounter(StreamCounter):
    """Publish how often each of several keys came so far, at every step: a histogram over time.

    Privacy: (epsilon, delta) for all answers about all keys together.
    Accuracy: variance(t) of each key's answer; error(beta) over all keys and steps, error(beta, step=t) over
    all keys at one.
    Time: O(number of keys) a step.

    Parameters
    ----------
    keys
        What is counted: whole numbers or text, public and declared. Other keys count nowhere.
    parts
        In how many numbers of one step a person has a part, at most; for `Contribution(most)`.

    The others are those of every `StreamCounter`. An element is a key, or None where nothing happened; under
    `Contribution(most)` it is a list with one number a key, `elements` is the range of each, and hidden is a
    person's part in as many of them as `parts` says.

    Examples
    --------
    >>> regions = KeyedCounter(keys=["north", "south"], horizon=365, epsilon=1, delta=0, neighbours=Event())
    >>> with regions.open() as visits:
    ...     noisy = [visits.push("north") for _ in range(7)]
    >>> noisy[-1].shape
    (2,)
    """

    keys: tuple[Any, ...] = public(checks.each, read_key)
    parts: int = public(checks.integer, 1, default=1)

    def _complete(self) -> None:
        StreamCounter._complete(self)  # noqa: SLF001 - its own base
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise InvalidParameter(name="keys", rule="at least one, each once", value=len(self.keys))
        if not isinstance(self.neighbours, Contribution) and (self.elements != BITS or self.parts > 1):
            raise InvalidParameter(
                name="elements" if self.elements != BITS else "parts",
                rule="left out where an element is a key",
                value=self.elements if self.elements != BITS else self.parts,
                hint="Contribution(most) takes a list of numbers, one a key",
            )
        _ = self.each

    @property
    def touched(self) -> int:
        """How many keys neighbours differ in for one event: the one that came, and the one in its place."""
        most = 2 if isinstance(self.neighbours, Event) else self.parts
        return min(most, len(self.keys))

    @property
    def each(self) -> Part:
        """The counter of one key."""
        return _make_each(self)

    @property
    def loss(self) -> Loss:
        """The cost of all answers about all keys."""
        return self.each.loss if isinstance(self.each, SharedCounter) else self.bought

    def _error_law(self, step: int) -> ErrorLaw:
        return self.each._error_law(step)  # noqa: SLF001 - its own part

    def _error_laws(self) -> Iterable[tuple[int, ErrorLaw]]:
        return [(count * len(self.keys), law) for count, law in self.each._error_laws()]  # noqa: SLF001

    def _find_reach(self, missed: float, step: int | None) -> int:
        laws = self._error_laws() if step is None else [(len(self.keys), self._error_law(step))]
        return find_reach(laws, missed)

    @property
    def mean_variance(self) -> float:
        """The mean of the variances of all answers."""
        return self.each.mean_variance

    def _start(self) -> CounterRun:
        return KeyedRun(self)

    def _begin(self, data: Sensitive[Any], rng: Rng) -> CounterConversation:
        return KeyedConversation(self, data, rng)


class KeyedRun(CounterRun):
    """One run a key."""

    def __init__(self, counter: KeyedCounter) -> None:
        each = counter.each
        self._runs = [each._start() for _ in counter.keys]  # noqa: SLF001 - its own part

    def step(self, units: Any, rng: Rng) -> Any:
        """Take one number a key."""
        answers = [run.step(unit, rng) for run, unit in zip(self._runs, units, strict=True)]
        self.taken += 1
        return np.array(answers)

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take a row a step, with one number a key."""
        columns = [run.steps(units[:, place], rng) for place, run in enumerate(self._runs)]
        self.taken += len(units)
        return np.stack(columns, axis=1)

    def write(self) -> dict[str, Any]:
        """Return what every run keeps."""
        return {"taken": self.taken, "runs": [run.write() for run in self._runs]}

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was written."""
        for run, part in zip(self._runs, written["runs"], strict=True):
            run.read(part)
            run.taken = written["taken"]


class KeyedConversation(CounterConversation):
    """Takes keys, or a number for each, and answers the noisy sums so far, one a key."""

    def __init__(self, mechanism: KeyedCounter, data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, data, rng)
        self._places = {(type(key), key): place for place, key in enumerate(mechanism.keys)}
        self._sums = isinstance(mechanism.neighbours, Contribution)

    def _read_one(self, event: Any, place: int) -> Any:
        units = [0] * len(self._places)
        if self._book is not None:
            user, event = read_event(event)
            if user is None or not self._book.admit(user, place):
                return units
        if self._sums:
            given = event.tolist() if type(event) is np.ndarray and event.ndim == 1 else event
            listed = list(given) if type(given) in (list, tuple) else []
            short = len(self._places) - len(listed)
            return [self._reader.read(number) for number in (listed + [None] * max(0, short))[: len(units)]]
        key = read_name(event)
        if (found := self._places.get((type(key), key))) is not None:
            units[found] = 1
        return units

    def _read_several(self, events: Any) -> NDArray[np.int64]:
        if len(events) * len(self._places) > _LARGEST:
            raise InvalidParameter(
                name="elements",
                rule=f"so few that there are at most {_LARGEST} answers",
                got=f"{len(events)} for {len(self._places)} keys",
                hint="Push them in several parts",
            )
        first = self._run.taken
        rows = np.zeros((len(events), len(self._places)), dtype=np.int64)
        for row, event in enumerate(events):
            rows[row] = self._read_one(event, first + row)
        return rows


@lru_cache(maxsize=64)
def _make_each(whole: KeyedCounter) -> Part:
    """Return one key's counter, with noise that covers all keys which one event touches."""
    event = isinstance(whole.neighbours, Event)
    given: dict[str, Any] = {
        "horizon": whole.horizon,
        "neighbours": EventPresence() if event else whole.neighbours,
        "elements": whole.elements,
        "cap": whole.cap,
    }
    if whole.delta == 0:
        return WideTreeCounter(epsilon=whole.epsilon / whole.touched, delta=0, **given)
    streams = whole.touched if whole.cap is None else len(whole.keys)
    return SharedCounter(epsilon=whole.epsilon, delta=whole.delta, streams=streams, **given)


def _tiny() -> Iterator[Tiny]:
    keys = ("a", "b")
    one = KeyedCounter(keys=keys, horizon=1, epsilon=6, delta=0, neighbours=Event())
    pairs = list(Event().pairs(("a", "b", "c"), 1))
    yield Tiny(one, pairs, script=push_rows(1), stepwise=False)
    present = KeyedCounter(keys=keys, horizon=1, epsilon=4, delta=0, neighbours=EventPresence())
    yield Tiny(present, list(EventPresence().pairs(keys, 1)), script=push_rows(1), stepwise=False)
    sums = KeyedCounter(
        keys=keys, horizon=1, epsilon=6, delta=0, neighbours=Contribution(1), elements=BITS, parts=2
    )
    yield Tiny(sums, [(((0, 1),), ((1, 0),)), (((1, 1),), ((0, 0),))], script=push_rows(1), stepwise=False)
    users = KeyedCounter(keys=keys, horizon=2, epsilon=16, delta=0, neighbours=UserEvents(), cap=UserCap(2))
    both = [("u", "a"), ("u", "b")], [None, None]
    yield Tiny(users, [both, both[::-1]], script=push_rows(1), tight=False, stepwise=False)


def push_rows(count: int) -> Any:
    """Return a script that answers every step of a stream, as plain numbers."""

    def script(conversation: Any) -> Hashable:
        return tuple(number for _ in range(count) for number in conversation.ask(1)[0].tolist())

    return script


CARD = Card(
    title="Keyed counter: a histogram that is published at every step",
    theorem="(epsilon, delta)-differential privacy of all answers about all keys; a changed event is in two",
    reference="[DR14] section 12.3, one counter a key",
    example=lambda: (
        KeyedCounter(keys=("north", "south", "west"), horizon=200, epsilon=1, delta=0, neighbours=Event()),
        tuple(("north", "south", "east")[number % 3] for number in range(200)),
    ),
    tiny=_tiny,
)
