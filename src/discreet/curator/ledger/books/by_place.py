"""Entries and keys of a book with a disk: what is over is read there by its place, not kept in memory.

In memory are the entries that go on, and some of the last ones that ended. A row that is read again is
checked once more against the row before it, since the disk had time to change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

from discreet.core.errors import InternalError
from discreet.curator.ledger.books.chain import BookRow
from discreet.curator.ledger.books.places import EntryPlace, Places
from discreet.curator.ledger.entry_records import EntryRecord
from discreet.curator.ledger.events import Given, Moved, Opened, read_reserved
from discreet.curator.ledger.state import Account

RECENT = 1024
"""How many that are over are kept in memory: more than one transaction holds, so others can be read."""

_AT_ONCE = 200
"""How many entries are read before others may go on."""

Read = Callable[[Iterable[int]], Mapping[int, BookRow]]
"""Returns the rows at some places, each checked against the one before it."""

Value = TypeVar("Value")
Look = Callable[[Callable[[], list[EntryRecord]]], list[EntryRecord]]


class _Recent(dict[object, Value]):
    """The last values, in the order in which they came."""

    def keep(self, name: object, value: Value) -> None:
        self.pop(name, None)
        self[name] = value
        if len(self) > RECENT:
            del self[next(iter(self))]


class PlacedRecords:
    """Entries by number: as `EntryRecords`.

    Parameters
    ----------
    ledger
        Whose they are.
    places, read, look
        Where they are, how they are read there, and how somebody looks who is not looking yet.
    """

    def __init__(self, ledger: str, places: Places, read: Read, look: Look) -> None:
        self._ledger, self._places, self._read, self._look = ledger, places, read, look
        self._count = 0
        self._going: dict[int, EntryRecord] = {}
        self._over: _Recent[EntryRecord] = _Recent()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> EntryRecord:
        found = self._going.get(number) or self._over.get(number)
        return self._read_entry(number) if found is None else found

    def __setitem__(self, number: int, record: EntryRecord) -> None:
        self._going[number] = record
        self._over.pop(number, None)
        self._count = max(self._count, number + 1)

    def note_row(self, number: int, place: int, digest: bytes) -> None:
        """Note a row: as `EntryRecords.note_row`. An entry that is over goes from memory some time later."""
        record = self[number]
        record.note_row(place, digest)
        if record.is_final:
            place_of = EntryPlace(record.first, place)
            self._places.note_entry(self._ledger, number, record.analyst, place_of)
            self._over.keep(number, record)
            self._going.pop(number, None)

    def list_now(self, analyst: str | None = None, last: int | None = None) -> Sequence[EntryRecord]:
        """List them: as `EntryRecords.list_now`. What is over is read when somebody takes it."""
        numbers: Sequence[int] = range(self._count)
        if analyst is not None:
            going = (number for number, one in self._going.items() if one.analyst == analyst)
            numbers = sorted({*self._places.list_of(self._ledger, analyst, last), *going})
        if last is not None:
            numbers = numbers[max(0, len(numbers) - last) :]
        return _Listed(self, numbers, dict(self._going), self._look)

    def _read_entry(self, number: int) -> EntryRecord:
        place = self._places.find_entry(self._ledger, number)
        if place is None:
            raise KeyError(number)
        rows = self._read(place)
        moved = rows[place.last].event
        if not isinstance(moved, Moved):
            raise InternalError(f"row {place.last} ends no entry")
        record = EntryRecord.of(read_reserved(rows[place.first].body)).move(moved.state, moved.answer)
        record.first, record.row = place.first, (place.last, rows[place.last].digest)
        return record  # and not kept: what was written last must not go for it, it may not be on the disk yet


class _Listed(Sequence[EntryRecord]):
    """Entries as they were at one moment: those that went on then are kept, others never change."""

    def __init__(
        self, records: PlacedRecords, numbers: Sequence[int], going: dict[int, EntryRecord], look: Look
    ) -> None:
        self._records, self._numbers, self._going, self._look = records, numbers, going, look

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> EntryRecord: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[EntryRecord]: ...

    def __getitem__(self, place: int | slice) -> EntryRecord | Sequence[EntryRecord]:
        if isinstance(place, slice):
            return _Listed(self._records, self._numbers[place], self._going, self._look)
        return self._find([self._numbers[place]])[0]

    def __iter__(self) -> Iterator[EntryRecord]:
        for start in range(0, len(self._numbers), _AT_ONCE):
            yield from self._find(self._numbers[start : start + _AT_ONCE])

    def _find(self, numbers: Sequence[int]) -> list[EntryRecord]:
        return self._look(lambda: [self._going.get(one) or self._records[one] for one in numbers])


class PlacedNumbers:
    """Entries by a name of theirs: as `ByName`.

    Parameters
    ----------
    places
        Where they are.
    what
        Whose names they are, and what kind of names.
    """

    def __init__(self, places: Places, *what: str) -> None:
        self._places, self._what = places, what

    def get(self, name: str | tuple[str, str]) -> int | None:
        """Return the number of an entry: as `ByName.get`."""
        return self._places.find_name(self._full(name))

    def __setitem__(self, name: str | tuple[str, str], number: int) -> None:
        self._places.note_name(self._full(name), number)

    def _full(self, name: str | tuple[str, str]) -> tuple[str, ...]:
        return (*self._what, name) if isinstance(name, str) else (*self._what, *name)


class PlacedReplies:
    """Replies that were not charged, by analyst and key: as `ByName`.

    Parameters
    ----------
    ledger, places, read
        As in `PlacedRecords`.
    """

    def __init__(self, ledger: str, places: Places, read: Read) -> None:
        self._places, self._read = PlacedNumbers(places, ledger, "given"), read
        self._recent: _Recent[Given] = _Recent()

    def get(self, name: tuple[str, str]) -> Given | None:
        """Return how a reply was given: as `ByName.get`."""
        found = self._recent.get(name)
        place = self._places.get(name) if found is None else None
        if place is None:
            return found
        event = self._read((place,))[place].event
        if not isinstance(event, Given):
            raise InternalError(f"row {place} gives no reply")
        return event

    def __setitem__(self, name: tuple[str, str], event: Given) -> None:
        self._recent.keep(name, event)

    def note_row(self, event: Given, place: int) -> None:
        """Note the row of a reply."""
        self._places[event.analyst, event.key] = place


def make_placed_account(opened: Opened, places: Places, read: Read, look: Look) -> Account:
    """Return an account whose entries are in a book with a disk."""
    name = opened.name
    return Account(
        opened,
        records=PlacedRecords(name, places, read, look),
        keys=PlacedNumbers(places, name, "key"),
        given=PlacedReplies(name, places, read),
        bought=PlacedNumbers(places, name, "bought"),
    )
