"""Forty bad inputs over a real socket: the right reply, nothing charged, nothing of the data in it."""

import json
import threading
from fractions import Fraction

import pytest
from tests.unit.server.conftest import serving, write_home

PATH = "/v1/datasets/visits/queries"
PRICED = "SELECT AVG(age) AS n FROM visits"


@pytest.fixture(scope="module")
def key(served):
    return served.key("careless")


@pytest.fixture
def nothing_charged(served):
    before = served.datasets.get("visits").curator.ledger.spent()
    yield
    assert served.datasets.get("visits").curator.ledger.spent() == before


def refuse(served, key, status, **request):
    got, _, body = served.send("POST", PATH, key=key, **request)
    assert got == status, body
    said = json.loads(body)
    assert set(said) == {"error", "message"}
    assert len(body) < 2000
    return said


@pytest.mark.parametrize(
    "epsilon",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1",
        "-0.0",
        "0",
        "1e-400",
        "5e-324",
        "1e6",
        "true",
        '"1"',
        "[1]",
        "{}",
        "null",
        '0.1, "epsilon": 0.1',
    ],
)
def test_an_epsilon_that_is_no_price(served, key, nothing_charged, epsilon):
    body = f'{{"sql": "{PRICED}", "epsilon": {epsilon}}}'.encode()
    refuse(served, key, 422, raw=body)


@pytest.mark.parametrize("delta", ["-1e-9", "1", "NaN", "true", '"0"'])
def test_a_delta_that_is_no_probability(served, key, nothing_charged, delta):
    refuse(served, key, 422, raw=f'{{"sql": "{PRICED}", "delta": {delta}}}'.encode())


@pytest.mark.parametrize(
    "price", ['"epsilon": 1e-3', '"delta": 0', '"delta": 0.0, "epsilon": 0.001', '"study": null']
)
def test_a_price_is_any_number_that_is_one(served, key, price):
    status, _, body = served.send(
        "POST", "/v1/datasets/visits/plans", key=key, raw=f'{{"sql": "{PRICED}", {price}}}'.encode()
    )
    assert status == 200, body


def test_more_than_the_owner_asks_for_is_refused(served, key, nothing_charged):
    said = refuse(served, key, 422, body={"sql": PRICED, "epsilon": 0.5})
    assert "epsilon" in said["message"]


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT",
        "SELECT * FROM visits",
        "SELECT list(age) FROM visits",
        "SELECT any_value(ward) FROM visits",
        "SELECT age FROM visits",
        "SELECT 1/age FROM visits",
        "SELECT SUM(1/age) FROM visits",
        "SELECT SUM(ln(age)) FROM visits",
        "SELECT SUM(CAST(ward AS INT)) FROM visits",
        "SELECT SUM(CASE WHEN ward='north' THEN error('x') ELSE 0 END) FROM visits",
        "SELECT COUNT(*) FROM visits; DROP TABLE visits",
        "SELECT COUNT(*) FROM visits; SELECT ward FROM visits",
        "SELECT COUNT(*) FROM visits WHERE ward = ‘north’",
        "SELECT COUNT(*) FROM visits WHERE ward = 'a\x00b'",
        "(" * 10_000,
        "SELECT COUNT(*) FROM '/etc/passwd'",
        "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
        "SELECT COUNT(*) FROM query('SELECT 1')",
        "SELECT COUNT(*) FROM duckdb_tables()",
        "SELECT COUNT(*) FROM hidden",
        "SELECT COUNT(*) FROM visits a CROSS JOIN visits b",
        "COPY visits TO '/tmp/x'",
        "ATTACH 'x.db'",
        "INSTALL httpfs",
        "EXPLAIN ANALYZE SELECT COUNT(*) FROM visits",
        "SUMMARIZE visits",
        "PRAGMA database_list",
        "SELECT COUNT(*) FROM visits WHERE " + " OR ".join(f"age = {k % 100}" for k in range(10_000)),
        "SELECT COUNT(*) FROM visits WHERE age IN (" + ",".join(map(str, range(100_000))) + ")",
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 200 + "visits" + ")" * 200,
        "SELECT {{7*7}} FROM visits",
        "SELECT COUNT(*) FROM visits GROUP BY __class__",
    ],
)
def test_what_is_not_in_the_language(served, key, nothing_charged, sql):
    got, _, body = served.send("POST", PATH, {"sql": sql}, key=key)
    assert got in (413, 422), body
    assert len(body) < 4000


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"{}",
        b'{"sql": 7}',
        b'{"sql": null}',
        b'{"sql": "SELECT 1", "more": 1}',
        b'{"sql": "SELECT 1", "fresh": "yes"}',
        b'{"sql": "SELECT 1", "fresh": 1}',
        b'{"sql": "SELECT 1", "insist": null}',
        b'{"sql": "' + b"x" * 30_000 + b'"}',
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"sql": "\\ud800"}',
        b"\xef\xbb\xbf{}",
        b'{"sql": "\xff"}',
        b'{"sql": "SELECT 1", "sql": "SELECT 2"}',
        b"9" * 5_000,
        b'{"__proto__": {}, "sql": "SELECT 1"}',
        b'{"' + b"k" * 60_000 + b'": 1}',
        b"{" + b",".join(b'"%b%d": 1' % (b"k" * 6_000, number) for number in range(8)) + b"}",
        b"!!python/object/apply:os.system ['true']",
        b"\x80\x04\x95\x0b\x00\x00\x00",
    ],
)
def test_a_body_of_another_shape(served, key, nothing_charged, raw):
    got, _, body = served.send("POST", PATH, key=key, raw=raw)
    assert got == 422, body
    assert len(body) < 2000


