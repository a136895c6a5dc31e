"""The anchor: a file apart from the book that remembers how far the book was, and what was spent.

A book that was put back to an earlier state is sound in itself. The anchor tells: it holds the last row that
was ever acknowledged, with the sums that were true then, and it is written before anybody may touch data for
that row. Keep it on another disk than the book if you can; whoever can put back both leaves no trace here,
but analysts hold receipts.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.books.chain import Head
from discreet.curator.ledger.books.crashes import reach
from discreet.curator.ledger.events import RECOVER, LineCharge


@dataclass(frozen=True, slots=True)
class AnchorState:
    """What an anchor says.

    Attributes
    ----------
    book, inode
        The book it belongs to, and the file that held it.
    head
        The last row that was acknowledged.
    sums
        What every line had spent then.
    is_whole
        Whether no line of it was damaged: otherwise some of the sums may be those of an earlier moment.
    """

    book: str
    inode: int
    head: Head
    sums: Mapping[tuple[str, str, str], LineCharge]
    is_whole: bool = True


class Anchor:
    """Appends to an anchor that is there."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def note(self, head: Head, sums: Iterable[LineCharge]) -> None:
        """Note how far the book is, and what the lines that changed have spent. Durable on return."""
        # A line of its own even where a crash tore the one before it.
        data = b"\n" + _line(_write(head, sums))
        reach("before anchor")
        _append(self._handle, data)
        reach("after anchor")

    def close(self) -> None:
        """Give the file back."""
        os.close(self._handle)


def write_anchor(path: Path, state: AnchorState) -> None:
    """Write an anchor anew, whole: after a crash there is the old one or this one."""
    path = path.resolve()  # a link stays one: it may lead to another disk
    fresh = path.with_name(f"{path.name}.new")
    first = {"book": state.book, "inode": state.inode}
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _append(handle, _line(first) + _line(_write(state.head, state.sums.values())))
    finally:
        os.close(handle)
    reach("before new anchor")
    os.replace(fresh, path)
    reach("after new anchor")
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _append(handle: int, data: bytes) -> None:
    # On a full disk a part may be written without an error, and what is missing would count as unspent.
    if os.write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, "the anchor took only a part of what was written")
    os.fsync(handle)


def read_anchor(path: Path) -> AnchorState | None:
    """Return what an anchor says; None where there is none.

    A line that a crash tore is left out: nobody was told of it. So is one that the disk changed, where a
    later one says how far the book was.

    Raises
    ------
    LedgerRefused
        When it is damaged.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    try:
        read = [one for one in map(_read_line, lines) if one is not _TORN]
        first, *noted = read
        if first is None or not noted or noted[-1] is None:
            raise ValueError
        told = [_read(one) for one in noted if one is not None]
        book, inode = str(first["book"]), int(first["inode"])
    except (KeyError, TypeError, ValueError):
        raise LedgerRefused(why=f"the anchor {path.name} is damaged", way_out=RECOVER) from None
    told.sort(key=lambda one: one[0].place)  # those of several processes
    sums = {(one.kind, one.name, one.line): one for _, listed in told for one in listed}
    return AnchorState(book, inode, told[-1][0], sums, is_whole=None not in noted)


def refuse_unreadable(path: Path, problem: OSError) -> LedgerRefused:
    """Return the refusal of an anchor that the machine does not let us at."""
    return LedgerRefused(
        why=f"its anchor {path.name} cannot be read or written ({problem.strerror})",
        way_out="Check the path of the anchor: a file, on a disk that has room",
    )


_END = b"\t"
"""What a line ends with; no JSON of ours holds it."""

_TORN: dict[str, Any] = {}


def _read_line(line: bytes) -> dict[str, Any] | None:
    """Return what a line says; `_TORN` where a crash cut it short, None where the disk changed it.

    A line that was cut short lacks its end and is shorter than it says; one flipped bit cannot do both.
    """
    if not line:
        return _TORN
    if line.startswith(b"{"):  # from before lines had a checksum
        try:
            return dict(json.loads(line))
        except ValueError:
            return _TORN
    length, _, rest = line.partition(b" ")
    body, digest, end = rest[:-_MORE], rest[-_MORE:-1], rest[-1:]
    if not length.isdigit() or (end != _END and len(body) < int(length)):
        return _TORN if end != _END else None
    if end != _END or int(length) != len(body) or digest != b" " + _find_checksum(body):
        return None
    return dict(json.loads(body))


def _read(noted: dict[str, Any]) -> tuple[Head, list[LineCharge]]:
    head = Head(int(noted["place"]), bytes.fromhex(noted["digest"]))
    return head, [
        LineCharge(kind, name, on, tuple(None if one is None else int(one) for one in amounts))
        for kind, name, on, amounts in noted["sums"]
    ]


def _write(head: Head, sums: Iterable[LineCharge]) -> dict[str, Any]:
    written = [
        [one.kind, one.name, one.line, [None if n is None else str(n) for n in one.amounts]] for one in sums
    ]
    return {"place": head.place, "digest": head.digest.hex(), "sums": written}


def _line(value: dict[str, Any]) -> bytes:
    """Return a line that tells whether it is whole, and as it was written."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return b"%d %b %b%b\n" % (len(body), body, _find_checksum(body), _END)


def _find_checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:_DIGITS].encode()


_DIGITS = 16
_MORE = _DIGITS + 2
"""What comes behind the body: a blank, the checksum and the end."""
