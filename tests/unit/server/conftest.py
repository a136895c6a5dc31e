"""A curator behind a port, for tests: a small table, keys, and somebody who asks over a socket."""

import contextlib
import http.client
import json
import threading
from contextlib import contextmanager

import pytest

from discreet.server.app import make_app
from discreet.server.open_datasets import OpenDatasets
from discreet.server.registered.registration import read_registration
from discreet.server.serving import make_server

WARDS = ("north", "south", "west")
SCHEMA = """
name = "visits"
neighbours = "add-remove"
[columns.ward]
kind = "category"
values = ["north", "south", "west"]
[columns.age]
kind = "integer"
lower = 0
upper = 99
"""


def write_home(folder, *, rows=2000, options="", tick=0, epsilon=1, delta="1e-9"):
    """Write a table, its schema and a registration; return the registration's path."""
    lines = [f"{WARDS[k % 3]},{k * 7 % 100}" for k in range(rows)]
    (folder / "visits.csv").write_text("ward,age\n" + "".join(f"{line}\n" for line in lines))
    (folder / "visits.toml").write_text(SCHEMA)
    path = folder / "discreet.toml"
    path.write_text(
        f'tick = {tick}\n[datasets.visits]\ndata = "visits.csv"\nschema = "visits.toml"\n'
        f"epsilon = {epsilon}\ndelta = {delta}\n{options}\n"
    )
    return path


class Served:
    """A server that runs, and a way to ask it."""

    def __init__(self, datasets, port):
        self.datasets, self.port = datasets, port

    def key(self, name="acme", *, share=1, **options):
        made = self.datasets.access.make_key(name, **options)
        if share:
            self.datasets.access.grant(name, "visits", share)
        return made

    def send(self, method, path, body=None, *, key=None, headers=None, raw=None):
        """Return the status, the headers and what the body says."""
        sent = dict(headers or {})
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
                connection.request(method, path, body=content, headers=sent)
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def ask(self, sql, *, key, to="queries", headers=None, **asked):
        status, _, body = self.send(
            "POST", f"/v1/datasets/visits/{to}", {"sql": sql, **asked}, key=key, headers=headers
        )
        return status, json.loads(body)


@contextmanager
def serving(path):
    """Open what is registered and serve it on a free port."""
    datasets = OpenDatasets(read_registration(path))
    ports, is_ready = [], threading.Event()

    def ready(port):
        ports.append(port)
        is_ready.set()

    server = make_server(make_app(datasets), ready, host="127.0.0.1", port=0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        if not is_ready.wait(20):
            raise TimeoutError("the server did not start")
        yield Served(datasets, ports[0])
    finally:
        server.should_exit = True
        thread.join(20)
        datasets.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(write_home(tmp_path_factory.mktemp("served"))) as server:
        yield server
