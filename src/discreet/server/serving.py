"""A server on a port: what it binds, how long it waits for whom, what it leaves behind when it crashes."""

from __future__ import annotations

import asyncio
import errno
import gc
import importlib
import ipaddress
import resource
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.core.errors import InvalidParameter
from discreet.server.gate import App
from discreet.server.open_datasets import OpenDatasets

CONNECTIONS = 1024
"""The most connections at once."""

HEADER_SECONDS = 10.0
"""How long a connection may take to send the first line and headers of a request."""

HEADER_BYTES = 1 << 16
"""The most bytes of them that are kept before they are complete."""


def load_ahead() -> None:
    """Begin to import what the first answer needs, to be called before tables are opened.

    An engine that reads rows leaves the interpreter free meanwhile.
    """
    names = ("discreet.server.app", "scipy.sparse")
    load = threading.Thread(target=lambda: [importlib.import_module(name) for name in names], daemon=True)
    load.start()


class _ImpatientProtocol(HttpToolsProtocol):
    """Closes connections that are opened, or half used, and left to wait, or never come to a body."""

    _in_headers, _read = True, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
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
        self._in_headers = True
        self._waiting.cancel()
        self._await_headers()
        super().on_message_begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.cancel()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        self._waiting = self.loop.call_later(HEADER_SECONDS, self.transport.close)


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
    make_server(app, ready, host=host, port=port, ssl_certfile=certificate, ssl_keyfile=private_key).run()


def make_server(app: App, ready: Callable[[int], None], **options: Any) -> uvicorn.Server:
    """Return a server that runs when it is told to, and stops when its `should_exit` is set."""
    config = uvicorn.Config(
        app,
        http=_ImpatientProtocol,
        loop="asyncio",
        ws="none",
        proxy_headers=False,  # nothing depends on where a request comes from
        lifespan="off",
        log_level="error",  # what a stranger sends does not fill the owner's log
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=CONNECTIONS,
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
