"""Two servers for clients: ours in a process, and one in a thread that says what a test tells it."""

import http.server
import json
import threading

import pytest
from tests.discreet_server import add_analyst, make_folder, serving


@pytest.fixture(scope="session")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    make_folder(folder)
    keys = {name: add_analyst(folder, name) for name in ("acme", "blue", "cork")}
    with serving(folder) as served:
        served.folder, served.keys = folder, keys
        yield served


class Scripted(http.server.ThreadingHTTPServer):
    """Replies with what stands in `script`, in turn; the last one for ever. Notes what it was sent."""

    daemon_threads = True

    def __init__(self):
        self.script, self.seen = [], []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass  # clients that go away are part of the tests


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        self.server.seen.append((self.command, self.path, dict(self.headers), body, self.client_address))
        script = self.server.script
        step = script.pop(0) if len(script) > 1 else script[0]
        if step == "cut":
            self.close_connection = True
            self.connection.close()
            return
        status, said, headers = step[0], step[1], dict(*step[2:])
        said = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        length = headers.pop("Content-Length", len(said))
        for name, value in {"Content-Length": length, **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(said)
        if length != len(said):
            self.close_connection = True

    do_GET = do_POST = do_DELETE = answer  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.fixture
def scripted():
    server = Scripted()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
