"""A channel to a server: requests that may be sent again, and replies that are read within limits.

A request that changes anything carries a key of its own, so that sending it once more is answered with the
bytes of the first time. Whatever is sent again is the very same request.
"""

from __future__ import annotations

import http.client
import logging
import os
import re
import secrets
import ssl
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from discreet.client.address import ServerAddress
from discreet.client.json_text import read_json, write_json
from discreet.client.refusals import find_refusal
from discreet.core.errors import DiscreetError, InvalidParameter, ServerUnreachable

LARGEST = 1 << 26
"""The most bytes of a reply."""

TRIES = 200
"""How often a request is sent at most."""

LONGEST_WAIT = 2.0
"""The most seconds between two tries."""

AGAIN = (408, 429, 503)
"""What a server says when the same request may do later."""

_LOG = logging.getLogger("discreet.client")
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,255}")
_FIRST_WAIT, _PART = 0.1, 1 << 16


@dataclass(frozen=True, slots=True)
class _Said:
    """What came back."""

    status: int
    body: bytes
    wait: float


class _Secret:
    """A key that no traceback shows."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "<key>"


class _Line:
    """A connection of one thread, which is closed when the thread ends."""

    __slots__ = ("__weakref__", "connection", "process")

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection, self.process = connection, os.getpid()

    def __del__(self) -> None:
        self.connection.close()


class Channel:
    """Sends requests to one server with one key. Threads may share it: each has a connection of its own.

    Parameters
    ----------
    address, key
        Where to, and who asks.
    timeout
        Seconds that one reply may take.
    patience
        Seconds from the first failure of a request on in which it is sent again.
    authorities
        A file of certificates to believe in place of the system's.
    """

    def __init__(
        self,
        address: ServerAddress,
        key: str,
        *,
        timeout: float,
        patience: float,
        authorities: str | os.PathLike[str] | None = None,
    ) -> None:
        self.address = address
        self._key = _Secret(_read_key(key))
        self._timeout, self._patience = timeout, patience
        self._tls = _trust(authorities) if address.is_encrypted else None
        self._own = threading.local()
        self._open: weakref.WeakSet[_Line] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._is_closed = False

    def get(self, path: str) -> Any:
        """Return what an address says."""
        return self._ask("GET", path, None, {})

    def delete(self, path: str) -> Any:
        """Return what is said to the end of something."""
        return self._ask("DELETE", path, None, {})

    def post(self, path: str, said: Any, *, once: str | None = None) -> Any:
        """Return the reply to a request.

        Parameters
        ----------
        path, said
            Where to, and what.
        once
            A key under which it counts once, however often it is sent.
        """
        headers = {"Content-Type": "application/json"}
        if once is not None:
            headers["Idempotency-Key"] = once
        return self._ask("POST", path, write_json(said), headers, once=once)

    def close(self) -> None:
        """Close all connections; nothing can be sent any more."""
        with self._lock:
            self._is_closed = True
            lines = list(self._open)
        for line in lines:
            line.connection.close()

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
        *,
        once: str | None = None,
    ) -> Any:
        why = ""
        for _ in self._tries():
            try:
                said = self._send(method, path, body, headers)
            except ssl.SSLCertVerificationError:
                self._drop()
                raise ServerUnreachable(str(self.address), why="its certificate is not believed") from None
            except (OSError, http.client.HTTPException) as problem:
                self._drop()
                if isinstance(problem, ssl.SSLError) and problem.reason == "WRONG_VERSION_NUMBER":
                    raise ServerUnreachable(str(self.address), why="it does not speak https there") from None
                if not why and self._patience:
                    why = _name_failure(problem)
                    _LOG.warning(
                        "no reply from %s: %s; asking again for %g s", self.address, why, self._patience
                    )
                why = _name_failure(problem)
                continue
            if said.status == 200:
                return read_json(said.body)
            refusal = find_refusal(said.status, said.body)
            if said.status not in AGAIN:
                raise refusal
            why, self._own.wait = "", said.wait
        if why:
            raise ServerUnreachable(str(self.address), why=why, key=once)
        raise refusal

    def _tries(self) -> Iterator[None]:
        """Yield as often as a request may be sent, and wait in between."""
        self._own.wait, until, pause = 0.0, None, _FIRST_WAIT
        for number in range(TRIES):
            yield None
            now = time.monotonic()
            until = now + self._patience if until is None else until
            # Many clients that were cut off at once shall not come back at once.
            wait = max(self._own.wait, pause * (0.5 + secrets.randbelow(1000) / 1000))
            if number == TRIES - 1 or now + wait > until:
                return
            time.sleep(wait)
            self._own.wait, pause = 0.0, min(LONGEST_WAIT, 2 * pause)

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> _Said:
        connection = self._connect()
        until = time.monotonic() + self._timeout
        sent = {"Authorization": f"Bearer {self._key.text}", "Accept": "application/json", **headers}
        connection.request(method, self.address.prefix + path, body, sent)
        response = connection.getresponse()
        parts, size = [], 0
        while part := response.read1(_PART):
            parts.append(part)
            size += len(part)
            if size > LARGEST:
                self._drop()
                raise ServerUnreachable(str(self.address), why=f"its reply has more than {LARGEST} bytes")
            if time.monotonic() > until:
                raise TimeoutError
        if response.length:  # fewer bytes came than were announced
            raise http.client.IncompleteRead(b"", response.length)
        response.close()  # read to its end: the connection is free for the next request
        if response.will_close:
            self._drop()
        return _Said(response.status, b"".join(parts), _read_wait(response.headers.get("Retry-After")))

    def _connect(self) -> http.client.HTTPConnection:
        """Return this thread's connection. One of the process before a fork is not ours to speak on."""
        with self._lock:
            if self._is_closed:
                raise DiscreetError("this connection is closed: open another one with connect(...).")
        line: _Line | None = getattr(self._own, "line", None)
        if line is not None and line.process == os.getpid():
            return line.connection
        host, port = self.address.host, self.address.port
        if self._tls is None:
            connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
        line = self._own.line = _Line(connection)
        with self._lock:
            self._open.add(line)
        return connection

    def _drop(self) -> None:
        line: _Line | None = getattr(self._own, "line", None)
        self._own.line = None
        if line is not None:
            line.connection.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a connection cannot be copied or pickled: it holds a key")

    def __repr__(self) -> str:
        return f"<Channel to {self.address}>"


def _read_key(key: str) -> str:
    """Return a key that can stand in a header. What is wrong with it is not said: it is a secret."""
    text = key.strip() if type(key) is str else ""  # a file that was read whole ends in a new line
    if _KEY.fullmatch(text) is None:
        raise InvalidParameter(
            name="key",
            rule="the text that `discreet analysts add` prints",
            got="something else",
            hint="Of a file: key=open(path).read()",
        )
    return text


def _read_wait(said: str | None) -> float:
    """Return how many seconds a server asks to wait; dates are not read."""
    return float(said) if said is not None and said.isascii() and said.isdigit() and len(said) < 4 else 0.0


def _trust(authorities: str | os.PathLike[str] | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if authorities is None else os.fspath(authorities))
    except OSError:
        rule = "a file of certificates in PEM form"
        raise InvalidParameter(name="authorities", rule=rule, got="something else") from None


def _name_failure(problem: Exception) -> str:
    """Say why no reply came, in few words of our own."""
    if isinstance(problem, TimeoutError):
        return "it did not reply in time"
    if isinstance(problem, ConnectionRefusedError):
        return "nothing listens there"
    return "the connection broke"
