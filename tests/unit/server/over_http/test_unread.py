"""Replies that wait for whoever reads them: over TLS as well, and of each request by itself."""

import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest
from tests.servers import absent

from discreet.server import serving

SIZE = 12 << 20  # more than the buffers of a connection take


async def answer(scope, receive, send):
    headers = [(b"content-length", str(SIZE).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": bytes(SIZE)})


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    if shutil.which("openssl") is None:
        absent("openssl")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=here"
    files = ["-keyout", "own.pem", "-out", "seen.pem"]
    subprocess.run([*command.split(), *files], cwd=folder, check=True, capture_output=True)
    ports, is_ready = [], threading.Event()
    server = serving.make_server(
        answer,
        lambda port: (ports.append(port), is_ready.set()),
        host="127.0.0.1",
        port=0,
        ssl_certfile=folder / "seen.pem",
        ssl_keyfile=folder / "own.pem",
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert is_ready.wait(20)
    yield ports[0]
    server.should_exit = True
    thread.join(20)


@contextmanager
def asking(port):
    """Ask over TLS, and read nothing yet."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(10)
        line.connect(("127.0.0.1", port))
        with context.wrap_socket(line) as wrapped:
            wrapped.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            yield wrapped


def read_all(line):
    """Read a reply; tell whether all of it came."""
    count = 0
    try:
        while count < SIZE and (piece := line.recv(1 << 16)):
            count += len(piece)
    except OSError:
        return False
    return count >= SIZE


def test_who_reads_nothing_over_tls_is_cut_off_too(port, monkeypatch):
    # What is encrypted waits in a buffer below, of which that of TLS says nothing.
    monkeypatch.setattr(serving, "UNREAD_SECONDS", 0.3)
    with asking(port) as line:
        assert read_all(line)
    with asking(port) as line:
        time.sleep(1.5)
        assert not read_all(line)


def test_what_waits_over_tls_has_an_end(port, monkeypatch):
    monkeypatch.setattr(serving, "UNREAD", SIZE)
    with asking(port) as first:
        time.sleep(0.3)
        with asking(port) as second:
            time.sleep(0.3)
            assert [read_all(first), read_all(second)] == [False, True]


class Transport:
    unread = 0
    is_open = True

    def get_write_buffer_size(self):
        return self.unread

    def abort(self):
        self.is_open = False

    close = abort


class Loop:
    def call_later(self, *_):
        return self

    def cancel(self):
        pass


def test_a_rest_of_one_reply_does_not_cut_off_the_next(monkeypatch):
    # She read all of the first before she asked again: what waits now is another reply.
    protocol = object.__new__(serving._ImpatientProtocol)
    protocol.transport, protocol.loop = Transport(), Loop()
    protocol._waiting = protocol.loop
    monkeypatch.setattr(serving.HttpToolsProtocol, "on_message_begin", lambda _: None)
    protocol.transport.unread = 1000
    protocol._look_at_reader()
    protocol.transport.unread = 0
    protocol.on_message_begin()
    protocol.transport.unread = 1 << 20
    protocol._look_at_reader()
    assert protocol.transport.is_open
    protocol._look_at_reader()
    assert not protocol.transport.is_open
