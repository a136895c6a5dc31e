"""Right noise, drawn or charged the wrong way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.audit.museum.exhibit import Claimed, Exhibit, Exhibited
from discreet.core.errors import BudgetExceeded, InvalidParameter
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.neighbours import LocalReport
from discreet.core.rng import Primitive, Rng
from discreet.core.sensitive import Sensitive
from discreet.noise import AddNoise, DiscreteLaplace


@dataclass(frozen=True, slots=True)
class Coin(Primitive[int, int]):
    """Flip one bit with probability 1 / 4: log 3."""

    sensitivity: Fraction = Fraction(1)

    def sample(self, value: int, rng: Rng) -> int:
        """Flip where two fair bits are both 1."""
        return value ^ (rng.bits(2) == 3)

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield both bits."""
        yield from ((value, Fraction(3, 4)), (1 - value, Fraction(1, 4)))

    def distance(self, value: int, other: int) -> Fraction:
        """Return 0 or 1."""
        return Fraction(abs(value - other))


@dataclass(frozen=True, slots=True, repr=False)
class TwoQuestions(Exhibited):
    """Randomized response to two bits of one person; `fresh` flips a coin for each of them."""

    fresh: bool = False

    def _draw(self, data: tuple[int, int], rng: Rng) -> tuple[int, int]:
        if self.fresh:
            return rng.perform(Coin(), data[0]), rng.perform(Coin(), data[1])
        flip = rng.perform(Coin(), 0)
        return data[0] ^ flip, data[1] ^ flip


@dataclass(frozen=True, slots=True, repr=False)
class TwoCounts(Exhibited):
    """Two noisy counts; one draw serves both unless `fresh`."""

    fresh: bool = False

    def _draw(self, data: tuple[int, int], rng: Rng) -> tuple[int, int]:
        first = self._add_noise(data[0], rng, moved=2)
        second = self._add_noise(data[1], rng, moved=2) if self.fresh else first - data[0] + data[1]
        return int(first), int(second)


@dataclass(frozen=True, slots=True, repr=False)
class Retry(Exhibited):
    """A count that is drawn again when it comes out negative; `clamp` sets it to 0 instead."""

    clamp: bool = False

    def _draw(self, data: int, rng: Rng) -> int:
        drawn = int(self._add_noise(data, rng))
        if self.clamp:
            return max(0, drawn)
        return drawn if drawn >= 0 else int(self._add_noise(data, rng))


@dataclass(frozen=True, slots=True, repr=False)
class Complaining(Exhibited):
    """A count that raises where fewer than `least` rows are there."""

    least: int = 0

    def _draw(self, data: int, rng: Rng) -> int:
        if data < self.least:
            raise InvalidParameter(name="data", rule="enough rows", value="too few")
        return int(self._add_noise(data, rng))


@dataclass(frozen=True, slots=True, repr=False)
class Meter(Claimed, Interactive[int, int]):
    """Sells one noisy count for `epsilon`, which must not be overspent. `charge_first` is the sound order."""

    charge_first: bool = False

    def _begin(self, data: Sensitive[int], rng: Rng) -> Conversation[int]:
        return _Metered(self, data, rng)


class _Metered(Conversation[int]):
    def __init__(self, mechanism: Meter, data: Sensitive[int], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self._data, self._charged, self._meter = data, 0, mechanism

    def _answer(self, query: Callable[[int], object], **public: Any) -> int:
        """Hand the noisy count to the analyst's own function, which may fail after it has seen it."""
        if self._charged:
            raise BudgetExceeded(asked="one more answer", left="nothing")
        self._charged += self._meter.charge_first
        step = AddNoise(DiscreteLaplace(1 / self._meter.epsilon), Fraction(1))
        answer = int(self._rng.perform(step, self._data.reveal()))
        query(answer)
        self._charged += not self._meter.charge_first
        return answer


def fail_after_looking(conversation: Conversation[int]) -> Hashable:
    """Ask twice, with a function that keeps whether the answer is positive, and then fails."""
    seen: list[bool] = []

    def look(answer: int) -> None:
        seen.append(answer > 0)
        raise TimeoutError

    for _ in range(2):
        try:
            conversation.ask(look)
        except TimeoutError:
            continue
        except BudgetExceeded:
            break
    return tuple(seen)


_PEOPLE = tuple(LocalReport().pairs(tuple(itertools.product((0, 1), repeat=2))))
_COUNTS = tuple((a, b) for a in range(4) for b in range(4) if abs(a - b) == 1)
_THREE = (((1, 0), (1, 1)), ((0, 0), (1, 1)))
_LN9 = Fraction(2197224578, 10**9)  # a little above log 9, the loss of two honest coins

EXHIBITS = (
    Exhibit(
        name="reused-coin",
        wrong="one coin hides two answers, so whether they are equal is plain to see",
        source="[DR14] section 3.2, done once instead of twice",
        shown=TwoQuestions(_LN9, LocalReport()).against(_PEOPLE, fresh=True),
    ),
    Exhibit(
        name="reused-noise",
        wrong="one draw of noise serves two counts, so their difference is exact",
        source="a cache of noise",
        shown=TwoCounts(Fraction(4)).against(_THREE, fresh=True),
    ),
    Exhibit(
        name="retry-until-nice",
        wrong="a result that looks wrong is drawn again and charged once",
        source="lomas 0.4.1, SmartNoise querier",
        shown=Retry(Fraction(1)).against(_COUNTS, clamp=True),
    ),
    Exhibit(
        name="data-dependent-error",
        wrong="whether an exception is raised depends on the data",
        source="smartnoise-sdk #572",
        shown=Complaining(Fraction(1), least=2).against(_COUNTS, least=0),
    ),
    Exhibit(
        name="charge-after",
        wrong="the budget is charged after the answer was seen, so a failing analyst asks on for free",
        source="lomas 0.4.1, diffprivlib: answer first, charge after",
        shown=Meter(Fraction(2), LocalReport()).against([(0, 1)], fail_after_looking, charge_first=True),
    ),
)
