"""A server on a port: what it binds, how long it waits for whom, what it leaves behind when it crashes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import importlib
import ipaddress
import math
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.core.errors import InvalidParameter
from discreet.server.gate import App
from discreet.server.open_datasets import OpenDatasets

CONNECTIONS = 1024
"""The most connections at once, and half of the files that the machine lets a process have open."""

FILES = 1 << 16
"""How many of these are asked for. A book that cannot open one any more stops."""

HEADER_SECONDS = 10.0
"""How long a connection may take to send the first line and headers of a request."""

HEADER_BYTES = 1 << 16
"""The most bytes of them that are kept before they are complete."""

UNREAD_SECONDS, UNREAD_BYTES = 10.0, 1 << 16
"""In so many seconds whoever is sent a reply takes so many bytes of it, or is cut off."""

UNREAD = 1 << 28
"""The most bytes of replies that wait for those who read them: above it, whoever took longest is cut off."""


@contextmanager
def load_ahead() -> Iterator[None]:
    """Import what the first answer needs while tables are opened inside.

    An engine that reads rows leaves the interpreter free meanwhile. Almost all that is made there stays, so
    nothing of it is looked through for what could go.
    """
    names = ("discreet.server.app", "scipy.sparse")
    load = threading.Thread(target=lambda: [importlib.import_module(name) for name in names], daemon=True)
    gc.disable()
    try:
        load.start()
        yield
    finally:
        gc.enable()


class _ImpatientProtocol(HttpToolsProtocol):
    """Closes connections that are opened, or half used, and left to wait, never come to a body or an end."""

    _in_headers, _read = True, 0
    places, idle_since, has_asked = CONNECTIONS, math.inf, False
    # What was unread when that was looked at last, and since when it is much.
    _left, since = math.inf, math.inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.idle_since = time.monotonic()
        self._make_place()
        self._await_headers()
        self._await_reader()

    def data_received(self, data: bytes) -> None:
        if not self._in_headers and self.cycle.response_complete:
            self._in_headers = True  # an empty line is no beginning of a request, and ends the wait for one
            self._await_headers()
        self._read += len(data)
        super().data_received(data)
        if not self._in_headers:
            self._read = 0
        elif self._read > HEADER_BYTES:  # the parser keeps them all, however many there are
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._waiting.cancel()
        super().on_headers_complete()

    def on_message_begin(self) -> None:
        self._in_headers, self.idle_since = True, time.monotonic()
        self._waiting.cancel()
        self._await_headers()
        if not self.unread:  # all of what she was sent before: her next reply is another one
            self._left = self.since = math.inf
        super().on_message_begin()

    def on_response_complete(self) -> None:
        self.has_asked, self.idle_since = True, time.monotonic()
        if self.unread > UNREAD_BYTES and self.since == math.inf:  # TLS does not say so by `pause_writing`
            self._note_unread()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.cancel()
        self._reading.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._note_unread()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._left = self.since = math.inf

    @property
    def unread(self) -> int:
        """How many bytes wait here for whoever reads them."""
        size = self.transport.get_write_buffer_size()
        # That of TLS tells of what is not encrypted yet alone, and has the connection below it.
        tls = getattr(self.transport, "_ssl_protocol", None)
        below = getattr(tls, "_transport", None)
        return size if below is None else size + below.get_write_buffer_size()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is worked on for whoever has the connection: no request of hers came to its end."""
        return self._in_headers or self.cycle.response_complete or self.cycle.more_body

    def _make_place(self) -> None:
        """Let in who comes last where all places are taken: whoever asked nothing for longest goes.

        Those who never asked go first: nobody who asks is kept out by connections that are opened and left.
        """
        if len(self.connections) <= self.places:
            return
        all_of_them = (one for one in self.connections if isinstance(one, _ImpatientProtocol))
        idle = [one for one in all_of_them if one is not self and one.is_idle]
        # Where something is worked on for everybody there is no place.
        min(idle, key=lambda one: (one.has_asked, one.idle_since), default=self).let_go()

    def let_go(self) -> None:
        """Cut the connection off, and count it no more."""
        self.connections.discard(self)
        self.transport.abort()

    def _note_unread(self) -> None:
        self.since = self.loop.time()
        self._make_room()

    def _await_headers(self) -> None:
        self._waiting = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _await_reader(self) -> None:
        self._reading = self.loop.call_later(UNREAD_SECONDS, self._look_at_reader)

    def _look_at_reader(self) -> None:
        """Cut off whoever takes nothing: what she was to be sent is kept here, and her place is taken."""
        left = self.unread
        if left > max(0, self._left - UNREAD_BYTES):
            self.transport.abort()
            return
        self._left = left or math.inf
        self._await_reader()

    def _make_room(self) -> None:
        """Cut off those who have read for longest where too much waits for all of them together."""
        all_of_them = (one for one in self.connections if isinstance(one, _ImpatientProtocol))
        waiting = sorted((one for one in all_of_them if one.since < math.inf), key=lambda one: one.since)
        unread = sum(one.unread for one in waiting)
        for one in waiting:
            if unread <= UNREAD:
                return
            unread -= one.unread
            one.transport.abort()


