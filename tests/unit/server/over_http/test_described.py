"""The description of the server's interface, and a generator of requests that reads it: no reply is amiss."""

import http.client
import json
import re
import subprocess
import sys

import pytest
from tests.discreet_server import add_analyst, make_folder, serving


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    folder = tmp_path_factory.mktemp("described")
    make_folder(folder)
    key = add_analyst(folder, "acme")
    with serving(folder) as server:
        yield server, key


def test_requests_made_from_the_description_find_no_mismatch_and_no_failure(described, tmp_path):
    server, key = described
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/v1/openapi.json"),
        *("--header", f"Authorization: Bearer {key}"),
        *(
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,"
            "response_schema_conformance,negative_data_rejection",
        ),
        *("--max-examples", "12", "--seed", "1", "--phases", "examples,coverage,fuzzing"),
        *("--generation-database", "none", "--no-color", "--suppress-health-check", "all"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    made = re.search(r"(\d+) generated", done.stdout)
    assert int(made[1]) > 500, done.stdout[-2000:]  # it did try


def test_every_reply_is_described(described):
    server, _ = described
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/v1/openapi.json")
    said = json.loads(connection.getresponse().read())
    connection.close()
    for path, methods in said["paths"].items():
        for method, what in methods.items():
            assert what["operationId"], (method, path)
            for status, reply in what["responses"].items():
                assert status in {"200", "default"} or int(status) >= 400
                assert "HTTPValidationError" not in json.dumps(reply)
