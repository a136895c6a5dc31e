"""Pages over HTTP: for anybody, without a cookie, and with what the public JSON shows."""

import json

from tests.unit.server.conftest import serving, write_home


def test_pages_are_sent_without_a_key(served):
    for path, kind in (
        ("/", "text/html"),
        ("/registry/visits", "text/html"),
        ("/console", "text/html"),
        ("/web/style.css", "text/css"),
        ("/web/console.js", "text/javascript"),
        ("/web/icon.svg", "image/svg+xml"),
    ):
        status, headers, body = served.send("GET", path)
        assert status == 200, path
        assert headers["content-type"].startswith(kind)
        assert headers["x-content-type-options"] == "nosniff"
        assert body


def test_a_form_is_not_taken(served):
    """The console's form is sent by its script alone; a browser without it cannot send the key."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert served.send("POST", "/console", raw=b"key=dk_x", headers=headers)[0] == 405


def test_a_page_shows_no_question_nor_who_asked(tmp_path):
    with serving(write_home(tmp_path, rows=100)) as server:
        key = server.key("acme")
        question = "SELECT SUM(age) AS secret FROM visits WHERE ward = 'north'"
        assert server.ask(question, key=key, insist=True)[0] == 200
        page = server.send("GET", "/registry/visits", key=key)[2].decode()
        told = json.loads(server.send("GET", "/v1/registry/visits")[2])
        assert told["releases"][0]["receipt"]["digest"] in page
        assert "north" not in page
        assert "acme" not in page
