"""PostgreSQL in a schema that the owner made: the same answers, nothing left behind, nobody else let in."""

from __future__ import annotations

import secrets
from types import SimpleNamespace

import psycopg
import pytest

import discreet as dp
from discreet.core.errors import EngineFailed, InvalidParameter
from discreet.data import Category, Identifier, Integer, Schema, Table, User

SCHEMA = Schema(
    "trips",
    columns=(Identifier("who"), Category("zone", values=("a", "b", "c")), Integer("km", lower=0, upper=50)),
    unit=User(column="who", max_rows=3, max_groups=1),
    neighbours=dp.AddRemove("who"),
)
QUESTION = "SELECT zone, COUNT(*) AS n, SUM(km) AS km FROM trips GROUP BY zone"


@pytest.fixture
def place(postgres_dsn):
    """A role with a schema of its own, and the connection strings that do and do not name it."""
    name = f"snap_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN; CREATE SCHEMA {name} AUTHORIZATION {name}")
        admin.execute(f"CREATE SCHEMA {name}_data; GRANT USAGE ON SCHEMA {name}_data TO {name}")
        admin.execute(f"GRANT CONNECT, TEMPORARY ON DATABASE postgres TO {name}")
        admin.execute(f"CREATE TABLE {name}_data.trips (who text, zone text, km bigint)")
        admin.execute(
            f"INSERT INTO {name}_data.trips SELECT 'u' || i % 70, chr(97 + i % 4), i % 60 "
            "FROM generate_series(1, 900) AS i"
        )
        admin.execute(f"GRANT SELECT ON {name}_data.trips TO {name}")
        plain = postgres_dsn.replace("tester@", f"{name}@")
        named = f"{plain}?options=-cdiscreet.snapshots%3D{name}"
        yield SimpleNamespace(name=name, admin=admin, plain=plain, named=named, table=f"{name}_data.trips")
        admin.execute(f"DROP SCHEMA {name}, {name}_data CASCADE; DROP OWNED BY {name} CASCADE")
        admin.execute(f"DROP ROLE {name}")


def kept(place):
    query = (
        "SELECT relname, relpersistence FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
    )
    return place.admin.execute(query, [place.name]).fetchall()


def answer(table):
    return [tuple(map(float, row[1:])) for row in table.sql(QUESTION, epsilon=10**9, delta=0).rows]


def test_answers_are_those_of_temporary_tables(place, monkeypatch):
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")
    with Table((place.plain, place.table), schema=SCHEMA) as table:
        wanted = answer(table)
        assert kept(place) == []
    with Table((place.named, place.table), schema=SCHEMA) as table:
        assert answer(table) == wanted
        ((name, how),) = kept(place)
        assert how == "u" and len(name) > 25 and "trips" not in name
    assert kept(place) == [] and 70 <= sum(count for count, _ in wanted) <= 3 * 70


def test_two_tables_do_not_meet(place):
    with Table((place.named, place.table), schema=SCHEMA) as one:
        with Table((place.named, place.table), schema=SCHEMA) as two:
            assert len(kept(place)) == 2
            answer(two)
        answer(one)
        assert len(kept(place)) == 1


def test_what_a_lost_session_left_is_dropped_by_the_next(place):
    table = Table((place.named, place.table), schema=SCHEMA)
    ((left, _),) = kept(place)
    place.admin.execute(
        "SELECT pg_terminate_backend(%s, 10000)", [table._source._connection.info.backend_pid]
    )
    with pytest.raises(EngineFailed):
        answer(table)
    assert [name for name, _ in kept(place)] == [left]
    with Table((place.named, place.table), schema=SCHEMA) as other:
        assert left not in [name for name, _ in kept(place)]
        answer(other)
    table.reopen()
    answer(table)
    table.close()
    assert kept(place) == []


def test_a_schema_that_others_may_use_is_refused(place):
    for grantee in ("PUBLIC", "pg_monitor"):
        place.admin.execute(f"GRANT USAGE ON SCHEMA {place.name} TO {grantee}")
        with pytest.raises(InvalidParameter, match="others may use"):
            Table((place.named, place.table), schema=SCHEMA)
        place.admin.execute(f"REVOKE USAGE ON SCHEMA {place.name} FROM {grantee}")
    assert kept(place) == []


@pytest.mark.parametrize("schema", ["nowhere", "public", "pg_catalog"])
def test_a_schema_that_is_not_the_roles_is_refused(place, schema):
    dsn = f"{place.plain}?options=-cdiscreet.snapshots%3D{schema}"
    with pytest.raises(InvalidParameter, match=r"discreet\.snapshots"):
        Table((dsn, place.table), schema=SCHEMA)


def test_the_role_cannot_be_left_out_of_its_own_schema(place):
    place.admin.execute(f"ALTER SCHEMA {place.name} OWNER TO tester")
    with pytest.raises(InvalidParameter, match="may not use"):
        Table((place.named, place.table), schema=SCHEMA)
    place.admin.execute(f"GRANT USAGE, CREATE ON SCHEMA {place.name} TO {place.name}")
    with Table((place.named, place.table), schema=SCHEMA) as table:
        answer(table)
    assert kept(place) == []
