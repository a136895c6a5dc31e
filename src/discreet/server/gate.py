"""The gate: what every request passes before anything is read from it, and every reply before it leaves.

Bodies are taken whole, within a size and a time, before any of them is looked at. Replies leave at public
ticks, errors included, so that how long the work took, and who else asked, is not seen from outside. Those
that are about no data set wait too: how late one comes would tell how much the server has to do.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from discreet.curator.ledger.books.crashes import reach
from discreet.curator.ticks import Ticks
from discreet.server.fair_queue import Turns
from discreet.server.log import note
from discreet.server.problems import (
    INTERNAL,
    NO_KEY,
    NOT_JSON,
    TOO_LARGE,
    TOO_OFTEN,
    TOO_SLOW,
    TWICE,
    Problem,
)
from discreet.server.strict_json import write_json

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

BODY = 1 << 16
"""The most bytes of a body."""

COUNTS_BODY = 1 << 22
"""The most bytes of a body that asks for many counts at once. Larger ones than others need a key."""

LARGE = 4
"""The most such bodies of one name that are taken at once."""

LARGE_AT_ONCE = 4
"""The most of them that are read and worked on at once, whoever sends them: each may take 100 MB then."""

SECONDS = 10.0
"""How long a body may take to arrive."""

ONCE = frozenset(
    {b"authorization", b"content-encoding", b"content-length", b"content-type", b"idempotency-key"}
)
"""Headers that are there once at most: of two, one who reads would believe the first and another the last."""

HEADERS = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""What every reply carries."""


class Gate:
    """Lets requests in whole, and replies out at ticks.

    Parameters
    ----------
    app
        What answers.
    ticks
        When replies leave.
    find_name
        Returns whose key somebody sends; None where it opens nothing.
    """

    def __init__(
        self, app: App, *, ticks: Ticks, find_name: Callable[[str], str | None] = lambda _: None
    ) -> None:
        self._app, self._ticks, self._find_name = app, ticks, find_name
        self._large: Counter[str] = Counter()
        self._turns = Turns(LARGE_AT_ONCE)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = _with_headers(send)
        is_ticked = bool(self._ticks.every)
        name = None
        try:
            _require_once(scope["headers"])
            name = self._find_large(scope)
            body = await _read_body(scope, receive, BODY if name is None else COUNTS_BODY)
            if body is None:  # whoever asked went away
                return
            if is_ticked:
                await _sleep(self._ticks.find_work())
                send = self._leave_at_ticks(send)
            if name is None:
                await _answer(self._app, scope, replay(body, receive), send)
            else:
                await self._answer_large(name, scope, replay(body, receive), send)
        except Problem as problem:
            if is_ticked:
                await _sleep(self._ticks.find_leave())
            await send_problem(send, problem)
        finally:
            if name is not None:
                self._large[name] -= 1

    async def _answer_large(self, name: str, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a body that takes room when it is its turn, which is over before the reply is sent.

        A reply waits for its tick, and for whoever reads it as slowly as she likes: others shall not.
        """
        said: list[Message] = []

        async def keep(message: Message) -> None:
            said.append(message)

        async with self._turns.take(name):
            await _answer(self._app, scope, receive, keep)
        for message in said:
            await send(message)

    def _find_large(self, scope: Message) -> str | None:
        """Return who sends a body that may be larger than others, and count it; None where it may not be.

        What is read is kept, and what is kept is worked on: so nobody sends many of them, nor without a key.
        """
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        is_small = length.isdigit() and len(length) <= 12 and int(length) <= BODY
        if scope["method"] != "POST" or not scope["path"].endswith("/counts") or is_small:
            return None
        said = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        name = self._find_name(said[2].strip()) if said[0].lower() == "bearer" else None
        if name is None:
            raise NO_KEY
        if self._large[name] >= LARGE:
            raise TOO_OFTEN
        self._large[name] += 1
        return name

    def _leave_at_ticks(self, send: Send) -> Send:
        due = self._ticks.find_leave()

        async def leave(message: Message) -> None:
            if message["type"] == "http.response.start":
                at = self._ticks.find_leave()
                if at > due + self._ticks.every / 2:  # for the owner: her ticks are too short
                    note("overran", ticks=round((at - due) / self._ticks.every))
                await _sleep(at)
            await send(message)

        return leave


async def _answer(app: App, scope: Message, receive: Receive, send: Send) -> None:
    """Let the application answer. What nobody foresaw is one constant reply, like any other."""
    has_begun = False

    async def begin(message: Message) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    try:
        await app(scope, receive, begin)
    except Exception as error:  # its words may quote data, and are nowhere written down
        note("failed", error=type(error).__name__)
        if not has_begun:
            await send_problem(send, INTERNAL)


async def send_problem(send: Send, problem: Problem) -> None:
    """Send a reply other than an answer."""
    body = write_json(problem.body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if problem.status in (400, 401, 408, 413, 429):  # the rest of the body was not read
        headers.append((b"connection", b"close"))
    headers += [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _require_once(headers: list[tuple[bytes, bytes]]) -> None:
    listed = [name for name, _ in headers if name in ONCE]
    if len(set(listed)) < len(listed):
        raise TWICE


async def _read_body(scope: Message, receive: Receive, most: int) -> bytes | None:
    """Return the whole body; None where the connection was closed."""
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or len(length) > 12 or int(length) > most:
        raise TOO_LARGE
    if scope["method"] in ("POST", "PUT", "PATCH"):
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        allowed = (b"application/json", b"application/x-www-form-urlencoded")
        is_form = kind == allowed[1] and not scope["path"].startswith("/v1/")
        if headers.get(b"content-encoding", b"identity") != b"identity" or not (
            kind == allowed[0] or is_form
        ):
            raise NOT_JSON
    try:
        async with asyncio.timeout(SECONDS):
            return await _read_parts(receive, most)
    except TimeoutError:
        raise TOO_SLOW from None


async def _read_parts(receive: Receive, most: int) -> bytes | None:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise TOO_LARGE
        if not message.get("more_body"):
            return b"".join(parts)


def replay(body: bytes, receive: Receive) -> Receive:
    """Give the body once, then whatever the connection says."""
    given = False

    async def give() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def _with_headers(send: Send) -> Send:
    async def carry(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in HEADERS if pair[0] not in known)]
            reach("before sending")
        else:
            reach("while sending")
        await send(message)

    return carry


async def _sleep(until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(left)
