"""Every refusal says in plain words what to ask instead; no name of a parser's class reaches an analyst."""

from __future__ import annotations

from fractions import Fraction

import pytest
from sql_schemas import count, plan

from discreet import AddRemove
from discreet.core.errors import DiscreetError, InvalidParameter, Refused
from discreet.data import Category, Decimal, Identifier, Integer, Row, Schema, Table, User, parse_schema
from discreet.data.ask import plan_question
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

SELECTS = [
    ("*", "SELECT *: single rows are never shown. Ask for aggregates, such as COUNT(*) or AVG(x)."),
    ("visits.*", "Ask for aggregates"),
    ("MAX(region)", "region: it is a category, not a number."),
    (
        "MODE(note)",
        "MODE(note): its values are not declared. GROUP BY it with COUNT(*), ORDER BY 2 DESC LIMIT 1.",
    ),
    ("COUNTIF(CAST(age / 2 AS TEXT) = '3')", "Round it first, as in CAST(FLOOR(x / 10) AS TEXT)"),
    ("ROUND(AVG(age)) || 'y'", "||: it is not part of the language. GROUP BY it, or select the parts"),
    ("DECODE(region, 'n', 1), COUNT(*)", "Write CASE x WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 0 END"),
    ("COUNTIF(region = ANY('{n,s}'))", "function ANY: it is not known here. Write x IN ('a', 'b')."),
    (
        "COUNTIF(day > TO_DATE('1.2.2020', 'DD.MM.YYYY'))",
        "TO_DATE: it takes 1 argument. Write DATE '2020-12-31'.",
    ),
    ("COUNTIF(day LIKE '2020%')", "Use BETWEEN, or LIKE of CAST(day AS TEXT)."),
    ("ANY_VALUE(region)", "ANY_VALUE: its answer is some person's own value. Use MODE(x)"),
    ("STRING_AGG(region, ',')", "STRING_AGG: it lists the values of single rows. GROUP BY the value"),
    ("ARRAY_AGG(region)", "ARRAY_AGG: it lists the values of single rows."),
    ("CORR(age, 5)", "CORR: it is computed of a constant. Use a column."),
    ("COUNT(DISTINCT 1)", "it is computed of a constant"),
    ("LOG(AVG(age))", "Write LN(x), LOG10(x) or LOG(2, x)"),
    ("TAN(AVG(age))", "compute it from the answer, which costs nothing"),
    ("ROUND(AVG(age), age)", "age: it is neither a key nor an aggregate"),
    ("ROUND(AVG(age), 0.5)", "ROUND: its second part is a whole number from -18 to 18"),
    ("SUM(age) / 'x'", "/: it is computed of a number, not of a number and text"),
    ("SUM(age) / age", "age: it is neither a key nor an aggregate. GROUP BY age, or aggregate it."),
    ("APPROX_QUANTILES(age, 4) + 1", "Use APPROX_QUANTILES(x, 100)[OFFSET(50)] or QUANTILE(x, 0.5)"),
    ("CAST(COUNT(*) AS TEXT)", "CAST(... AS TEXT): answers are numbers as they are. Leave it out."),
    ("MODE(region) FILTER (WHERE active)", "Put the condition in WHERE"),
    ("COUNT(*) OVER ()", "GROUP BY what parts the rows, and look at the groups"),
    ("1, 'x'", "SELECT: it asks for no aggregate"),
    ("AVG(region)", "region: it is a category, not a number. Use integer or decimal columns and numbers."),
    ("AVG(store)", "store: it is a category, not a number. Write CAST(store AS INT)."),
    ("MAX(active)", "active: it is true or false, not a number. Write CAST(active AS INT)."),
    ("AVG(note)", "note: it is free text, not a number. Use integer or decimal columns and numbers."),
    ("SUM(2 * day)", "day: it is a date, not a number."),
    ("AVG(user_id)", "user_id: it is an identifier, not a number."),
    (
        "COUNTIF(COUNT(*) > 3)",
        "COUNT in a row: it is a number of many rows. A condition on it stands in HAVING",
    ),
]


