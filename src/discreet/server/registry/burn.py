"""How fast a budget is used: its course over time, the rate a day, and when it would be used up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.ledger.entry_records import EntryRecord
from discreet.curator.ledger.events import DATA, Reserved
from discreet.curator.ledger.state import Account, LineSum
from discreet.server.registry.figures import add_lines, find_part, list_metered, name_noise, read_whole

DAY = 86_400
WINDOW = 30
"""Days that a rate is about."""

POINTS = 200
"""The most points of a course."""

_CENTURY = 36_525


@dataclass(frozen=True, slots=True)
class CoursePoint:
    """What was left of the budget at a moment, as a part of it."""

    time: int
    left: Fraction


@dataclass(frozen=True, slots=True)
class Burn:
    """How fast a budget is used.

    Attributes
    ----------
    since, days
        When the window began that this is about, and how long it is: a day at least.
    epsilon, part
        What was used a day, of epsilon and as a part of the budget.
    ends
        When nothing would be left, if it went on like this; None where it does not go on, or for a century.
    """

    since: int
    days: Fraction
    epsilon: Fraction
    part: Fraction
    ends: int | None


@dataclass(frozen=True, slots=True)
class Use:
    """What entries come to.

    Attributes
    ----------
    course, burn
        What was left over time, and how fast it is used; None where nothing was charged yet.
    sums
        What they add up to, on the lines that make up all that was charged.
    noises
        What kinds of noise, how often.
    """

    course: tuple[CoursePoint, ...]
    burn: Burn | None
    sums: dict[str, LineSum]
    noises: Counter[str]


def measure_use(account: Account, records: Iterable[EntryRecord], now: int) -> Use:
    """Return what entries come to, each of which is looked at once: there may be very many.

    Entries that were given back count as if they had never been. What a recovery added counts from now on.
    """
    running, noises = _RunningSums(account), Counter[str]()
    first = since = last = step = 0
    before: dict[str, LineSum] | None = None
    course: list[CoursePoint] = []
    for one in (record.reserved for record in records if record.state != "voided"):
        if not course:
            first, since = one.time, max(one.time, now - WINDOW * DAY)
            step = max(1, -(-(now - first) // POINTS))
            course = [CoursePoint(first, Fraction(1))]
        elif (one.time - first) // step > (last - first) // step:
            course.append(CoursePoint(last, 1 - find_part(account, running.read())))
        if before is None and one.time >= since:
            before = running.read()
        running.add(one)
        noises[name_noise(one.loss)] += 1
        last = one.time
    sums = running.read()
    if not course:
        return Use((), None, sums, noises)
    course.append(CoursePoint(last, 1 - find_part(account, sums)))
    whole, start = read_whole(account), add_lines(account, sums if before is None else before)
    left = 1 - whole.part
    course.append(CoursePoint(max(now, last), left))
    days = max(Fraction(1), Fraction(now - since, DAY))
    part, epsilon = (whole.part - start.part) / days, (whole.epsilon - start.epsilon) / days
    burn = Burn(since, days, epsilon, part, _find_end(now, left, part))
    return Use(tuple(course), burn, sums, noises)


class _RunningSums:
    """Sums of the lines that add up to all that was charged, in units."""

    def __init__(self, account: Account) -> None:
        self._sums = {
            line.name: ([0] * len(account.coordinates(line.name)), [0] * len(account.coordinates(line.name)))
            for line in list_metered(account)
        }

    def add(self, entry: Reserved) -> None:
        for charge in entry.charges:
            found = self._sums.get(charge.line) if charge.kind == DATA else None
            if found is not None:
                amounts, endless = found
                for place, amount in enumerate(charge.amounts):
                    if amount is None:
                        endless[place] += 1
                    else:
                        amounts[place] += amount

    def read(self) -> dict[str, LineSum]:
        return {
            name: LineSum(tuple(amounts), tuple(endless)) for name, (amounts, endless) in self._sums.items()
        }


def _find_end(now: int, left: Fraction, part: Fraction) -> int | None:
    if not part or left / part > _CENTURY:
        return None
    return now + int(left / part * DAY)
