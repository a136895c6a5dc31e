"""Bad inputs on six very different tables: the reply is the same on all, and what is refused costs nothing.

The rows of the table of bad inputs whose reply could hang on the data, by their number there;
`docs/promises.md` says where the others are.
"""

import http.client
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.property.test_sql_fuzz import CANARY, SCHEMA, frames
from tests.unit.server.conftest import serving

from discreet.data.schema.schema import Schema
from discreet.data.schema.toml_file import format_schema

KINDS = {"who": "string", "g": "string", "note": "string", "flag": "boolean"}
MEAN = "SELECT AVG(x) AS n FROM t"


def priced(name, *values):
    return [f'{{"sql": "{MEAN}", "insist": true, "{name}": {value}}}'.encode() for value in values]


def asked(*questions, **more):
    return [json.dumps({"sql": sql, "insist": True, **more}).encode() for sql in questions]


def summed(*bounds):
    texts = (f"SELECT SUM(x, contribution_bounds_per_row => {pair}) AS n FROM t" for pair in bounds)
    return asked(*texts)


def computed(*columns):
    return asked(*(f"SELECT {column} AS n FROM t" for column in columns))


REFUSED = {
    1: priced("epsilon", "NaN"),
    2: priced("epsilon", "Infinity", "1e999"),
    3: priced("epsilon", "-1", "-0.0", "0"),
    4: priced("epsilon", "1e-400", "5e-324"),
    5: priced("epsilon", "1e6"),
    6: priced("epsilon", "true", '"1"', "[1]", "null"),
    7: priced("epsilon", '0.1, "epsilon": 0.1'),
    9: priced("delta", "-1e-9", "1", "NaN", "null"),
    10: summed("(3, 0)", "(3, 3)", "(NULL, 1)", "(1,)", "('a', 'b')", "(1e309, 2e309)"),
    11: summed("(-1.8e308, 1.8e308)"),
    19: [
        *asked("SELECT note, COUNT(*) AS n FROM t GROUP BY note", delta=0),
        *asked("SELECT who, COUNT(*) AS n FROM t GROUP BY who"),
    ],
    20: asked(
        f"SELECT COUNT(*) AS n FROM t WHERE x IN ({','.join(map(str, range(6000)))})",
        f"SELECT COUNT(*) AS n FROM t WHERE g = '{'a' * 30_000}'",
    ),
    23: computed("SUM(1 / x)", "SUM(ln(note))", "SUM(CAST(note AS INT))", "error('x')", "SUM(1 // x)"),
    24: [*asked("SELECT * FROM t", "SELECT who FROM t"), *computed("list(x)", "any_value(g)", "x")],
    25: [
        *asked(
            "SELECT COUNT(*) AS n FROM t; DROP TABLE t",
            "SELECT COUNT(*) AS n FROM t -- '\nWHERE",
            "SELECT COUNT(*) AS n FROM t WHERE g = \u2019a\u2019",
            "SELECT COUNT(*) AS n FROM t WHERE g = 'a\x00'",
        ),
        *asked("(" * 20_000),
    ],
    27: asked(
        "SELECT COUNT(*) AS n FROM t AS a CROSS JOIN t AS b",
        "SELECT COUNT(*) AS n FROM t AS a JOIN t AS b ON a.x = b.x",
    ),
    28: asked(
        f"SELECT COUNT(*) AS n FROM {'(SELECT * FROM ' * 200}t{')' * 200}",
        f"SELECT COUNT(*) AS n FROM t WHERE {' OR '.join(['x = 1 AND y < 0.5'] * 1_000)} {'OR x = y ' * 300}",
    ),
    29: asked(f"SELECT COUNT(*) AS n FROM t WHERE note LIKE '{'%a' * 5_000}'"),
    36: [b'{"sql":' * 5_000, b"9" * 5_000, b"{" + b",".join(b'"%d":1' % n for n in range(5_000)) + b"}"],
}
ANSWERED = {
    13: computed("AVG(y)", "SUM(y)", "VARIANCE(y)", "MAX(y)"),
    14: computed("SUM(x)", "SUM(x * x)", "MIN(x)"),
    15: computed("COUNT(*)", "MEDIAN(x)", "COUNT(DISTINCT who)"),
    16: asked("SELECT AVG(x) AS n, STDDEV(x) AS s FROM t WHERE 1 = 0"),
    17: asked("SELECT g, COUNT(DISTINCT who) AS n FROM t GROUP BY g"),
    18: asked("SELECT COUNT(*) AS n, SUM(y) AS s FROM t"),
    21: asked("SELECT g, COUNT(*) AS n FROM t GROUP BY g"),
    22: asked(
        "SELECT COUNT(*) AS n FROM t WHERE 1 = 0",
        f"SELECT COUNT(*) AS n FROM t WHERE note = '{CANARY}-note-3'",
    ),
    29: asked(f"SELECT COUNT(*) AS n FROM t WHERE note LIKE '{'%' * 50}a'"),
}