@pytest.mark.parametrize(("listed", "words"), SELECTS)
def test_what_is_selected(listed: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(f"SELECT {listed} FROM visits")
    assert words in str(caught.value)


QUERIES = [
    ("SELECT COUNT(*) FROM visit", "table visit: it is not declared. Tables: visits"),
    ("SELECT COUNT(*) FROM (VALUES (1))", "Name the table, with its conditions in WHERE"),
    ("SELECT DISTINCT region FROM visits", "what region may be is public: 'e', 'n', 's', 'w'"),
    (
        "SELECT DISTINCT COUNT(*) FROM visits GROUP BY region",
        "DISTINCT: rows of different groups could look alike",
    ),
    ("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM people", "Ask each SELECT on its own"),
    ("SELECT COUNT(*) FROM visits QUALIFY COUNT(*) > 1", "QUALIFY: it looks at no window. Use HAVING"),
    (
        "SELECT region, COUNT(*) FROM visits GROUP BY region HAVING region = 'x'",
        "Declared: 'e', 'n', 's', 'w'",
    ),
    ("SELECT COUNT(*) FROM visits HAVING COUNT(*)", "HAVING: it is not a condition"),
    ("SELECT COUNT(*) FROM visits ORDER BY 2", "it is not the place of a column, 1 to 1"),
    ("SELECT COUNT(*) FROM visits LIMIT -1", "LIMIT: it is a whole number"),
    ("SELECT COUNT(*) FROM visits LIMIT 5 PERCENT", "PERCENT: it is not part of the language"),
    ("SELECT COUNT(*) FROM visits ORDER BY APPROX_QUANTILES(age, 4)", "several quantiles have no order"),
    ("SELECT COUNT(*) FROM visits GROUP BY age / 10", "Write FLOOR(x / 10), or x // 10"),
    ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM a", "Write FROM visits"),
    ("SELECT COUNT(* FROM visits", "near"),
    ("SELECT COUNT(*) FROM visits WHERE age > 3 AND", "near"),
    (
        "SELECT region FROM visits GROUP BY region",
        "Add COUNT(*), SUM(x) or AVG(x); what region may be is public",
    ),
]


@pytest.mark.parametrize(("text", "words"), QUERIES)
def test_whole_queries(text: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT receipt, COUNT(*) FROM sales GROUP BY receipt",
        "SELECT AVG(n) FROM (SELECT receipt, COUNT(*) AS n FROM sales GROUP BY receipt) AS t",
    ],
)
def test_what_can_be_asked_of_an_identifier_that_is_not_the_unit(text: str) -> None:
    """The way out is no question that is refused in the same words."""
    unit = User(column="who", max_rows=2, max_groups=2)
    columns = (Identifier("who"), Identifier("receipt"))
    sales = Schema("sales", columns=columns, unit=unit, neighbours=AddRemove("who"))
    policy = Policy(epsilon=Fraction(1), delta=Fraction(0))
    with pytest.raises(Refused, match="GROUP BY receipt: it would show single units") as caught:
        plan_question(text, schemas=sales, policy=policy)
    asked = caught.value.way_out.split(": ")[1].replace("FROM t ", "FROM sales ")
    assert plan_question(asked, schemas=sales, policy=policy).columns
    with pytest.raises(Refused) as caught:
        plan_question("SELECT receipt FROM sales", schemas=sales, policy=policy)
    assert caught.value.way_out == "COUNT(DISTINCT receipt) counts them"
    there = parse("SELECT COUNT(*) FROM sales WHERE receipt IS NULL", schemas=sales, policy=policy)
    assert parse(to_sql(there, PlanTables.of(sales)), schemas=sales, policy=policy) == there
    for test in (
        "receipt = 'x'",
        "receipt IN ('x')",
        "receipt LIKE 'x%'",
        "who <> receipt",
        "receipt + 1 > 2",
    ):
        with pytest.raises(Refused, match="identifier"):
            plan_question(f"SELECT COUNT(*) FROM sales WHERE {test}", schemas=sales, policy=policy)