@pytest.mark.parametrize("clause", [{"k" * 60_000: [1]}, {"ward": ["v" * 60_000]}, {"age": [10**39]}])
def test_what_is_sent_without_end_is_not_sent_back(served, key, nothing_charged, clause):
    asked = {"conjunctions": [clause]}
    got, _, body = served.send("POST", "/v1/datasets/visits/counts", asked, key=key)
    assert got == 422
    assert len(body) < 2000


@pytest.mark.parametrize("name", ["", "x" * 256, "a b", "é", "tab\there"])
def test_a_key_for_a_question_is_plain_text(served, key, nothing_charged, name):
    header = {"Idempotency-Key": name.encode().decode("latin-1")}
    got, _, body = served.send("POST", PATH, {"sql": PRICED}, key=key, headers=header)
    assert got in (400, 422), body


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/datasets", {}),
        ("/v1/datasets/visits", {"Authorization": "Bearer"}),
        ("/v1/datasets/visits", {"Authorization": "Bearer dk_0000000000000000_" + "a" * 43}),
        ("/v1/datasets/visits", {"Authorization": "Basic YTpi"}),
        ("/v1/datasets/visits", {"Authorization": "bearer x y z"}),
        ("/v1/datasets/none", {}),
    ],
)
def test_without_a_key_all_doors_look_alike(served, path, headers):
    got, _, body = served.send("GET", path, headers=headers)
    assert got == 401
    assert json.loads(body)["error"] == "unauthorised"


def test_a_key_in_the_address_is_none(served, key):
    got, _, _ = served.send("GET", f"/v1/datasets/visits?key={key}&authorization=Bearer%20{key}")
    assert got == 401


def test_what_is_not_yours_does_not_exist(served, key):
    other = served.key("other", share=None)
    bodies = {
        served.send("GET", path, key=other)[2]
        for path in ("/v1/datasets/visits", "/v1/datasets/none", "/v1/datasets/visits/budget")
    }
    assert len(bodies) == 1
    assert json.loads(bodies.pop())["error"] == "not_found"
    assert json.loads(served.send("GET", "/v1/datasets", key=other)[2]) == {"datasets": []}
    got, _, _ = served.send("POST", PATH, {"sql": PRICED}, key=other)
    assert got == 404