def serve(
    datasets: OpenDatasets,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    certificate: Path | None = None,
    private_key: Path | None = None,
    behind_proxy: bool = False,
    ready: Callable[[int], None] = lambda _: None,
) -> None:
    """Serve until the process is told to stop.

    Parameters
    ----------
    datasets
        What is served.
    host, port
        Where; port 0 takes a free one.
    certificate, private_key
        For TLS.
    behind_proxy
        Whether a proxy that speaks TLS stands in front: only then is a public address bound without.
    ready
        Called with the port once it is open.
    """
    from discreet.server.app import make_app  # noqa: PLC0415  see `load_ahead`

    require_private(host, certificate=certificate, behind_proxy=behind_proxy)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold rows
    app = make_app(datasets)
    gc.collect()
    gc.freeze()  # what is there now stays: it is not looked through again and again while questions come
    own: dict[str, Any] = {"ssl_certfile": certificate, "ssl_keyfile": private_key}
    server = make_server(app, ready, host=host, port=port, places=find_places(), **own)
    try:
        server.run()
    finally:
        gc.unfreeze()  # or whoever ends the process is told of everything of the engine that is there still


def find_places() -> int:
    """Return how many connections there may be, once the process may have as many files open as it gets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):  # a system may allow fewer than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return CONNECTIONS if soft == resource.RLIM_INFINITY else min(CONNECTIONS, soft // 2)


def make_server(
    app: App, ready: Callable[[int], None], *, places: int = CONNECTIONS, **options: Any
) -> uvicorn.Server:
    """Return a server that runs when it is told to, and stops when its `should_exit` is set."""
    config = uvicorn.Config(
        app,
        http=type("_Protocol", (_ImpatientProtocol,), {"places": places}),
        loop="asyncio",
        ws="none",
        proxy_headers=False,  # nothing depends on where a request comes from
        lifespan="off",
        log_level="error",  # what a stranger sends does not fill the owner's log
        access_log=False,
        server_header=False,
        date_header=False,
        backlog=max(16, places // 2),  # so many may be let in before it is seen how many there are
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        **options,
    )
    return _Server(config, ready)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready(self.servers[0].sockets[0].getsockname()[1])


def require_free(host: str, port: int) -> None:
    """Refuse an address that cannot be listened at, before a table is opened for it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, where in found:
            socket.create_server(where[:2], family=family).close()
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            hint = (
                "Something listens there, perhaps another server: end it, or give another; 0 takes a free one"
            )
            raise InvalidParameter(name="port", rule=f"free at {host}", value=port, hint=hint) from None
        if problem.errno == errno.EACCES:
            hint = "Give one from 1024 on; 0 takes a free one"
            raise InvalidParameter(name="port", rule="one you may open", value=port, hint=hint) from None
        hint = "127.0.0.1 is this machine alone, 0.0.0.0 all addresses that it has"
        raise InvalidParameter(
            name="host", rule="an address of this machine", value=host, hint=hint
        ) from None


def require_private(host: str, *, certificate: Path | None, behind_proxy: bool) -> None:
    """Refuse an address that others reach unless what they send is encrypted on the way."""
    try:
        is_private = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_private = host == "localhost"
    if not is_private and certificate is None and not behind_proxy:
        raise InvalidParameter(
            name="host",
            rule="a loopback address unless there is TLS",
            value=host,
            hint="Give a certificate, or say that a proxy with TLS stands in front (--behind-proxy)",
        )
