"""The anchor: a file apart from the book that remembers how far the book was, and what was spent.

A book that was put back to an earlier state is sound in itself. The anchor tells: it holds the last row that
was ever acknowledged, with the sums that were true then, and it is written before anybody may touch data for
that row. Keep it on another disk than the book if you can; whoever can put back both leaves no trace here,
but analysts hold receipts.
"""

from __future__ import annotations

import errno
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
    """

    book: str
    inode: int
    head: Head
    sums: Mapping[tuple[str, str, str], LineCharge]


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
    fresh = path.with_name(f"{path.name}.new")
    first = {"book": state.book, "inode": state.inode}
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _append(handle, _line(first) + _line(_write(state.head, state.sums.values())))
    finally:
        os.close(handle)
    os.replace(fresh, path)
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

    A line that a crash tore is left out: nobody was told of it.

    Raises
    ------
    LedgerRefused
        When it is damaged.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    noted = sorted(filter(None, map(_read, lines[1:])), key=lambda one: one[0].place)
    try:
        first = json.loads(lines[0])
        book, inode, head = str(first["book"]), int(first["inode"]), noted[-1][0]
    except (IndexError, KeyError, TypeError, ValueError):
        raise LedgerRefused(why=f"the anchor {path.name} is damaged", way_out=RECOVER) from None
    sums = {(one.kind, one.name, one.line): one for _, listed in noted for one in listed}
    return AnchorState(book, inode, head, sums)


def _read(line: bytes) -> tuple[Head, list[LineCharge]] | None:
    try:
        noted = json.loads(line)
        head = Head(int(noted["place"]), bytes.fromhex(noted["digest"]))
        sums = [
            LineCharge(kind, name, on, tuple(None if one is None else int(one) for one in amounts))
            for kind, name, on, amounts in noted["sums"]
        ]
    except (KeyError, TypeError, ValueError):
        return None
    return head, sums


def _write(head: Head, sums: Iterable[LineCharge]) -> dict[str, Any]:
    written = [
        [one.kind, one.name, one.line, [None if n is None else str(n) for n in one.amounts]] for one in sums
    ]
    return {"place": head.place, "digest": head.digest.hex(), "sums": written}


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
