"""How often an engine failed for whom: whatever makes it fail may be in the data, so that is limited.

No question of the language makes an engine fail. Should one be found, each failure would tell one bit that no
noise covers: after a few of them in a day nothing more of hers reaches the engine, in later lives neither.
"""

from __future__ import annotations

import json
import threading
import time

from discreet.core.errors import Refused
from discreet.curator.ledger.ledger import Ledger

MOST = 3
"""The most failures of an engine that one analyst sees in a day."""

_DAY = 86_400


class Failures:
    """Counts failures by analyst, in the ledger's book.

    Parameters
    ----------
    ledger
        Where they are noted.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._lock = ledger, threading.Lock()
        self._journal = ledger.journal("failures")
        self._times: dict[str, list[int]] = {}
        self._known = 0
        self._read()

    def note(self, analyst: str) -> None:
        """Note that the engine failed, before anybody is told."""
        self._journal.append(json.dumps({"analyst": analyst, "time": int(time.time())}).encode())

    def require_few(self, analyst: str) -> None:
        """Refuse whoever has seen it fail too often in a day, in whatever process.

        A clock that was put back counts more of them, never fewer.
        """
        self._ledger.refresh()  # other processes may have noted some
        since = time.time() - _DAY
        with self._lock:
            self._read()
            many = sum(at > since for at in self._times.get(analyst, ())) >= MOST
        if many:
            raise Refused(
                what="question",
                why=f"the engine failed at {MOST} of your questions within a day",
                way_out="Ask what is answered at no cost, or wait a day. Tell the owner, who can mend it",
            )

    def _read(self) -> None:
        """Take the failures that were noted since, by other processes too."""
        if self._journal.count == self._known:
            return
        notes = self._journal.read()
        for note in notes[self._known :]:
            said = json.loads(note)
            self._times.setdefault(said["analyst"], []).append(said["time"])
        self._known = len(notes)
