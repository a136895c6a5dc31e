"""What a file held when it was read: whether it is still the same, without keeping any of it."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path

from discreet.core.rng import SYSTEM


@dataclass(frozen=True, slots=True)
class FileMark:
    """What a file is recognised by.

    Attributes
    ----------
    size, changed
        Its bytes, and when it was written last, in nanoseconds: where both are as before, it is not read.
    key, digest
        The digest of its contents under a key of its own, so that two marks tell nothing of each other. Who
        has both, and knows all of the file but one row, can try that row: keep it as the data are kept.
    """

    size: int
    changed: int
    key: bytes
    digest: bytes

    @classmethod
    def of(cls, path: Path) -> FileMark:
        """Return the mark of a file, which is read for it."""
        size, changed = look_at(path)
        key = SYSTEM.random_bytes(32)
        return cls(size, changed, key, _read_digest(path, key))

    def is_of(self, path: Path) -> bool:
        """Tell whether a file is the same still; it is read where its size or its time is another."""
        size, changed = look_at(path)
        if size != self.size:
            return False
        return changed == self.changed or hmac.compare_digest(_read_digest(path, self.key), self.digest)


def look_at(path: Path) -> tuple[int, int]:
    """Return the size of a file and when it was written last."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _read_digest(path: Path, key: bytes) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(key=key, digest_size=32)).digest()
