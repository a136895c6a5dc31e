"""Receipts tell how long the book is: nobody has one where any of its data sets is under a promise."""

from tests.unit.server.conftest import SCHEMA, serving, write_home


def write_two(folder, promise):
    path = write_home(folder)
    (folder / "claims.toml").write_text(SCHEMA.replace('"visits"', '"claims"'))
    path.write_text(
        path.read_text() + '[datasets.claims]\ndata = "visits.csv"\nschema = "claims.toml"\n'
        f"epsilon = 1\ndelta = 1e-9\n{promise}\n"
    )
    return path


def ask(server):
    key = server.key()
    status, said = server.ask("SELECT AVG(age) AS m FROM visits", key=key, insist=True)
    assert status == 200, said
    return said["receipt"]


def test_receipts_are_given_where_nothing_is_promised(tmp_path):
    with serving(write_two(tmp_path, "")) as server:
        assert ask(server)["ledger"] == "visits"


def test_and_to_nobody_where_something_is(tmp_path):
    with serving(write_two(tmp_path, 'promise = "one analyst to many"')) as server:
        assert ask(server) is None
