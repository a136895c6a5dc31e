"""Conditions on free text mean what an engine that runs the text itself says, and no other text is sent."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Integer, Row, Schema, Table, Text
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql
from discreet.data.sql.rows.free_texts import MAX_PATTERNS

NOTES = Schema(
    "notes",
    columns=(Text("note"), Integer("x", lower=0, upper=9)),
    unit=Row(),
    neighbours=AddRemove("row"),
)
TABLES = PlanTables.of(NOTES)
POLICY = Policy(epsilon=Fraction(1), delta=Fraction(0))
STRANGE = (
    "",
    " ",
    "'",
    "''",
    "b\\c",
    "\\",
    "!x",
    "x!",
    "é",
    "a\u0301",
    "\U0001f600",
    "a\nb",
    "%",
    "100%",
    "_",
)
TEXTS = (None, *STRANGE, *(a + b + c for a in "aAb%" for b in ("", "_", "!", "B") for c in "ab%"))


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[duckdb.DuckDBPyConnection, Table]]:
    frame = pd.DataFrame({"note": list(TEXTS), "x": [i % 10 for i in range(len(TEXTS))]})
    raw = duckdb.connect(config={"threads": 1})
    raw.register("frame", frame)
    raw.execute("CREATE TABLE notes AS SELECT * FROM frame")
    with Table(frame.astype({"note": object}), schema=NOTES) as table:
        yield raw, table
    raw.close()


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


SHORT = st.text("aAb%_!'", max_size=4)
NOT = st.sampled_from(["", "NOT "])
NAMES = st.sampled_from(["note", "(note)", "notes.note"])
SIGNS = st.sampled_from(["=", "<>"])
# A dot is any character here, and one of the same line in DuckDB.
EITHER = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "^"]),
    st.text("aAb%_!", max_size=3),
    st.sampled_from(["", "", "$", "\\$", "\\|", "b.b"]),
)
REGEXPS = st.lists(EITHER, min_size=1, max_size=3).map("|".join)
ATOMS = st.one_of(
    st.builds("REGEXP_MATCHES({}, '{}')".format, NAMES, REGEXPS),
    st.builds("REGEXP_MATCHES({}, '(?i){}')".format, NAMES, REGEXPS),
    st.builds("{} {} {}".format, NAMES, SIGNS, st.sampled_from([quoted(one) for one in STRANGE[:9]])),
    st.builds("{1} {2} {0}".format, NAMES, SHORT.map(quoted), SIGNS),
    st.builds("{} {}IN ({}, {})".format, NAMES, NOT, SHORT.map(quoted), SHORT.map(quoted)),
    st.builds("{} {}LIKE {}".format, NAMES, NOT, SHORT.map(quoted)),
    st.builds("{} {}ILIKE {}".format, NAMES, NOT, SHORT.map(quoted)),
    st.builds("{} {}LIKE {} ESCAPE '!'".format, NAMES, NOT, SHORT.map(quoted)),
    st.builds("{} LIKE {} ESCAPE '\\'".format, NAMES, st.sampled_from(["'\\%%'", "'a\\_%'", "'\\\\'"])),
    st.builds("LOWER({}) = {}".format, NAMES, SHORT.map(lambda text: quoted(text.lower()))),
    st.builds("UPPER({}) {}LIKE {}".format, NAMES, NOT, SHORT.map(lambda text: quoted(text.upper()))),
    st.builds("{}({}, {})".format, st.sampled_from(["STARTS_WITH", "CONTAINS"]), NAMES, SHORT.map(quoted)),
    st.sampled_from(["note IS NULL", "x > 4", "CASE WHEN note LIKE 'a%' THEN x END > 3"]),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: (
        inner.map("NOT ({})".format)
        | inner.map("({}) IS NOT TRUE".format)
        | st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner)
    ),
    max_leaves=4,
)
REFUSALS = ("at most 3 times %", "ends with the character that escapes", "no row can meet")


@settings(max_examples=150, deadline=None)
@example("note NOT LIKE 'a%' OR note IS NULL")
@example("note IN ('é', '\U0001f600', 'b\\c') OR note LIKE '_'")
@given(CONDITIONS)
def test_conditions_choose_the_rows_that_sql_chooses(
    engines: tuple[duckdb.DuckDBPyConnection, Table], condition: str
) -> None:
    raw, table = engines
    text = f"SELECT COUNT(*) FROM notes WHERE {condition}"
    try:
        plan = parse(text, schemas=NOTES, policy=POLICY)
    except Refused as refusal:
        assert any(words in str(refusal) for words in REFUSALS), refusal
        return
    assert parse(to_sql(plan, TABLES), schemas=NOTES, policy=POLICY) == plan
    expected = raw.execute(text).fetchall()
    assert list(table.sql(text, epsilon=10**9, delta=0).rows) == expected


SAME = [
    ("note = 'a'", "'a' = note", "note IN ('a', 'a')", "note LIKE 'a'", "NOT note <> 'a'"),
    ("note ILIKE 'aB%'", "LOWER(note) LIKE 'ab%'", "UPPER(note) LIKE 'AB%'"),
    ("note LIKE '%_'", "note LIKE '_%'", "note LIKE '_%%'"),
    ("note LIKE '%'", "note IS NOT NULL"),
    ("note LIKE '10!%' ESCAPE '!'", "note = '10%'", "note LIKE '10\\%' ESCAPE '\\'"),
    ("note LIKE 'a%' OR note IN ('b', 'c')", "note = 'c' OR note LIKE 'a%' OR note = 'b'"),
    ("note NOT IN ('a', 'b')", "note <> 'b' AND NOT note = 'a'"),
    ("STARTS_WITH(note, '5%')", "note LIKE '5!%%' ESCAPE '!'"),
    ("note ~ 'one|^two'", "REGEXP_LIKE(note, '(one|^two)')", "note LIKE '%one%' OR note LIKE 'two%'"),
    ("note ~ '(?i)a.*b$'", "note ILIKE '%a%b'"),
    ("note ~ 'a.+\\.$'", "note LIKE '%a_%.'"),
]


@pytest.mark.parametrize("spellings", SAME)
def test_spellings_are_one_plan(spellings: tuple[str, ...]) -> None:
    texts = (f"SELECT COUNT(*) FROM notes WHERE {one}" for one in spellings)
    assert len({canonicalise(parse(text, schemas=NOTES, policy=POLICY)) for text in texts}) == 1


def test_only_digits_reach_the_engine(engines: tuple[Any, Table], monkeypatch: pytest.MonkeyPatch) -> None:
    """What an analyst wrote is spelled by its bytes: no rule of quotes or escapes of any engine applies."""
    _, table = engines
    sent: list[str] = []
    write = type(table._source)._sql
    monkeypatch.setattr(
        type(table._source), "_sql", lambda self, query: sent.append(write(self, query)) or sent[-1]
    )
    evil = "canary'; DROP TABLE notes; --\\"
    table.sql(f"SELECT COUNT(*) FROM notes WHERE note IN ({quoted(evil)}, 'x')", epsilon=1, delta=0)
    text = "SELECT COUNT(*) FROM notes WHERE LOWER(note) LIKE '%canary_'"
    table.sql(text, epsilon=1, delta=0, insist=True)
    assert len(sent) == 2 and not any("canary" in one or "DROP" in one for one in sent)
    assert all(evil.encode().hex() in one or b"canary".hex() in one for one in sent)


REFUSED = [
    ("note < 'a'", "by =, <>, IN and LIKE"),
    ("note = x", "by =, <>, IN and LIKE"),
    ("note = 1", "by =, <>, IN and LIKE"),
    ("note = note", "nothing is computed of it"),
    ("note || 'a' = 'b'", "nothing is computed of it"),
    ("LENGTH(note) > 3", "nothing is computed of it"),
    ("note ~ x", "it stands in quotes"),
    *(
        (f"note ~ '{one}'", "a regular expression")
        for one in ("a*", "[ab]", "(a)|b", "a\\", "\\d", "a^b", "a{2}")
    ),
    ("CASE note WHEN 'a' THEN 1 END = 1", "nothing is computed of it"),
    ("COALESCE(note, 'a') = 'a'", "nothing is computed of it"),
    ("note LIKE note", "nothing is computed of it"),
    ("note = NULL", "Write IS NULL"),
    ("note IN ('a', NULL)", "Write IS NULL"),
    ("LOWER(note) = 'A'", "no row can have it: LOWER leaves no such letter"),
    ("UPPER(note) LIKE '%a'", "no row can have it: UPPER leaves no such letter"),
    ("note ILIKE 'caf\u00e9'", "alike for A to Z only"),
    ("LOWER(note) = '\u00e9'", "alike for A to Z only"),
    ("note LIKE '%a%b%c%'", "at most 3 times %"),
    ("note LIKE 'a\\b'", "no backslash"),
    ("note LIKE 'a!' ESCAPE '!'", "ends with the character that escapes"),
    ("note LIKE x", "a pattern in quotes"),
    ("CONTAINS(note, x)", "a short text in quotes"),
    (
        " OR ".join(f"note LIKE 'a{i}%'" for i in range(MAX_PATTERNS + 1)),
        f"more than {MAX_PATTERNS} patterns",
    ),
]


@pytest.mark.parametrize(("condition", "words"), REFUSED)
def test_what_engines_do_differently_is_refused(condition: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        parse(f"SELECT COUNT(*) FROM notes WHERE {condition}", schemas=NOTES, policy=POLICY)
    assert words in str(caught.value) and caught.value.way_out
