"""What can happen in a book: rows that follow each other and could not have been written are not believed.

Digests show that nothing before a row was changed. Whoever can add rows behind the last one could otherwise
give back what was spent, open a budget anew or charge less than nothing, in a chain without a fault.
"""

from __future__ import annotations

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.entries import State
from discreet.curator.ledger.entry_records import EntryRecord
from discreet.curator.ledger.events import RECOVER, Began, Capped, Event, Given, Kept, Moved, Opened, Reserved
from discreet.curator.ledger.state import BookState


def require_possible(event: Event, state: BookState) -> None:
    """Raise unless an event may come next.

    Raises
    ------
    LedgerRefused
        Where no process of ours would have written it.
    """
    match event:
        case Began():
            possible = not state.book
        case Opened(kind=kind, name=name):
            possible = (kind, name) not in state.accounts
        case Capped(ledger=ledger, line=line):
            possible = line not in state.data(ledger).lines
        case Reserved(ledger=ledger, number=number):
            possible = number == len(state.data(ledger).records)
        case Moved(ledger=ledger, number=number, state=after):
            records = state.data(ledger).records
            possible = 0 <= number < len(records) and can_move(records[number], after)
        case Kept(ledger=ledger, journal=journal, number=number):
            possible = number == len(state.data(ledger).journals.get(journal, ()))
        case Given(ledger=ledger, analyst=analyst, key=key):
            possible = state.data(ledger).given.get((analyst, key)) is None
        case _:
            possible = True
    if not possible:
        raise refuse_impossible()


def can_move(record: EntryRecord, after: State) -> bool:
    """Tell whether an entry may have another state: what is over stays so, and what was begun is charged."""
    return not record.is_final and (after != "voided" or record.state == "reserved")


def refuse_impossible() -> LedgerRefused:
    """Return the refusal of a row that could not have come where it is."""
    return LedgerRefused(why="a row of it says what cannot have happened then", way_out=RECOVER)
