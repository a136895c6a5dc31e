"""Answers: right numbers where the noise is nothing, one shape for all data, public facts only before."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest

import discreet as dp
from discreet.core.errors import DiscreetError, InvalidParameter, Refused, TableClosed
from discreet.data import (
    Boolean,
    Category,
    Date,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Row,
    Schema,
    Table,
    Text,
    User,
)
from discreet.data.pricing.answer import Answer
from discreet.testing import BAD_NUMBERS, unsafe_seeded

REGIONS = ("north", "south", "west")
STORES = Dimension(
    "stores",
    key="store",
    columns=(Category("store", values=(1, 2)), Category("city", values=("york", "leeds"))),
)
COLUMNS = (
    Identifier("who"),
    Category("region", values=REGIONS),
    Category("store", values=(1, 2)),
    Integer("age", lower=0, upper=120),
    Decimal("spent", lower=-50, upper=50, grid=Fraction("0.01")),
    Boolean("member"),
    Text("note"),
)
BY_ROW = Schema("visits", columns=COLUMNS, unit=Row(), neighbours=dp.AddRemove("row"), dimensions=(STORES,))
BY_USER = Schema(
    "visits",
    columns=COLUMNS,
    unit=User(column="who", max_rows=3, max_groups=2),
    neighbours=dp.AddRemove("who"),
    dimensions=(STORES,),
)
CITIES = pd.DataFrame({"store": [1, 2], "city": ["york", "leeds"]})
EXACT: dict[str, Any] = {"epsilon": 10**12, "delta": 0}


def rows(count: int) -> pd.DataFrame:
    """Rows that touch every value and some missing ones; each user has two rows."""
    return pd.DataFrame(
        {
            "who": [f"u{i // 2}" for i in range(count)],
            "region": [(*REGIONS, None)[i % 4] for i in range(count)],
            "store": [1 + i % 2 for i in range(count)],
            "age": pd.array([None if i % 11 == 0 else (7 * i) % 120 for i in range(count)], dtype="Int64"),
            "spent": [((37 * i) % 10_000 - 5_000) / 100 for i in range(count)],
            "member": [bool(i % 3) for i in range(count)],
            "note": [f"note {i % 2}" for i in range(count)],
        }
    )


def opened(frame: pd.DataFrame, schema: Schema = BY_ROW) -> Table:
    return Table(frame, schema=schema, dimensions={"stores": CITIES})


@pytest.fixture(scope="module")
def visits() -> Table:
    return opened(rows(660))


def truth(sql: str) -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    connection.register("frame", rows(660))
    connection.register("stores", CITIES)
    connection.execute(
        "CREATE TABLE visits AS SELECT * REPLACE (CAST(spent AS DECIMAL(9, 2)) AS spent) FROM frame"
    )
    return connection.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("ours", "plain"),
    [
        ("COUNT(*)", ""),
        ("COUNT(age)", ""),
        ("SUM(age)", ""),
        ("SUM(spent)", ""),
        ("SUM(2 * age - 3)", ""),
        ("SUM(age * age)", ""),
        ("AVG(age)", ""),
        ("AVG(spent)", ""),
        ("VAR_POP(age)", ""),
        ("VAR_SAMP(spent)", ""),
        ("STDDEV_POP(spent)", ""),
        ("STDDEV(age)", ""),
        (
            "SUM(age, contribution_bounds_per_row => (10, 40))",
            "SUM(CASE WHEN age < 10 THEN 10 WHEN age > 40 THEN 40 ELSE age END)",
        ),
    ],
)
def test_aggregates_are_those_of_plain_sql_where_noise_is_nothing(
    visits: Table, ours: str, plain: str
) -> None:
    rest = "FROM visits WHERE member AND age BETWEEN 5 AND 100 AND region IS NOT NULL GROUP BY region"
    answer = visits.sql(f"SELECT region, {ours} {rest}", **EXACT)
    wanted = dict(truth(f"SELECT region, {plain or ours} {rest}"))
    assert answer.column("region") == REGIONS
    (name,) = [name for name in answer.columns if name != "region"]
    for (region, value), (low, high) in zip(answer.rows, answer.interval(name, 0.95), strict=True):
        assert float(value) == pytest.approx(float(wanted[region]), rel=1e-9)
        assert low <= value <= high
        assert float(low) == pytest.approx(float(high), rel=1e-9)


def test_quantiles_are_those_of_the_data_where_noise_is_nothing(visits: Table) -> None:
    answer = visits.sql(
        "SELECT region, MEDIAN(age), APPROX_QUANTILES(age, 4) FROM visits GROUP BY region", **EXACT
    )
    for region, median, quarters in answer.rows:
        ages = sorted(
            a for (a,) in truth(f"SELECT age FROM visits WHERE region = '{region}' AND age IS NOT NULL")
        )
        for point, value in zip((0.0, 0.25, 0.5, 0.75, 1.0), quarters, strict=True):
            assert sum(a < value for a in ages) <= point * len(ages) <= sum(a <= value for a in ages)
        assert sum(a < median for a in ages) <= len(ages) / 2 <= sum(a <= median for a in ages)


def test_cubes_joins_and_found_groups(visits: Table) -> None:
    cube = visits.sql(
        "SELECT city, member, COUNT(*) FROM visits JOIN stores USING (store) GROUP BY CUBE(city, member)",
        **EXACT,
    )
    wanted = truth(
        "SELECT city, member, COUNT(*) FROM visits JOIN stores USING (store) GROUP BY CUBE(city, member)"
    )
    assert sorted(cube.rows, key=repr) == sorted(wanted, key=repr)
    found = visits.sql(
        "SELECT note, COUNT(*) AS n, AVG(spent) FROM visits GROUP BY note", epsilon=10**6, delta=1e-6
    )
    plain = truth("SELECT note, COUNT(*) AS n, AVG(spent) FROM visits GROUP BY note ORDER BY note")
    assert [(note, n) for note, n, _ in found.rows] == [(note, n) for note, n, _ in plain]
    # Noise of a millionth of the range stays on an average.
    assert [a for _, _, a in found.rows] == pytest.approx([float(a) for _, _, a in plain], abs=1e-3)


def test_users_are_counted_once_and_their_rows_are_bounded() -> None:
    with opened(rows(660), BY_USER) as table:
        answer = table.sql("SELECT COUNT(DISTINCT who) AS users, COUNT(*) AS n FROM visits", **EXACT)
        assert answer.rows == ((330, 660),)
        text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 1) COUNT(*) AS n FROM visits"
        assert table.sql(text, **EXACT).rows == ((330,),)
        assert "at most 1 row of one who" in repr(table.plan(text, **EXACT))


def test_a_seed_is_marked_and_the_system_is_not(visits: Table) -> None:
    text = "SELECT COUNT(*) FROM visits"
    assert "UNSAFE" in repr(visits.sql(text, epsilon=1, delta=0, rng=unsafe_seeded(1)))
    assert not visits.sql(text, epsilon=1, delta=0).unsafe_seeded
    same = [visits.sql(text, epsilon=1, delta=0, rng=unsafe_seeded(5)).rows for _ in range(2)]
    assert same[0] == same[1]


def test_faces_of_an_answer(visits: Table) -> None:
    text = "SELECT region, COUNT(*) AS n, MEDIAN(age) AS middle FROM visits GROUP BY region"
    answer = visits.sql(text, epsilon=1, delta=0)
    frame = answer.to_pandas()
    assert list(frame.columns) == ["region", "n", "n_low", "n_high", "middle", "middle_low", "middle_high"]
    assert list(frame["region"]) == list(REGIONS)
    assert (frame["middle_low"] <= frame["middle"]).all() and (frame["middle"] <= frame["middle_high"]).all()
    wide, narrow = answer.interval("n", 0.99), answer.interval("n", 0.5)
    assert all(a <= c and d <= b for (a, b), (c, d) in zip(wide, narrow, strict=True))
    assert "north" in repr(answer) and "epsilon 1, delta 0 for adding or removing one row" in repr(answer)
    assert answer._repr_html_().count("<tr>") == 1 + len(answer) == 4
    with pytest.raises(InvalidParameter, match="one of region, n, middle"):
        answer.interval("nothing", 0.95)
    with pytest.raises(InvalidParameter, match="depends on the data, one of n, middle"):
        answer.interval("region", 0.95)
    for bad in (0, 1, math.nan, "0.95", True):
        with pytest.raises(InvalidParameter, match="confidence"):
            answer.interval("n", bad)


@pytest.mark.parametrize("number", ["AVG(age)", "SUM(spent) / SUM(age)"])
def test_totals_are_shown_where_no_group_was_found(number: str) -> None:
    """The noise decides that, and must not decide an exception."""
    text = f"SELECT note, {number} AS m FROM visits GROUP BY ROLLUP(note)"
    with opened(rows(2)) as table:
        answer = table.sql(text, epsilon=1, delta=1e-9, rng=unsafe_seeded(1))
    assert len(answer) == 1
    ((low, high),) = answer.interval("m", 0.95)
    assert low <= high


def test_a_released_text_cannot_write_markup_or_move_the_cursor() -> None:
    frame = rows(300)
    frame["note"] = ["<script>x</script>" if i % 2 else "\x1b[2J" for i in range(300)]
    with opened(frame) as table:
        answer = table.sql("SELECT note, COUNT(*) FROM visits GROUP BY note", epsilon=10, delta=1e-3)
    assert len(answer) == 2
    assert "<script>" not in answer._repr_html_() and "\x1b" not in repr(answer)


def test_a_plan_reads_nothing() -> None:
    table = opened(rows(20))
    before = table.plan(
        "SELECT region, COUNT(*) AS n, AVG(age), MEDIAN(age) FROM visits GROUP BY region",
        epsilon=1,
        delta=1e-6,
    )
    table.close()
    text = "SELECT region, COUNT(*) AS n, AVG(age), MEDIAN(age) FROM visits GROUP BY region"
    after = table.plan(text, epsilon=1, delta=1e-6)
    assert repr(after) == repr(before)
    assert before.error("n") is not None and before.error("average_age") is None
    assert "clamped to [0, 120]" in repr(before)
    assert before.to_dict()["epsilon"] == 1
    with pytest.raises(InvalidParameter, match="one of 'n'"):
        before.error("count")
    with pytest.raises(TableClosed):
        table.sql(text, epsilon=1, delta=1e-6)


def test_stated_error_is_the_exact_quantile(visits: Table) -> None:
    planned = visits.plan("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", epsilon=0.5, delta=0)
    assert planned.error("n") == dp.NoisyHistogram(epsilon=0.5, size=3, neighbours=dp.AddRemove("row")).error(
        0.05
    )
    assert planned.epsilon == Fraction(1, 2) and planned.delta == 0
    sums = visits.plan("SELECT SUM(spent) AS s FROM visits", epsilon=0.5, delta=0)
    assert sums.error("s") == pytest.approx(
        dp.Laplace(sensitivity=50, epsilon=0.5, grid=0.01).error(0.05), abs=0.01
    )


def test_the_clause_can_only_tighten(visits: Table) -> None:
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) COUNT(*) AS n FROM visits"
    assert visits.plan(clause.format("0.25"), epsilon=1, delta=0).epsilon == Fraction(1, 4)
    with pytest.raises(Refused):
        visits.sql(clause.format("2"), epsilon=1, delta=0)
    for bad in ("1e-400", "-1", "0", "1e999", "'1'", "true", "nan"):
        with pytest.raises(Refused):
            visits.sql(clause.format(bad), epsilon=1, delta=0)


def test_bad_budgets_are_refused_before_anything_is_read(visits: Table) -> None:
    text = "SELECT COUNT(*) FROM visits"
    for bad in (*BAD_NUMBERS, 0, -0.0, 1e-400, 5e-324, 1e-7, None):
        with pytest.raises(InvalidParameter, match="epsilon"):
            visits.sql(text, epsilon=bad, delta=0)
    for bad in (*BAD_NUMBERS, 1, -1e-9, None):
        with pytest.raises(InvalidParameter, match="delta"):
            visits.sql(text, epsilon=1, delta=bad)
    with pytest.raises(Refused, match="threshold"):
        visits.sql("SELECT note, COUNT(*) FROM visits GROUP BY note", epsilon=1, delta=0)


def test_too_wide_a_quantile_is_refused_by_public_size() -> None:
    wide = Schema(
        "t", columns=(Integer("x", lower=0, upper=10**9),), unit=Row(), neighbours=dp.AddRemove("row")
    )
    with Table(pd.DataFrame({"x": [1, 2, 3]}), schema=wide) as table:
        with pytest.raises(Refused, match="values to choose from"):
            table.sql("SELECT MEDIAN(x) FROM t", epsilon=1, delta=0)
        with pytest.raises(Refused, match="denominator"):
            table.sql("SELECT QUANTILE(x, 0.1234567, contribution_bounds_per_row => (0, 9)) FROM t", **EXACT)
        narrow = "SELECT MEDIAN(x, contribution_bounds_per_row => (0, 1000)) FROM t"
        assert table.sql(narrow, **EXACT).rows == ((2,),)


EVERYTHING = (
    "SELECT region, COUNT(*) AS n, COUNT(age) AS c, SUM(spent) AS s, AVG(age) AS a, VARIANCE(spent) AS v, "
    "STDDEV_POP(age) AS d, MEDIAN(spent) AS m, APPROX_QUANTILES(age, 2) AS q FROM visits {} GROUP BY region"
)


def datasets() -> dict[str, pd.DataFrame]:
    normal = rows(120)
    extremes = normal.copy()
    extremes["age"] = pd.array([(2**63 - 1, -(2**63))[i % 2] for i in range(120)], dtype="Int64")
    extremes["spent"] = [(math.inf, -math.inf, 1.8e308, 5e-324, -0.0, math.nan)[i % 6] for i in range(120)]
    extremes["who"] = "one"
    zero = normal.assign(age=pd.array([0] * 120, dtype="Int64"), spent=0.0, member=False)
    nothing = normal.copy()
    for name in nothing.columns:
        nothing[name] = pd.Series(
            [None] * 120, dtype=normal[name].dtype if name in ("age", "spent") else object
        )
    return {
        "normal": normal,
        "zero": zero,
        "missing": nothing,
        "extremes": extremes,
        "empty": normal.iloc[:0],
    }


@pytest.mark.parametrize("schema", [BY_ROW, BY_USER], ids=["row", "user"])
@pytest.mark.parametrize("where", ["", "WHERE 1 = 0", "WHERE age > 200"])
def test_every_data_set_gets_the_same_shape(schema: Schema, where: str) -> None:
    shapes = set()
    for frame in datasets().values():
        with opened(frame, schema) as table:
            text = EVERYTHING.format(where)
            answers = [table.sql(text, epsilon=e, delta=0, rng=unsafe_seeded(3)) for e in (0.001, 1000)]
        for answer in answers:
            shapes.add((answer.columns, answer.column("region"), tuple(map(_kinds, answer.rows))))
            _check_ranges(answer)
    assert len(shapes) == 1


def _check_ranges(answer: Answer) -> None:
    for name in answer.columns[1:]:
        for low, high in answer.interval(name, 0.9):
            assert low <= high
            ends = (*low, *high) if isinstance(low, tuple) and isinstance(high, tuple) else (low, high)
            assert all(math.isfinite(end) for end in ends)
    for row in answer.rows:
        assert 0 <= row[4] <= 120 and 0 <= row[5] <= 5000 and 0 <= row[6] <= 60
        assert -50 <= row[7] <= 50 and all(0 <= q <= 120 for q in row[8])


def _kinds(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_kinds(cell) if isinstance(cell, tuple) else type(cell).__name__ for cell in row)


def test_a_mean_of_nobody_is_the_middle_with_the_whole_range() -> None:
    with opened(rows(120)) as table:
        answer = table.sql("SELECT AVG(age) AS a, STDDEV(age) AS d FROM visits WHERE 1 = 0", **EXACT)
    assert answer.rows[0] == (60.0, pytest.approx(math.sqrt(120**2 / 4)))
    assert answer.interval("a", 0.95) == ((0.0, 120.0),)
    assert answer.interval("d", 0.95) == ((0.0, pytest.approx(math.sqrt(120**2 / 2))),)


def test_a_key_that_only_the_data_have_is_not_shown() -> None:
    frame = rows(120)
    frame["region"] = "canary-region"
    with opened(frame) as table:
        answer = table.sql("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", **EXACT)
    assert answer.rows == tuple((region, 0) for region in REGIONS)
    assert "canary" not in repr(answer) + answer._repr_html_() + str(answer.plan)


def test_the_charge_depends_on_the_request_alone() -> None:
    seen = set()
    for frame in datasets().values():
        with opened(frame, BY_USER) as table:
            answer = table.sql(EVERYTHING.format(""), epsilon=1, delta=1e-6)
            seen.add((answer.guarantee, repr(answer.plan)))
    assert len(seen) == 1


def test_canaries_of_one_user_are_nowhere(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    frame = rows(200)
    frame["note"] = [f"canary-{i}" for i in range(200)]
    frame["who"] = [f"canary-{i}" for i in range(200)]
    frame["region"] = "canary-region"
    said = ""
    with opened(frame, BY_USER) as table:
        for text in (
            EVERYTHING.format(""),
            "SELECT note, COUNT(*) FROM visits GROUP BY note",
            "SELECT note, region, COUNT(*) FROM visits GROUP BY ROLLUP(note, region)",
            "SELECT MAX(note) FROM visits",
            "SELECT COUNT(*) FROM visits WHERE note = 'x'",
            "SELECT SUM(note) FROM visits",
        ):
            try:
                answer = table.sql(text, epsilon=1, delta=1e-9)
                said += repr(answer) + answer._repr_html_() + repr(answer.blocks) + str(answer.guarantee)
            except DiscreetError as problem:
                said += repr(problem) + str(problem.__cause__) + str(problem.__context__)
        said += repr(table)
    assert "canary" not in said + caplog.text + "".join(capfd.readouterr())


def test_dates_as_keys() -> None:
    import datetime

    days = Schema(
        "t",
        columns=(Date("day", lower=datetime.date(2024, 1, 1), upper=datetime.date(2024, 1, 3)),),
        unit=Row(),
        neighbours=dp.AddRemove("row"),
    )
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-03", "2025-01-01"])})
    with Table(frame, schema=days) as table:
        answer = table.sql("SELECT day, COUNT(*) AS n FROM t GROUP BY day", **EXACT)
    assert answer.rows == tuple((datetime.date(2024, 1, d), n) for d, n in ((1, 1), (2, 0), (3, 2)))


def test_sums_beyond_64_bits_come_out_right() -> None:
    huge = 1 << 52
    wide = Schema(
        "t", columns=(Integer("x", lower=-huge, upper=huge),), unit=Row(), neighbours=dp.AddRemove("row")
    )
    with Table(pd.DataFrame({"x": [huge] * 5000}), schema=wide) as table:
        answer = table.sql("SELECT SUM(x) AS s FROM t", epsilon=10**6, delta=0)
        ((low, high),) = answer.interval("s", 1 - 1e-9)  # a fresh draw each time
    assert 5000 * huge > 1 << 64
    assert low <= 5000 * huge <= high
    assert high - low <= huge // 10**4


def keys_of(answer: Answer, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(answer.column(name) for name in names), strict=True))


def test_rows_are_sorted_by_the_keys_as_they_were_selected(visits: Table) -> None:
    end = "COUNT(*) AS n FROM visits GROUP BY member, region"
    first = visits.sql(f"SELECT region, member, {end}", **EXACT)
    assert keys_of(first, "region", "member") == [(r, m) for r in REGIONS for m in (False, True)]
    other = visits.sql(f"SELECT member, region, {end}", **EXACT)
    assert keys_of(other, "member", "region") == [(m, r) for m in (False, True) for r in REGIONS]
    counts = dict(zip(keys_of(other, "region", "member"), other.column("n"), strict=True))
    assert counts == dict(zip(keys_of(first, "region", "member"), first.column("n"), strict=True))
    partly = visits.sql(f"SELECT region, {end}", **EXACT)
    assert partly.column("region") == tuple(r for r in REGIONS for _ in range(2))


def test_totals_come_first_and_then_the_first_key_selected(visits: Table) -> None:
    cube = visits.sql(
        "SELECT region, member, COUNT(*) AS n FROM visits GROUP BY CUBE(member, region)", **EXACT
    )
    each = keys_of(cube, "region", "member")
    assert each[0] == (None, None)
    assert each[1 : 1 + len(REGIONS)] == [(region, None) for region in REGIONS]
    assert each[-2:] == [(None, False), (None, True)]


def test_found_groups_are_sorted_by_the_keys_as_they_were_selected(visits: Table) -> None:
    public = {"epsilon": 10**6, "delta": Fraction(1, 10), "large_delta": True}
    found = visits.sql("SELECT region, note, COUNT(*) AS n FROM visits GROUP BY note, region", **public)
    keys = keys_of(found, "region", "note")
    assert len(keys) == 3
    assert keys == sorted(keys, key=lambda key: (REGIONS.index(key[0]), key[1]))
    turned = visits.sql("SELECT note, region, COUNT(*) AS n FROM visits GROUP BY note, region", **public)
    again = keys_of(turned, "note", "region")
    assert again == sorted(again, key=lambda key: (key[0], REGIONS.index(key[1])))


def test_days_under_a_condition_are_shown_as_dates() -> None:
    days = pd.date_range("2020-01-01", periods=300)
    schema = Schema(
        "t",
        columns=(Date("day", lower=days[0].date(), upper=days[-1].date()),),
        unit=Row(),
        neighbours=dp.AddRemove("row"),
    )
    # Both days of the last column are even: it is computed in steps of two days.
    asked = "MEDIAN(day) FILTER (WHERE day < '2020-02-01') AS early, MEDIAN(DATE '2021-01-01' - day) AS ago"
    asked += ", MAX(day) FILTER (WHERE day IN (DATE '2020-02-02', DATE '2020-02-04')) AS late"
    with Table(pd.DataFrame({"day": days}), schema=schema) as table:
        answer = table.sql(f"SELECT {asked} FROM t", **EXACT)
    assert answer.column("early") == (days[15].date(),)
    assert answer.column("ago") in ((216,), (217,))
    assert answer.column("late")[0] in (days[32].date(), days[34].date())


def test_true_is_not_one(visits: Table) -> None:
    shown = [visits.sql(f"SELECT COUNT(*), {word} AS t FROM visits", **EXACT) for word in ("TRUE", "1")]
    assert [type(answer.column("t")[0]) for answer in shown] == [bool, int]


def test_an_answer_says_what_of_a_user_counts_and_nothing_of_rows() -> None:
    """Whoever reads the number alone would take it for one about all rows."""
    question = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
    with opened(rows(40), BY_USER) as table:
        answer = table.sql(question, epsilon=1, delta=0)
    said = "at most 3 rows of one who in visits count; one who counts in at most 2 groups of each grouping"
    assert f"true values are of what counts: {said}" in repr(answer)
    assert said in answer._repr_html_()
    with opened(rows(40)) as table:
        assert "what counts" not in repr(table.sql(question, epsilon=1, delta=0))


def test_what_is_computed_from_a_mode_has_intervals_whatever_order_its_numbers_are_declared_in() -> None:
    """They reached from the first declared number to the last: (7, 2), and none at all under arithmetic."""
    column = Category("k", values=(7, 3, 11, 2))
    schema = Schema("t", columns=(column,), unit=Row(), neighbours=dp.AddRemove("row"))
    with Table(pd.DataFrame({"k": [11] * 50 + [3]}), schema=schema) as table:
        for text, ends in (
            ("SELECT MODE(k) + 1 AS m FROM t", (3, 12)),
            ("SELECT MODE(k) AS m FROM t UNION ALL SELECT COUNT(*) FROM t", (2, 11)),
        ):
            answer = table.sql(text, epsilon=50, delta=0)
            assert answer.interval("m", 0.95)[0] == ends