CONDITIONS = [
    (
        "age = 'old'",
        "age = 'old': age is a number and 'old' is text. Compare numbers with numbers, without quotes",
    ),
    ("NOT 'old' = age + 1", "... <> 'old': ... is a number and 'old' is text"),
    ("day > 3", "day > 3: day is a date and 3 is a number"),
    ("age < DATE '2020-01-05'", "age < 2020-01-05: age is a number and 2020-01-05 is a date"),
    ("age = TRUE", "age = TRUE: age is a number and TRUE is a truth value"),
    ("region = 3", "region = 3: region is compared with text in single quotes"),
    ("region < 'n'", "region < 'n': the values of region have no order"),
    ("store > 1", "store > 1: the values of store have no order. Use =, <> or IN, or CAST(store AS INT)."),
    ("EXISTS (SELECT 1)", "Name a public table's key"),
    ("age > (SELECT 1)", "Ask for its number first"),
    ("LOWER(region) = 'N'", "no declared value gives it"),
    ("SOUNDEX(region) = 'n'", "Known are CASE, IF, COALESCE"),
    ("age = NULL", "Write IS NULL"),
    ("1 / age > 1", "Write x / NULLIF(y, 0) or SAFE_DIVIDE(x, y)"),
    ("note || 'a' = 'b'", "GROUP BY it, or ask the owner to declare its values"),
    ("region RLIKE 'a**'", "a repetition is repeated"),
]


