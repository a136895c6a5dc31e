"""Figures of a line: what was charged, the part of the budget that took, and the epsilon it comes to.

A budget with a delta goes on in either of two ways (`discreet.curator.ledger.ledger`), so what was charged
has two readings: epsilons that add up, or rhos that add up and come to an epsilon at nine tenths of the
delta. Both are true together with the whole delta, and the smaller one is told. Neither ever decreases, so it
does not either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.charges import Charge
from discreet.accounting.filters import HELD_BACK, Filter, make_filter
from discreet.core.loss import ZCDPLoss
from discreet.curator.hypotheses.opening import WHO
from discreet.curator.ledger.events import ANALYST, WHOLE, Capped, Opened
from discreet.curator.ledger.lines import read_charge
from discreet.curator.ledger.state import Account, LineSum


@dataclass(frozen=True, slots=True)
class Figures:
    """What a line has come to.

    Attributes
    ----------
    epsilon
        What was charged, as an epsilon that holds together with the whole delta of the budget.
    part
        The part of the whole budget that is used, from 0 to 1: what was charged by the way that took least.
    charged
        The exact sums, coordinate by coordinate; what has no finite sum is left out.
    endless
        The coordinates in which there is no finite sum.
    """

    epsilon: Fraction
    part: Fraction
    charged: dict[str, Fraction] = field(default_factory=dict)
    endless: tuple[str, ...] = ()

    @classmethod
    def add(cls, several: Iterable[Figures]) -> Figures:
        """Return what lines that are budgets of their own come to together."""
        listed = tuple(several)
        endless = tuple(dict.fromkeys(name for one in listed for name in one.endless))
        charged: dict[str, Fraction] = {}
        for one in listed:
            for name, amount in one.charged.items():
                charged[name] = charged.get(name, Fraction(0)) + amount
        return cls(
            sum((one.epsilon for one in listed), Fraction(0)),
            sum((one.part for one in listed), Fraction(0)),
            {name: amount for name, amount in charged.items() if name not in endless},
            endless,
        )


class BudgetMeter:
    """Reads the sums of one budget.

    Parameters
    ----------
    epsilon, delta
        The budget.
    """

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        self._epsilon, self._delta = epsilon, delta
        self._filter: Filter = make_filter(epsilon=epsilon, delta=delta, neighbours=None)

    @property
    def budget(self) -> dict[str, Fraction]:
        """The most that may be charged, coordinate by coordinate."""
        return self._filter.budget

    def read(self, charge: Charge) -> Figures:
        """Return what charges that add up to this come to."""
        amounts = charge.amounts
        endless = tuple(name for name in charge.names if name not in amounts)
        return Figures(self.find_epsilon(amounts), self.find_part(amounts), amounts, endless)

    def find_part(self, amounts: dict[str, Fraction]) -> Fraction:
        """Return the part of the budget that sums take; all of it where nobody knows."""
        budget = self._filter.budget
        parts = [
            max(
                amounts[name] / budget[name] if budget[name] else Fraction(bool(amounts[name]))
                for name in way
            )
            for way in self._filter.ways
            if set(way) <= set(amounts)
        ]
        return min([Fraction(1), *parts])

    def find_epsilon(self, amounts: dict[str, Fraction]) -> Fraction:
        """Return the epsilon that sums come to, together with the whole delta."""
        readings = [self._epsilon]  # the filter promises this much, whatever was charged
        if "epsilon" in amounts and amounts.get("delta", Fraction(0)) <= self._delta:
            readings.append(amounts["epsilon"])
        if "rho" in amounts:
            readings.append(_convert(amounts["rho"], self._delta * (1 - HELD_BACK)))
        return min(readings)


@lru_cache(maxsize=1024)
def _convert(rho: Fraction, delta: Fraction) -> Fraction:
    return Fraction(ZCDPLoss(rho).epsilon(delta))


@dataclass(frozen=True, slots=True, eq=False)
class MeteredLine:
    """A line whose charges count on the whole budget, and how much of it they are.

    Attributes
    ----------
    name
        What it is called in the ledger.
    share
        The part of the whole budget that the meter's budget is.
    meter
        Reads its sums.
    is_used
        Whether all of it was used as soon as it was set aside: for the hypothesis of a later version, of
        which no entry tells.
    """

    name: str
    share: Fraction
    meter: BudgetMeter
    is_used: bool = False

    def read(self, account: Account, total: LineSum) -> Figures:
        """Return what it has come to if it has this sum."""
        if self.is_used:
            most = self.share * account.opened.epsilon
            return Figures(most, Fraction(1), {"epsilon": most})
        return self.meter.read(_charge(account, self.name, total))


@lru_cache(maxsize=256)
def make_meter(epsilon: Fraction, delta: Fraction) -> BudgetMeter:
    """Return the meter of a budget."""
    return BudgetMeter(epsilon, delta)


def list_metered(account: Account) -> tuple[MeteredLine, ...]:
    """Return the lines that add up to all that was charged: one, or each share that is apart."""
    opened = account.opened
    if not opened.apart:
        return (MeteredLine(WHOLE, Fraction(1), make_meter(opened.epsilon, opened.delta)),)
    return tuple(_meter_share(opened, capped) for capped in account.lines.values())


def _meter_share(opened: Opened, capped: Capped) -> MeteredLine:
    part = capped.share
    is_used = capped.line.startswith(f"{ANALYST}{WHO}")
    return MeteredLine(capped.line, part, make_meter(part * opened.epsilon, part * opened.delta), is_used)


def read_line(account: Account, line: str, meter: BudgetMeter) -> Figures:
    """Return what one line of an account has come to."""
    return meter.read(_charge(account, line, account.sum(line)))


def read_whole(account: Account) -> Figures:
    """Return what all that was charged to an account has come to."""
    return add_lines(account, account.sums)


def add_lines(account: Account, sums: dict[str, LineSum]) -> Figures:
    """Return what an account comes to if its lines have these sums."""
    zero = Account(account.opened, account.lines)
    found = []
    for line in list_metered(account):
        own = line.read(account, sums.get(line.name) or zero.sum(line.name))
        found.append(Figures(own.epsilon, own.part * line.share, own.charged, own.endless))
    return Figures.add(found)


def find_part(account: Account, sums: dict[str, LineSum]) -> Fraction:
    """Return the part of the budget that lines with these sums take."""
    parts = (
        line.share * (1 if line.is_used else line.meter.find_part(_charge(account, line.name, total).amounts))
        for line in list_metered(account)
        if (total := sums.get(line.name)) is not None
    )
    return sum(parts, Fraction(0))


def _charge(account: Account, line: str, total: LineSum) -> Charge:
    return read_charge(total, account.coordinates(line))


def name_noise(loss: str) -> str:
    """Say what kind of noise a loss is of."""
    if "Gaussian" in loss:
        return "Gaussian noise"
    if loss.startswith("rho"):
        return "noise with a concentrated loss"
    if loss.startswith("epsilon") and "delta" not in loss:
        return "noise with a pure loss, as Laplace's"
    return "other noise"
