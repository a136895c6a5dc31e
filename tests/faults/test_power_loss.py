"""A loss of power, simulated: what was not synced is lost, torn or kept, as chance has it.

The file system underneath SQLite is one of our own. A write is durable once its file is synced; the removal
of a file once any file is synced later, or if it was asked to be. What was acknowledged before the power went
must be there when it is back.
"""

import random  # noqa: TID251 - which writes a crash loses, no noise
from collections import defaultdict

import apsw
import pytest

from discreet.curator.ledger.books import sqlite
from discreet.curator.ledger.books.chain import Head
from discreet.curator.ledger.books.sqlite import SQLiteStore
from discreet.curator.ledger.events import Used

SECTOR = 512


class Disk:
    """What is on the disk, and what waits to get there."""

    def __init__(self):
        self.durable, self.waiting, self.removed = {}, defaultdict(list), set()

    def sync(self, name):
        for other in self.removed - {name}:
            self.durable.pop(other, None)
        self.removed.clear()
        for write in self.waiting.pop(name, []):
            put(self.durable.setdefault(name, bytearray()), *write)

    def lose_power(self, chance):
        """Return the files as they are found afterwards."""
        found = {}
        for name, data in self.durable.items():
            if name in self.removed and chance.random() < 0.5:
                continue
            kept = bytearray(data)
            for offset, written in self.waiting.get(name, []):
                luck = chance.random()
                if luck < 0.5:
                    continue
                torn = luck < 0.7 and written is not None
                end = SECTOR * chance.randrange(len(written) // SECTOR + 1) if torn else None
                put(kept, offset, written[:end] if torn else written)
            found[name] = bytes(kept)
        return found


def put(data, offset, written):
    if written is None:
        del data[offset:]
        return
    data.extend(bytes(max(0, offset - len(data))))
    data[offset : offset + len(written)] = written


class System(apsw.VFS):
    def __init__(self, disk):
        self.disk = disk
        super().__init__("losing power", "")

    def xOpen(self, name, flags):
        return File(self.disk, name, flags)

    def xDelete(self, name, sync):
        self.disk.removed.add(name)
        if sync:
            for gone in self.disk.removed:
                self.disk.durable.pop(gone, None)
            self.disk.removed.clear()
        super().xDelete(name, False)


class File(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        self.disk = disk
        self.name = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        super().__init__("", name, flags)
        if self.name in disk.removed:
            disk.removed.discard(self.name)
            disk.durable.pop(self.name, None)
        if self.name:
            disk.durable.setdefault(self.name, bytearray())

    def xWrite(self, data, offset):
        self.disk.waiting[self.name].append((offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size):
        self.disk.waiting[self.name].append((size, None))
        super().xTruncate(size)

    def xSync(self, flags):
        self.disk.sync(self.name)


class Connection(apsw.Connection):
    """Takes the settings that a test wants in place of those that are asked for."""

    override = ""

    def execute(self, statement, *values):
        result = super().execute(statement, *values)
        if statement.startswith("PRAGMA synchronous =") and self.override:
            super().execute(f"PRAGMA synchronous = {self.override}")
        return result


def lose_power(tmp_path, monkeypatch, trial, mode, synchronous=None, *, override=""):
    """Write rows until the power goes; return whether anything acknowledged is missing afterwards."""
    chance = random.Random(trial)
    disk = Disk()
    system = System(disk)
    path = tmp_path / f"trial{trial}.db"

    def connect(name, **_):
        connection = Connection(str(name), vfs="losing power")
        connection.override = override
        if mode == "wal":  # this file system has no memory that processes share
            connection.execute("PRAGMA locking_mode = exclusive")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite.sqlite3, "connect", connect)
        wanted = int(override) if override else synchronous
        patch.setattr(sqlite, "choose_settings", lambda version: (mode, wanted))
        store = SQLiteStore(path)
        head, rows = Head(), []
        for _ in range(chance.randrange(1, 40)):
            row = head.write(Used("visits", "x" * chance.randrange(2000), "unknown", 0))
            with store.change() as change:
                change.append([row], [])
            rows.append(row)
            head = Head(row.place, row.digest)
        if chance.random() < 0.5:  # the power goes in the middle of the next change
            store._connection.execute("BEGIN IMMEDIATE")
            store.append([head.write(Used("visits", "y" * 5000, "unknown", 0))], [])
        found = disk.lose_power(chance)
        store.close()
    system.unregister()
    after = tmp_path / f"after{trial}"
    after.mkdir()
    for name, data in found.items():
        (after / name.rsplit("/", 1)[1]).write_bytes(data)
    store = SQLiteStore(after / path.name)
    kept = list(store.read_after(0))
    store.close()
    for _ in Head().follow(kept):
        pass
    return len(kept) < len(rows)


@pytest.mark.parametrize(("mode", "synchronous"), [("delete", 3), ("wal", 2)])
def test_our_settings_lose_nothing(tmp_path, monkeypatch, mode, synchronous):
    assert not any(lose_power(tmp_path, monkeypatch, trial, mode, synchronous) for trial in range(100))


@pytest.mark.parametrize(("mode", "override"), [("wal", "1"), ("delete", "2")])
def test_the_usual_settings_lose_charges(tmp_path, monkeypatch, mode, override):
    """The harness has teeth: what the web advises, and Python's default, both fail here."""
    lost = [lose_power(tmp_path, monkeypatch, trial, mode, override=override) for trial in range(40)]
    assert any(lost)


@pytest.mark.soak
@pytest.mark.parametrize(("mode", "synchronous"), [("delete", 3), ("wal", 2)])
def test_our_settings_lose_nothing_in_many_trials(tmp_path, monkeypatch, mode, synchronous):
    assert not any(lose_power(tmp_path, monkeypatch, trial, mode, synchronous) for trial in range(1000))
