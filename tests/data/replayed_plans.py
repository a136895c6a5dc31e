"""Neighbouring tables on an engine, and the replay of a plan on them.

A plan is recorded on one table and replayed on its neighbours with every random answer frozen. The steps must
be the same, no step's input may move by more than its sensitivity, and what is published must be the same.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import pandas as pd
from plan_grammar import ZONES, Case, schemas

from discreet import Replace
from discreet.audit.replay_report import _Recorder, _Replayer
from discreet.core.rng import Rng
from discreet.data import Row, Schema, Table, User
from discreet.data.ask import ask
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.pricing.thresholds import KeysAbove
from discreet.data.sql.printing import to_sql
from discreet.testing import unsafe_seeded

NAMES = ("who", "g", "c", "s", "x", "y", "z", "flag", "day", "note")
TYPES = (
    "who TEXT, g TEXT, c TEXT, s INTEGER, x DOUBLE PRECISION, y DOUBLE PRECISION, z BIGINT, flag BOOLEAN, "
    "day TIMESTAMPTZ, note TEXT"
)
Rows = tuple[tuple[Any, ...], ...]
UTC = datetime.UTC
MOMENTS = (
    datetime.datetime(2020, 1, 1, 23, 59, 59, tzinfo=UTC),
    datetime.datetime(2020, 1, 3, 0, 0, 1, tzinfo=UTC),
    None,
    datetime.datetime(1999, 1, 1, tzinfo=UTC),
    datetime.datetime(2030, 1, 1, tzinfo=UTC),
)
ODD = (4.0, None, math.nan, math.inf, -math.inf, 1e300, -1e300, -3.0, 4.0, 4.0, 0.0)


@cache
def heavy(who: str, sign: int) -> Rows:
    """A user with far more rows than may count, in every group, at both ends of every range and beyond."""
    return tuple(
        (
            who,
            ("a", "b", "c", None, "elsewhere")[i % 5],
            (f"v{i % 40:02d}", "undeclared", None)[i % 3],
            (1, 2, 3, None, 9)[i % 5],
            None if value is None else sign * value,
            (2.0, None, 1e9, math.nan)[i % 4],
            (30 * sign, None, 10**12 * sign)[i % 3],
            (True, False, None)[i % 3],
            MOMENTS[i % 5],
            ("p", "q", None)[i % 3],
        )
        for i, value in enumerate(ODD * 2)
    )


def row(who: str | None, g: str, x: float | None, note: str) -> tuple[Any, ...]:
    return who, g, "v03", 1, x, 1.0, 20, True, MOMENTS[0], note


USERS = ("ann", "Ann", "bob", "cay", "dan")
BASE: Rows = (
    *heavy("ann", 1),
    *heavy("bob", -1),
    # Another user than ann, in groups that are others than a, p and v03, wherever bytes are compared.
    *(("Ann", g, "V03", 2, 4.0, 2.0, 30, False, MOMENTS[1], note) for g, note in ("AP", "BP", "aQ", "bp")),
    *(row("cay", g, 4.0, "p") for g in "abc"),
    ("dan", "a", None, None, None, None, None, None, None, None),
    row(None, "a", 4.0, "p"),
)


def neighbours_of(rows: Rows, unit: Row | User, change: Any) -> Iterator[Rows]:
    """Tables one unit away: removed, or exchanged for one that is far away from it."""
    replaced = change is Replace
    if isinstance(unit, Row):
        for place in (0, 5, len(ODD) + 3, 40, 45, 48, len(rows) - 1):
            other = (row("eve", "b", -3.0, f"only {place}"),) if replaced else ()
            yield rows[:place] + rows[place + 1 :] + other
        return
    for who in USERS:
        kept = tuple(one for one in rows if one[0] != who)
        yield (
            kept
            + tuple((who, *one[1:-1], f"only {i % 4}") for i, one in enumerate(heavy(who, -1))) * replaced
        )
    if not replaced:
        yield rows + heavy("eve", 1)
        yield rows + tuple((who, *one[1:]) for who in ("ANN",) for one in heavy("eve", -1))


def orders_of(rows: Rows) -> list[tuple[Any, ...]]:
    """Orders that come and go with their user: more than may count, with missing and huge prices."""
    users = {one[0]: str(one[-1]) for one in rows if one[0] is not None}
    return [
        (who, price)
        for who, note in sorted(users.items())
        for price in ((0.0, 0.0, 5.0) if note.startswith("only") else (5.0, 5.0, None, 1e300, -9.0))
    ]


PAIRS = 6
"""Pairs of neighbours that each plan is replayed on."""
ZONE_ROWS = (("a", 3), ("b", -2), ("c", None))


def as_frames(rows: Rows) -> tuple[Any, Any, Any]:
    frame = pd.DataFrame(list(rows), columns=list(NAMES))
    kinds: dict[str, Any] = dict.fromkeys(("who", "g", "c", "flag", "note"), object)
    kinds |= dict.fromkeys(("s", "x", "y", "z"), "float64") | {"day": "datetime64[us, UTC]"}
    orders = pd.DataFrame(orders_of(rows), columns=["who", "price"]).astype({"who": object})
    return frame.astype(kinds), orders, pd.DataFrame(list(ZONE_ROWS), columns=["g", "weight"])


def literal(cell: Any) -> str:
    """A cell as SQL that DuckDB and PostgreSQL read alike."""
    if isinstance(cell, float) and not math.isfinite(cell):
        return f"CAST('{cell}' AS DOUBLE PRECISION)"
    if isinstance(cell, datetime.datetime):
        return f"TIMESTAMPTZ '{cell.isoformat(sep=' ')}'"
    return "NULL" if cell is None else repr(cell)


def statements(rows: Rows, collation: str = "") -> Iterator[str]:
    """What makes the three tables; text has a collation."""
    text = f"TEXT {collation}"
    tables = {
        "events": (TYPES.replace("TEXT", text), rows),
        "orders": (f"who {text}, price DOUBLE PRECISION", orders_of(rows)),
        "zones": (f"g {text}, weight INTEGER", ZONE_ROWS),
    }
    for name, (types, listed) in tables.items():
        yield f"CREATE TABLE {name} ({types})"
        yield f"INSERT INTO {name} VALUES " + ", ".join(f"({', '.join(map(literal, one))})" for one in listed)


def in_duckdb(rows: Rows, settings: str = "", collation: str = "") -> tuple[Any, Any, Any, Any]:
    """Typed tables behind a connection of their own, which the owner may go on to change."""
    owner = duckdb.connect(config={"threads": 1})
    owner.execute(settings)
    for statement in statements(rows, collation):
        owner.execute(statement)
    return (owner, "events"), (owner, "orders"), (owner, "zones"), owner


def changed(owner: Any) -> None:
    """What an owner may do to the tables once they were opened."""
    owner.execute("INSERT INTO zones VALUES ('a', 1), ('a', 2), ('b', 3)")
    owner.execute("DELETE FROM events WHERE who = 'cay'")
    owner.execute("INSERT INTO events SELECT * FROM events")
    owner.execute("DROP TABLE orders")


Opener = Callable[[Rows, tuple[Schema, ...]], Table]


def opened(parts: Sequence[Any], declared: tuple[Schema, ...]) -> Table:
    events, orders, zones = parts[:3]
    joined = [(orders, other) for other in declared[1:]]
    return Table(events, schema=declared[0], joined=joined, dimensions={ZONES.name: zones})


def frames(rows: Rows, declared: tuple[Schema, ...]) -> Table:
    return opened(as_frames(rows), declared)


def zoned(rows: Rows, declared: tuple[Schema, ...]) -> Table:
    parts = in_duckdb(rows, settings="SET TimeZone = 'Pacific/Auckland'")
    table = opened(parts, declared)
    changed(parts[3])
    return table


def collated(rows: Rows, declared: tuple[Schema, ...]) -> Table:
    return opened(in_duckdb(rows, collation="COLLATE NOCASE"), declared)


def folding(rows: Rows, declared: tuple[Schema, ...]) -> Table:
    return opened(in_duckdb(rows, settings="SET default_collation = 'NOCASE.NOACCENT'"), declared)


DUCKDB: dict[str, Opener] = {"frames": frames, "zoned": zoned, "collated": collated, "folding": folding}


@dataclass
class Tables:
    """Opened tables of one way to open them: each is opened once, and closed at the end."""

    open: Opener
    held: dict[Any, Table] = field(default_factory=dict)

    def of(self, rows: Rows, unit: Row | User, change: Any) -> Table:
        key = rows, unit, change
        if key not in self.held:
            self.held[key] = self.open(rows, schemas(unit, change))
        return self.held[key]

    def close(self) -> None:
        for table in self.held.values():
            table.close()
        self.held.clear()


@dataclass(frozen=True)
class Seen:
    """What one pair of neighbours showed."""

    problems: tuple[str, ...]
    moved: Fraction


def _published(prepared: QuestionPlan, table: Table, rng: Rng) -> Any:
    return ask(prepared, source=table._source, rng=rng).rows


def replayed(prepared: QuestionPlan, table: Table, others: Sequence[Table], seed: int) -> Iterator[Seen]:
    """Record a plan on a table, replay it on neighbours, and the other way round for one of them."""
    pairs = [(table, others[1:]), (others[0], [table])]
    for first, rest in pairs:
        recorder = _Recorder(unsafe_seeded(seed))
        published = _published(prepared, first, recorder)
        for other in rest:
            replayer = _Replayer(tuple(recorder.steps))
            try:
                again = _published(prepared, other, _Watched(replayer, prepared))
            except Exception as problem:  # a step that differs raises, and so may anything after
                again = problem
            problems = [*recorder.problems, *replayer.problems]
            if replayer.met < len(recorder.steps):
                problems.append(f"stopped after {replayer.met} of {len(recorder.steps)} steps: {again!r}")
            elif again != published:
                problems.append(f"the output differs although every step answered the same: {again!r}")
            used = zip(replayer.distances, replayer.allowed, strict=True)
            yield Seen(tuple(problems), sum((d / a for d, a in used if a), Fraction(0)))


class _Watched(Rng):
    """A replayer that also counts the groups that only one of two neighbours has: a threshold rests on it."""

    def __init__(self, replayer: Any, prepared: QuestionPlan) -> None:
        self._replayer = replayer
        known = prepared.budget.facts
        self._most = min(known.groups_per_unit, known.rows_per_unit)

    def random_bytes(self, count: int) -> bytes:
        return self._replayer.random_bytes(count)

    def perform(self, primitive: Any, value: Any) -> Any:
        if isinstance(primitive, KeysAbove) and self._replayer.met < len(self._replayer._steps):
            before = self._replayer._steps[self._replayer.met].value
            for one, other in ((before, value), (value, before)):
                new = [count for key, count in one.items() if not other.get(key)]
                if len(new) > self._most or any(count > 1 for count in new):
                    self._replayer.problems.append(f"one unit made groups of {new} units")
        return self._replayer.perform(primitive, value)


Plans = Iterable[tuple[Case, QuestionPlan]]


def found(tables: Tables, plans: Plans, pairs: int = PAIRS) -> Iterator[tuple[QuestionPlan, Seen]]:
    """Replay plans on some neighbours of one table; which ones, changes from plan to plan."""
    for seed, ((unit, change, *_), prepared) in enumerate(plans):
        near = list(neighbours_of(BASE, unit, change))
        others = [tables.of(near[(seed + k) % len(near)], unit, change) for k in range(pairs)]
        for seen in replayed(prepared, tables.of(BASE, unit, change), others, seed):
            yield prepared, seen


def holds(tables: Tables, plans: Plans, pairs: int = PAIRS) -> int:
    """Replay, fail where anything moved too far, and return how many pairs there were."""
    count = moved = 0
    try:
        for prepared, seen in found(tables, plans, pairs):
            assert not seen.problems, (to_sql(prepared.question, prepared.tables), seen.problems)
            count, moved = count + 1, moved + (seen.moved > 0)
    finally:
        tables.close()
    assert moved > count / 2, "few neighbours moved anything: this tests little"
    return count
