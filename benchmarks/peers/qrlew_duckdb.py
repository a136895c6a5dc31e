"""Qrlew. It writes SQL for PostgreSQL and runs nothing; DuckDB, which is faster, understands what it writes.

It drops no rows: what a user adds is scaled until its length is that of the rows that count. It spends
epsilon and delta on each number, and of a mean it makes two. Noise is the engine's: Gaussian, from RANDOM().
"""

import json

import duckdb
import pyqrlew
import sqlalchemy
from common import DELTA, LARGE, LOWER, ROWS_COUNTED, UPPER, arguments, report

asked = arguments()
FIELDS = "who TEXT, region TEXT, spent INTEGER"


def sized(part, rows):
    """Return a description of sizes with another number of rows."""
    if isinstance(part, dict):
        return {name: str(rows) if name == "size" else sized(one, rows) for name, one in part.items()}
    return [sized(one, rows) for one in part] if isinstance(part, list) else part


def opened():
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW visits AS SELECT * FROM read_parquet('{asked.path}')")
    ((rows,),) = connection.execute("SELECT COUNT(*) FROM visits").fetchall()
    # The names and types of the columns are read from a database with one row, the number of rows is public.
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.StaticPool)
    with engine.begin() as model:
        model.execute(sqlalchemy.text(f"CREATE TABLE visits ({FIELDS})"))
        model.execute(sqlalchemy.text("INSERT INTO visits VALUES ('', '', 0)"))
    found = pyqrlew.Dataset.from_database("visits", engine)
    described = str(found).splitlines()[0].removeprefix("Dataset: ")
    sizes = json.dumps(sized(json.loads(found.size), rows))
    declared = (
        pyqrlew.Dataset.from_str(described, found.schema, sizes)
        .with_range(None, "visits", "spent", LOWER, UPPER)
        .with_possible_values(None, "visits", "region", list(asked.regions))
    )
    return connection, declared


def execute(rows, text, *, numbers=1, rows_a_user=ROWS_COUNTED):
    connection, declared = rows
    rewritten = declared.relation(text).rewrite_with_differential_privacy(
        declared,
        [("visits", [], "who")],
        {"epsilon": asked.epsilon / numbers, "delta": DELTA / numbers},
        max_multiplicity=float(rows_a_user),
        max_multiplicity_share=1.0,
        max_privacy_unit_groups=ROWS_COUNTED,
    )
    return connection.execute(rewritten.relation().to_query(pyqrlew.Dialect.PostgreSql)).fetchall()


def ask(rows, value):
    return dict(execute(rows, f"SELECT region, {value} AS v FROM visits GROUP BY region"))


def mean(rows):
    # LEAST is what tells it the range of n.
    text = (
        f"SELECT AVG(LEAST(n, {ROWS_COUNTED})) AS v "
        "FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who) AS t"
    )
    return execute(rows, text, numbers=2, rows_a_user=1)[0][0]


report(
    asked,
    opened,
    count=lambda rows: ask(rows, "COUNT(*)"),
    sum=lambda rows: ask(rows, "SUM(spent)"),
    mean=mean,
    case=lambda rows: ask(rows, f"SUM(CASE WHEN spent > {LARGE} THEN spent ELSE 0 END)"),
)
