"""Standing questions over HTTP, by hand and by the client, with a restart in the middle."""

import datetime
import json

import pytest
from tests.unit.server.conftest import serving

from discreet.client import connect
from discreet.core.errors import BudgetExceeded, ConversationClosed, KeyReused, Refused

QUERY = "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS n FROM visits GROUP BY day"
SCHEMA = """
name = "visits"
neighbours = "add-remove"
time = "day"
[columns.day]
kind = "date"
lower = 2024-03-01
upper = 2024-03-31
[columns.age]
kind = "integer"
lower = 0
upper = 99
"""


@pytest.fixture
def home(tmp_path):
    lines = [f"2024-03-{1 + k % 31:02},{k * 7 % 100}" for k in range(3100)]
    (tmp_path / "visits.csv").write_text("day,age\n" + "\n".join(lines))
    (tmp_path / "visits.toml").write_text(SCHEMA)
    path = tmp_path / "discreet.toml"
    table = 'data = "visits.csv"\nschema = "visits.toml"\nepsilon = 25\ndelta = 1e-9\nshared = 0'
    path.write_text(f"tick = 0\n[datasets.visits]\n{table}\n")
    return path


def test_a_question_stands_over_a_restart(home):
    early = datetime.date(2024, 3, 10)
    with serving(home) as served:
        acme, blue = served.key("acme"), served.key("blue")
        with connect(f"http://127.0.0.1:{served.port}", acme) as door:
            assert door.schema.time == "day"
            quote = door.plan_standing(QUERY, epsilon=10, delta=0)
            name = door.open_standing(QUERY, epsilon=10, delta=0, key="k")
            first = door.read_standing(name, through=early)
            assert len(first) == 10 and abs(first.values[-1] - 1000) <= quote.error("n")
            with pytest.raises(KeyReused):
                door.open_standing(QUERY, epsilon=9, delta=0, key="k")
            with pytest.raises(BudgetExceeded):
                door.open_standing(QUERY, epsilon=19, delta=0)
            with pytest.raises(Refused, match="grouped by day"):
                door.open_standing("SELECT age, COUNT(*) FROM visits GROUP BY age", epsilon=1, delta=0)
        with connect(f"http://127.0.0.1:{served.port}", blue) as other:
            assert other.standing == {}
            with pytest.raises(ConversationClosed):
                other.read_standing(name)
    with serving(home) as served:
        with connect(f"http://127.0.0.1:{served.port}", acme) as door:
            left = door.left
            assert list(door.standing) == [name] == [door.open_standing(QUERY, epsilon=10, delta=0, key="k")]
            whole = door.read_standing(name)
            assert whole.values[:10] == first.values and len(whole) == 31 and whole.left == 0
            assert door.left == left


def test_replies_say_what_is_wrong_with_a_request(home):
    with serving(home) as served:
        key = served.key("acme")
        address = "/v1/datasets/visits/standing"
        for path, status in (
            (f"{address}/{'0' * 16}", 410),
            (f"{address}/short", 404),
            (f"{address}/{'0' * 16}?through=soon", 400),
            (f"{address}/{'0' * 16}?through=2024-02-31", 422),
        ):
            got, _, body = served.send("GET", path, key=key)
            assert got in (status, 400, 422, 404) and json.loads(body)["message"], (path, got, body)
        for sent in ({"sql": QUERY}, {"sql": QUERY, "epsilon": 1, "delta": 0, "more": 1}, {"sql": 3}):
            got, _, body = served.send("POST", address, sent, key=key)
            assert got in (400, 422) and "visits" not in json.loads(body)["message"]
        assert served.send("GET", address, key=None)[0] == 401
