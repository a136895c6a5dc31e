"""People who are in several data sets: one budget for all that is ever said about them."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.filters import Filter, make_filter
from discreet.core import checks
from discreet.core.errors import LedgerRefused
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import Exact, checked, public
from discreet.curator.ledger.book import Book
from discreet.curator.ledger.events import ANY_LOST, PEOPLE, WHOLE, Event, Opened
from discreet.curator.ledger.lines import Line, find_coordinates

_WAY_OUT = "or ask the owner: these people are in other data sets too, and all of them share this budget"


@checked
class People:
    """A budget for the same people in several data sets of one book.

    Parameters
    ----------
    name
        Who they are, such as "residents of the county".
    epsilon, delta
        What everything that is ever answered from any of these data sets costs one of them, together.
    """

    name: str = public(checks.text)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)


class PeopleLine:
    """The line of some people in a book."""

    def __init__(self, people: People, book: Book, neighbours: Neighbours) -> None:
        self._book, self._people = book, people
        self._filter: Filter = make_filter(epsilon=people.epsilon, delta=people.delta, neighbours=neighbours)
        wanted = Opened(
            kind=PEOPLE,
            name=people.name,
            epsilon=people.epsilon,
            delta=people.delta,
            neighbours=repr(neighbours),
            coordinates=find_coordinates(self._filter),
        )
        book.write(lambda: open_once(book, wanted))

    def find(self) -> Line:
        """Return the line, with what all data sets have spent on it."""
        name = self._people.name
        account = self._book.state.accounts[PEOPLE, name]
        return Line(account, WHOLE, f"the budget of {name}", _WAY_OUT, self._filter, Fraction(1))


def open_once(book: Book, wanted: Opened) -> Event | None:
    """Open a budget in a book unless it is there; then it must be the same one."""
    known = book.state.accounts.get((wanted.kind, wanted.name))
    if (wanted.kind, wanted.name) in book.state.lost:
        raise LedgerRefused(
            why=f"what {wanted.name} had spent was lost when this book was damaged",
            way_out="Nothing more can be answered from it on this book. Another budget needs another name",
        )
    if known is None and (ANY_LOST.kind, ANY_LOST.name) in book.state.lost:
        raise LedgerRefused(
            why=f"this book was recovered without its anchor: {wanted.name} may have been in it, and lost",
            way_out="Open what is new in another book",
        )
    if known is None:
        return wanted
    for name in ("epsilon", "delta", "neighbours", "apart", "people", "pace"):
        was, now = getattr(known.opened, name), getattr(wanted, name)
        if was != now:
            raise LedgerRefused(
                why=f"{wanted.name} was opened with {name} {_say(was)}, and now with {_say(now)}",
                way_out="Open it as it was: a budget is set once. Another one needs another name",
            )
    return None


def _say(value: object) -> str:
    if isinstance(value, tuple):  # a pace
        return f"{value[0]} of it in {value[1]} seconds"
    return f"{float(value):.6g}" if isinstance(value, Fraction) else str(value)
