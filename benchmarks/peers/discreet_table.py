"""The questions as this library is asked them, on a table over the file."""

from common import LARGE, LOWER, ROWS_COUNTED, UPPER, arguments, report

import discreet as dp
from discreet.data import Category, Identifier, Integer, Schema, Table, User

asked = arguments()
schema = Schema(
    "visits",
    columns=(
        Identifier("who"),
        Category("region", values=asked.regions),
        Integer("spent", lower=LOWER, upper=UPPER),
    ),
    unit=User(column="who", max_rows=ROWS_COUNTED, max_groups=ROWS_COUNTED),
    neighbours=dp.AddRemove("who"),
)


def ask(table, value):
    text = f"SELECT region, {value} AS v FROM visits GROUP BY region"
    answer = table.sql(text, epsilon=asked.epsilon, delta=0)
    return dict(zip(answer.column("region"), answer.column("v"), strict=True))


def mean(table):
    text = "SELECT AVG(n) AS v FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who)"
    return table.sql(text, epsilon=asked.epsilon, delta=0).column("v")[0]


report(
    asked,
    lambda: Table(asked.path, schema=schema),
    count=lambda table: ask(table, "COUNT(*)"),
    sum=lambda table: ask(table, "SUM(spent)"),
    mean=mean,
    case=lambda table: ask(table, f"SUM(CASE WHEN spent > {LARGE} THEN spent ELSE 0 END)"),
)