def tables():
    """Return six tables of one schema: ordinary, missing, zero, extreme, empty, and one heavy user's."""
    made = {name: pa.Table.from_pandas(one.astype(KINDS)) for name, one in frames().items()}
    made["empty"] = made["normal"].slice(0, 0)
    ends = [2**63 - 1, -(2**63)] * 2500
    heavy = {"who": "x ", "g": CANARY, "y": 1.8e308, "flag": None, "note": CANARY}
    made["heavy"] = pa.Table.from_pandas(pd.DataFrame({**heavy, "x": ends}).astype(KINDS))
    return made


@pytest.fixture(scope="module")
def served_tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    said, names = ["tick = 0"], []
    for number, one in enumerate(tables().values()):
        names.append(name := f"t{number}")
        schema = Schema(name, columns=SCHEMA.columns, unit=SCHEMA.unit, neighbours=SCHEMA.neighbours)
        pq.write_table(one, folder / f"{name}.parquet")
        (folder / f"{name}.toml").write_text(format_schema(schema))
        said.append(
            f'[datasets.{name}]\ndata = "{name}.parquet"\nschema = "{name}.toml"\n'
            "epsilon = 1000\ndelta = 1e-4\nshared = 0\nquestion = [1, 1e-8]\n"
        )
    (folder / "discreet.toml").write_text("\n".join(said))
    with serving(folder / "discreet.toml") as server:
        key = server.datasets.access.make_key("acme")
        for name in names:
            server.datasets.access.grant("acme", name, 1)
        yield server, key, names


def ask_all(served_tables, raw):
    """Ask all tables the same; return the one status, and what one question was charged."""
    server, key, names = served_tables
    replies, charges = set(), set()
    for name in names:
        ledger = server.datasets.get(name).curator.ledger
        before = ledger.spent()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        body = raw.replace(b"FROM t", b"FROM %s" % name.encode())
        connection.request("POST", f"/v1/datasets/{name}/queries", body, headers)
        reply = connection.getresponse()
        said = reply.read()
        connection.close()
        assert CANARY.encode() not in said or CANARY.encode() in raw
        if reply.status == 200:
            found = json.loads(said)
            shown = [found[part] for part in ("columns", "kind", "cost", "repeated", "keys", "holds")]
            assert all(len(row) == len(found["columns"]) for row in found["rows"])
        else:
            shown = said.decode().replace(name, "t")
            assert len(said) < 2000
        heads = sorted(name.lower() for name, _ in reply.getheaders())
        replies.add(repr((reply.status, heads, shown)))
        charges.add(tuple((one, amount - before[one]) for one, amount in ledger.spent().items()))
    assert len(replies) == len(charges) == 1, replies
    return int(replies.pop()[1:4]), dict(charges.pop())


@pytest.mark.parametrize("number", REFUSED)
def test_what_is_refused_is_refused_alike_and_costs_nothing(served_tables, number):
    for raw in REFUSED[number]:
        status, charged = ask_all(served_tables, raw)
        assert 400 <= status < 500, raw[:200]
        assert not any(charged.values()), raw[:200]


@pytest.mark.parametrize("number", ANSWERED)
def test_what_is_answered_is_answered_and_charged_alike(served_tables, number):
    for raw in ANSWERED[number]:
        status, charged = ask_all(served_tables, raw)
        assert status == 200, raw[:200]
        assert charged["epsilon"] == 1, raw[:200]