@pytest.mark.parametrize(("text", "words"), CONDITIONS)
def test_conditions(text: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        count(text)
    assert words in str(caught.value)


GOOD = """name = "visits"
neighbours = "add-remove"
[columns.age]
kind = "integer"
lower = 0
upper = 120
[columns.ward]
kind = "category"
values = ["north", "south"]
[columns.day]
kind = "date"
lower = 2024-01-01
upper = 2024-12-31
"""
MISTAKES = [
    ("lower = 0", "lowr = 0", "columns.age.lowr must be left out (known here: lower, upper, grid, null)"),
    ("upper = 120", "", "columns.age.upper must be given, got nothing. Write upper = ... in the schema"),
    (GOOD[GOOD.index("[") :], "", "schema.columns must be given, got nothing. Add [columns.<name>] for each"),
    ("lower = 0", "lower =", "schema must be valid TOML, got Invalid value (at line 5, column 8). Fill in"),
    ("lower = 2024-01-01", 'lower = "2024-01-01"', "Write it without quotes: 2024-12-31"),
    ('["north", "south"]', "[]", "ward.values must be a list of 1 to 100000 values, got 0 values"),
    ("upper = 120", "upper = -1", "age.lower must be below upper (-1), got age.lower=0"),
    ("upper = 120", "upper = 0.5", "age.upper must be a multiple of grid (1), got age.upper=0.5"),
]


@pytest.mark.parametrize(("right", "wrong", "words"), MISTAKES)
def test_mistakes_in_a_schema(right: str, wrong: str, words: str) -> None:
    assert parse_schema(GOOD).name == "visits"
    with pytest.raises(InvalidParameter) as caught:
        parse_schema(GOOD.replace(right, wrong, 1))
    assert words in str(caught.value)


AGES = Schema("ages", columns=(Integer("age", lower=0, upper=120),), unit=Row(), neighbours=AddRemove("row"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agee,ward\n31,canary\n", "got 2 of other names. Did you mean agee?"),
        ("agee;ward\n31;canary\n", "with commas between them"),
        ("31,canary\n64,canary\n", "a CSV file needs a header"),
    ],
)
def test_data_without_a_declared_column(tmp_path, text: str, words: str) -> None:
    data = tmp_path / "ages.csv"
    data.write_text(text)
    with pytest.raises(InvalidParameter) as caught:
        Table(data, schema=AGES)
    message = str(caught.value)
    assert "ages must be data with a column age" in message
    assert words in message
    assert "canary" not in message


def test_a_type_that_nobody_reads_is_named_and_concerns_its_own_column_only() -> None:
    """Undeclared columns are never read: one of complex numbers kept the whole frame shut."""
    pandas = pytest.importorskip("pandas")
    ages = pandas.DataFrame({"age": [31, 64], "ward": [1j, 2j]})
    ages["month"] = pandas.period_range("2024-01", periods=2, freq="M")
    with Table(ages, schema=AGES) as table:
        assert table.sql("SELECT COUNT(*) AS n FROM ages", epsilon=60, delta=0).rows == ((2,),)
    for odd, called in (("ward", "complex128"), ("month", r"period\[M\]")):
        with pytest.raises(InvalidParameter, match=rf"reads as Integer .*ages.age='{called}'"):
            Table(ages.assign(age=ages[odd]), schema=AGES)
    with pytest.raises(InvalidParameter, match="a frame's index is no column"):
        Table(ages.set_index("age"), schema=AGES)


def test_a_column_that_is_called_like_a_word_of_sql() -> None:
    schema = Schema(
        "t", columns=(Integer("when", lower=0, upper=9),), unit=Row(), neighbours=AddRemove("row")
    )
    public = {"schemas": (schema,), "policy": Policy(epsilon=1, delta=0)}
    with pytest.raises(Refused, match=r"near when: it is not understood.* stands in double quotes"):
        parse("SELECT COUNT(*) FROM t WHERE when > 3", **public)
    parse('SELECT COUNT(*) FROM t WHERE "when" > 3', **public)


def test_a_database_without_a_table_is_told_how_to_name_one(tmp_path) -> None:
    data = tmp_path / "ages.duckdb"
    data.write_text("")
    with pytest.raises(InvalidParameter, match=r"got data='.*ages.duckdb'. Write \('file.duckdb', 'table'\)"):
        Table(str(data), schema=AGES)


@pytest.mark.parametrize("name", ["ages.csv.gz", "ages.duckdb", "ages.parquet"])
def test_a_file_that_is_something_else_is_refused_in_our_own_words(tmp_path, name: str) -> None:
    data = tmp_path / name
    data.write_text("canary\n")
    with pytest.raises(DiscreetError) as caught:
        Table((data, "ages") if name.endswith("duckdb") else data, schema=AGES)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


def planned(text: str) -> QuestionPlan:
    schema = Schema(
        "ages",
        columns=(*AGES.columns, Category("ward", values=("n", "s"))),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    return plan_question(text, schemas=schema, policy=Policy(epsilon=Fraction(1), delta=Fraction(0)))


def test_a_plan_speaks_of_groups_where_there_are_some() -> None:
    alone = repr(planned("SELECT COUNT(*) AS n FROM ages"))
    assert "number of rows: discrete Laplace, scale 1" in alone
    assert "one row is protected" in alone
    assert "group" not in alone
    assert "n: at most 3 at 95 %\n" in alone
    grouped = repr(planned("SELECT ward, COUNT(*) AS n FROM ages GROUP BY ward"))
    assert "number of rows by ward" in grouped
    assert "at 95 %, in every group at once\n" in grouped


def test_columns_print_as_they_are_declared() -> None:
    assert repr(AGES.columns[0]) == "Integer('age', lower=0, upper=120)"
    pay = Decimal("pay", lower=0, upper=7.5, grid=0.01, null=0)
    assert repr(pay) == "Decimal('pay', lower=0, upper=7.5, grid=0.01, null=0)"
    assert eval(repr(pay)) == pay
    ward = Category("ward", values=("n", "s"), other="s")
    assert repr(ward) == "Category('ward', values=('n', 's'), other='s')"
    long = Category("id", values=tuple(range(1000)))
    assert repr(long) == "Category('id', values=(0, 1, 2, ..., 999))"
    assert repr(AGES) == (
        "Schema('ages', columns=(Integer('age', lower=0, upper=120),), unit=Row(), "
        "neighbours=AddRemove(unit='row'))"
    )


def test_large_sums_print_in_full(tmp_path) -> None:
    columns = (Decimal("pay", lower=0, upper=200, grid=0.5),)
    schema = Schema("pays", columns=columns, unit=Row(), neighbours=AddRemove("row"))
    data = tmp_path / "pays.csv"
    data.write_text("pay\n" + "120.5\n" * 20_000)
    with Table(data, schema=schema) as table:
        shown = repr(table.sql("SELECT SUM(pay) AS s, AVG(pay) AS a FROM pays", epsilon=9e5, delta=0))
    assert "2410000 [2410000, 2410000]" in shown
    assert "120.5 [" in shown
