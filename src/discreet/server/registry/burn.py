"""How fast a budget is used: its course over time, the rate a day, and when it would be used up."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.ledger.events import DATA, Reserved
from discreet.curator.ledger.state import Account, EntryRecord, LineSum
from discreet.server.registry.figures import add_lines, find_part, list_metered, read_whole

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


def measure_burn(
    account: Account, records: tuple[EntryRecord, ...], now: int
) -> tuple[tuple[CoursePoint, ...], Burn | None]:
    """Return the course of a budget and how fast it is used; None where nothing was charged yet.

    Entries that were given back count as if they had never been. What a recovery added counts from now on.
    """
    charged = [one.reserved for one in records if one.state != "voided"]
    if not charged:
        return (), None
    first, since = charged[0].time, max(charged[0].time, now - WINDOW * DAY)
    step = max(1, -(-(now - first) // POINTS))
    running, before = _RunningSums(account), None
    course = [CoursePoint(first, Fraction(1))]
    for one, following in itertools.zip_longest(charged, charged[1:]):
        if before is None and one.time >= since:
            before = running.read()
        running.add(one)
        if following is None or (following.time - first) // step > (one.time - first) // step:
            course.append(CoursePoint(one.time, 1 - find_part(account, running.read())))
    whole, start = read_whole(account), add_lines(account, running.read() if before is None else before)
    left = 1 - whole.part
    course.append(CoursePoint(max(now, charged[-1].time), left))
    days = max(Fraction(1), Fraction(now - since, DAY))
    part, epsilon = (whole.part - start.part) / days, (whole.epsilon - start.epsilon) / days
    return tuple(course), Burn(since, days, epsilon, part, _find_end(now, left, part))


def add_up(account: Account, records: Iterable[EntryRecord]) -> dict[str, LineSum]:
    """Return what entries add up to, on the lines that make up all that was charged."""
    running = _RunningSums(account)
    for one in records:
        if one.state != "voided":
            running.add(one.reserved)
    return running.read()


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
