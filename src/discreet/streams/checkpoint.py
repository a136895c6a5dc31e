"""What is left of an open counter when its process ends: enough to go on. It is as private as the data.

A checkpoint of an ordinary counter holds exact sums, and who was counted: it is as private as the stream, and
kept where that is kept. A conversation ends when it is written down, and a checkpoint is read once: two
conversations that go on from the same place publish the blocks that were open there twice, with noises of
their own, and each of them costs the whole guarantee. In one process that is refused; a file is taken away
by whoever reads it, and who copies it pays again, like whoever copies a ledger.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core.errors import ConversationClosed, InvalidParameter
from discreet.core.rng import SYSTEM
from discreet.core.sensitive import Sensitive

_FORMAT = 3
_READ: set[str] = set()
_LOCK = threading.Lock()
_WRITTEN = "this checkpoint was written to a file: read it from there, once"
_RESTORED = (
    "this checkpoint was restored before: its open blocks would be published twice. Open a new conversation; "
    "it costs again"
)


class StreamCheckpoint:
    """The state of one conversation, to be restored once. It prints nothing of it.

    Once it was restored or written it holds nothing any more: beside the state of the conversation that goes
    on, an earlier one would be a second look that nobody announced.
    """

    __slots__ = ("_is_written", "_process", "_text")

    def __init__(self, text: str) -> None:
        self._text: Sensitive[str] | None = Sensitive(text)
        self._is_written, self._process = False, os.getpid()

    @classmethod
    def of(cls, mechanism: object, parts: dict[str, Any]) -> StreamCheckpoint:
        """Write down the parts of a conversation of a mechanism, under a number of its own."""
        number = f"{SYSTEM.bits(128):032x}"
        whole = {"format": _FORMAT, "number": number, "mechanism": write_exactly(mechanism), "parts": parts}
        return cls(json.dumps({**whole, "digest": _digest(whole)}, sort_keys=True))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file that its owner alone may read. It must not exist, and holds private sums.

        From then on the file is the checkpoint: this one is neither restored nor written again.

        Raises
        ------
        ConversationClosed
            Where it was written or restored before.
        """
        self._require_here()
        with _LOCK:
            self._require_unused()
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            text, self._is_written = self._reveal(), True
            self.forget()  # before anything is in the file: whatever comes now, it goes on once
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def forget(self) -> None:
        """Hold nothing any more: it was restored, or is in a file."""
        self._text = None

    def _reveal(self) -> str:
        if self._text is None:
            raise ConversationClosed(_WRITTEN if self._is_written else _RESTORED)
        return self._text.reveal()

    def _require_here(self) -> None:
        """Refuse what a fork copied, which would go on in both. Before the lock, which may be left taken."""
        if os.getpid() != self._process:
            raise ConversationClosed(
                "this checkpoint was made in another process: write it to a file there, and read that here"
            )

    def _require_unused(self) -> None:
        if str(_require_checkpoint(self._reveal())["number"]) in _READ:
            raise ConversationClosed(_RESTORED)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> StreamCheckpoint:
        """Read a file and take it away, in this order of rights: nobody else can read it as well.

        Raises
        ------
        InvalidParameter
            Where there is no such file, or one that holds something else, which stays where it is.
        """
        mine = Path(f"{os.fspath(path)}.{SYSTEM.bits(64):016x}")
        try:
            _require_checkpoint(Path(path).read_bytes())
            Path(path).rename(mine)  # of two who read, one finds no file
        except FileNotFoundError:
            hint = "Whoever reads a checkpoint takes its file away, since it goes on once"
            raise InvalidParameter(name="path", rule="a file that is there", got="none", hint=hint) from None
        except OSError as problem:
            rule, said = "a file that can be read and taken away", str(problem.strerror)
            raise InvalidParameter(name="path", rule=rule, got=said) from None
        try:
            return cls(mine.read_text(encoding="utf-8"))
        finally:
            with contextlib.suppress(FileNotFoundError):
                mine.unlink()

    def take(self, mechanism: object) -> dict[str, Any]:
        """Return the parts, once.

        Raises
        ------
        InvalidParameter
            For a checkpoint of another mechanism, or what is none.
        ConversationClosed
            Where it was restored before.
        """
        whole = _require_checkpoint(self._reveal())
        number, made, parts = str(whole["number"]), whole["mechanism"], dict(whole["parts"])
        if made != write_exactly(mechanism):
            raise InvalidParameter(
                name="checkpoint",
                rule="one of a counter with the same parameters",
                got="one of another",
                hint="Build the counter as it was built when the checkpoint was made. This checkpoint is "
                "still good: restore it there, or write(path) it again",
            )
        self._require_here()
        with _LOCK:
            self._require_unused()
            _READ.add(number)
        return parts

    def _give_back(self) -> None:
        """Let it be restored after all: what took it could not go on, and answered nothing."""
        with _LOCK:
            _READ.discard(str(_require_checkpoint(self._reveal())["number"]))

    def __reduce_ex__(self, protocol: object) -> Any:
        raise InvalidParameter(
            name="checkpoint", rule="written by its write(path)", got="another way", hint="It is private"
        )

    def __repr__(self) -> str:
        return "StreamCheckpoint(...)"


def write_exactly(value: Any) -> str:
    """Return public parameters in full: printed ones are rounded, and two budgets would look the same."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [
            f"{each.name}={write_exactly(getattr(value, each.name))}" for each in dataclasses.fields(value)
        ]
        return f"{type(value).__qualname__}({', '.join(parts)})"
    if isinstance(value, tuple):
        return f"({', '.join(map(write_exactly, value))})"
    if isinstance(value, Fraction):  # in hexadecimal digits, of which any number may be printed
        return f"{value.numerator:x}/{value.denominator:x}"
    return f"{value:x}" if type(value) is int else repr(value)


def _digest(whole: dict[str, Any]) -> str:
    """Return what tells a damaged checkpoint from a whole one; whoever forges one can work it out too."""
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _require_checkpoint(text: str | bytes) -> dict[str, Any]:
    """Return what a checkpoint says; refuse what is none without quoting it."""
    try:
        whole = json.loads(text)
        known = whole["format"] == _FORMAT
        known = known and {"number", "mechanism"} <= set(whole) and isinstance(whole["parts"], dict)
        known = known and whole.pop("digest") == _digest(whole)
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known:
        raise InvalidParameter(name="checkpoint", rule="one that a counter wrote", got="something else")
    return dict(whole)
