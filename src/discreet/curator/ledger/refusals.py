"""Why a ledger refuses a charge: the data are retired, somebody has asked enough, or a line has no room."""

from __future__ import annotations

from discreet.accounting.charges import Charge
from discreet.core.errors import BudgetExceeded, DiscreetError, Refused
from discreet.curator.amounts import Amounts
from discreet.curator.ledger.events import WHOLE
from discreet.curator.ledger.lines import Line
from discreet.curator.ledger.state import Account
from discreet.curator.limits import ENTRIES


def find_refusal(account: Account, lines: list[Line], charges: list[Charge]) -> DiscreetError | None:
    """Return why charges do not fit on lines; None where all do. Of several lines the widest refuses."""
    if account.retired:
        return refuse_retired()
    own = lines[0]  # of whoever asks; or of the people, for what is paid for beside the budget
    if own.name != WHOLE and own.sum.entries >= ENTRIES:
        return Refused(
            what="question",
            why=f"an analyst may buy at most {ENTRIES} answers",
            way_out="Ask what costs nothing, or the owner for another budget",
        )
    for line, charge in zip(reversed(lines), reversed(charges), strict=True):
        if not line.fits(charge):
            return BudgetExceeded(
                asked=str(charge),
                left=Amounts(line.left).there,
                budget=line.words,
                way_out=f"Ask cheaper questions, {line.way_out}",
            )
    return None


def refuse_retired() -> Refused:
    """Return why nothing is charged for retired data."""
    return Refused(
        what="question",
        why="the data set is retired, and nothing more is answered from it",
        way_out="Ask its owner for another data set",
    )
