"""Connections that are opened and left keep nobody out, and take no file that the book needs."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager

import pytest
from tests.discreet_server import add_analyst, make_folder

from discreet.server import serving

PLACES = 8
LEFT = (b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx")


async def answer(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(scope="module")
def port():
    ports, is_ready = [], threading.Event()
    server = serving.make_server(
        answer,
        lambda port: (ports.append(port), is_ready.set()),
        places=PLACES,
        host="127.0.0.1",
        port=0,
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert is_ready.wait(20)
    yield ports[0]
    server.should_exit = True
    thread.join(20)


@contextmanager
def asking(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        yield lambda: ask(connection)
    finally:
        connection.close()


def ask(connection):
    connection.request("GET", "/")
    reply = connection.getresponse()
    reply.read()
    return reply.status


def is_closed(line):
    line.settimeout(5)
    try:
        return line.recv(99) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", LEFT)
def test_whoever_asks_is_let_in_where_others_hold_all_places(port, sent):
    with asking(port) as ask_again, ExitStack() as held:
        assert ask_again() == 200
        lines = []
        for _ in range(4 * PLACES):
            lines.append(held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)))
            lines[-1].sendall(sent)
        for _ in range(3):  # newcomers, one after the other
            with asking(port) as ask_once:
                assert ask_once() == 200
        assert ask_again() == 200  # and who asked before has her line still
        assert all(is_closed(line) for line in lines[: 2 * PLACES])  # those who never asked made room


def test_connections_take_no_file_that_the_book_needs(tmp_path):
    """Of 1,024 files, which is usual, idle connections took all: the ledger could not open its journal."""
    files = 160
    make_folder(tmp_path, epsilon=4, delta=0, shared=0, columns=None)
    key = add_analyst(tmp_path, "acme")
    serve = f'ulimit -n {files}; exec "$0" -m discreet serve --json --port 0'
    process = subprocess.Popen(
        ["bash", "-c", serve, sys.executable],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        where = int(json.loads(process.stdout.readline())["address"].rsplit(":", 1)[1])
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        with ExitStack() as held:
            connection = http.client.HTTPConnection("127.0.0.1", where, timeout=20)
            held.callback(connection.close)
            assert ask(connection) == 200
            for _ in range(2 * files):
                held.enter_context(socket.create_connection(("127.0.0.1", where), timeout=20))
            body = json.dumps({"sql": "SELECT SUM(cents) AS m FROM visits", "insist": True})
            connection.request("POST", "/v1/datasets/visits/queries", body, headers)
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