def test_an_auditor_looks_and_does_not_ask(served, nothing_charged):
    auditor = served.key("auditor", share=1, role="auditor")
    assert served.send("GET", "/v1/datasets/visits", key=auditor)[0] == 200
    assert served.send("POST", PATH, {"sql": PRICED}, key=auditor)[0] == 404


def test_a_revoked_key_opens_nothing_at_once(served):
    key = served.key("leaver")
    assert served.send("GET", "/v1/datasets/visits", key=key)[0] == 200
    served.datasets.access.revoke("leaver")
    assert served.send("GET", "/v1/datasets/visits", key=key)[0] == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods(served, key, method):
    headers = {"Content-Type": "application/json"}
    got, _, body = served.send(method, PATH, key=key, raw=b"{}", headers=headers)
    assert got == 405, body
    assert json.loads(body)["error"] == "not_allowed"


def test_ten_tenths_are_one_and_nothing_more(tmp_path):
    home = write_home(tmp_path, options="shared = 0\nquestion = [0.1, 0]", epsilon=1, delta=0)
    with serving(home) as server:
        key = server.key()
        for k in range(10):
            sql = f"SELECT COUNT(*) AS n FROM visits WHERE age < {k}"
            status, said = server.ask(sql, key=key, epsilon=0.1, insist=True)
            assert status == 200, said
        ledger = server.datasets.get("visits").curator.ledger
        assert ledger.spent()["epsilon"] == 1
        status, said = server.ask("SELECT COUNT(*) FROM visits", key=key, epsilon=0.000001, insist=True)
        assert (status, said["error"]) == (402, "budget")
        assert ledger.spent()["epsilon"] == 1


def test_one_question_fits_and_sixty_four_are_asked(tmp_path):
    home = write_home(tmp_path, rows=50, options="shared = 0\nquestion = [1, 0]", epsilon=1, delta=0)
    with serving(home) as server:
        keys = [server.key(f"a{k}") for k in range(8)]
        got = []

        def ask(k):
            sql = f"SELECT COUNT(*) AS n FROM visits WHERE age < {k}"
            got.append(server.ask(sql, key=keys[k % 8], insist=True)[0])

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(got) == [200] + 63 * [402]
        assert server.datasets.get("visits").curator.ledger.spent()["epsilon"] == 1


def test_one_key_one_charge_whoever_sends_it_how_often(served):
    keys = [served.key(name) for name in ("storm", "calm")]
    ledger = served.datasets.get("visits").curator.ledger
    got, before = [], len(ledger.entries("storm"))
    sql = "SELECT AVG(age) AS n FROM visits WHERE age > 3"

    def ask():
        sent = {"Idempotency-Key": "once"}
        got.append(served.send("POST", PATH, {"sql": sql, "insist": True}, key=keys[0], headers=sent))

    threads = [threading.Thread(target=ask) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status for status, _, _ in got} == {200}
    assert len({body for _, _, body in got}) == 1
    assert len(ledger.entries("storm")) == before + 1
    status, said = served.ask("SELECT AVG(age) FROM visits", key=keys[0], headers={"Idempotency-Key": "once"})
    assert (status, said["error"]) == (422, "key_reused")
    # Another analyst's key of the same name is another key.
    status, _ = served.ask(sql, key=keys[1], headers={"Idempotency-Key": "once"}, insist=True)
    assert status == 200


def test_a_study_is_known_or_refused(served, key, nothing_charged):
    status, said = served.ask(PRICED, key=key, study="unheard", insist=True)
    assert status == 422, said


def test_a_registered_study_is_charged(served, key):
    served.datasets.access.add_study("visits", "flu", Fraction(1, 2), purpose="what the flu does")
    status, said = served.ask("SELECT AVG(age) FROM visits WHERE age < 60", key=key, study="flu", insist=True)
    assert status == 200, said
    assert served.datasets.get("visits").curator.ledger.entries("careless")[-1].study == "flu"
