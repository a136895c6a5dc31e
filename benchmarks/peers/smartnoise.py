"""SmartNoise SQL on pandas. It refuses aggregates of expressions and of subqueries with aggregates.

The nearest to a mean over users is the count of rows over the count of users. It spends epsilon on each.
"""

import pandas as pd
import snsql
from common import DELTA, LOWER, ROWS_COUNTED, UPPER, arguments, report

asked = arguments()


def execute(frame, text, epsilon):
    table = {
        "row_privacy": False,
        "max_ids": ROWS_COUNTED,
        "sample_max_ids": True,
        "censor_dims": False,
        "clamp_counts": False,
        "rows": len(frame),
        "who": {"type": "string", "private_id": True},
        "region": {"type": "string"},
        "spent": {"type": "int", "lower": LOWER, "upper": UPPER},
    }
    privacy = snsql.Privacy(epsilon=epsilon, delta=DELTA)
    metadata = {"": {"main": {"visits": table}}}
    reader = snsql.from_connection(frame, privacy=privacy, metadata=metadata, engine="pandas")
    return reader.execute(text)[1:]


def ask(frame, value):
    text = f"SELECT region, {value} AS v FROM main.visits GROUP BY region"
    return {region: float(v) for region, v in execute(frame, text, asked.epsilon)}


def mean(frame):
    text = "SELECT COUNT(*) AS n, COUNT(DISTINCT who) AS users FROM main.visits"
    ((n, users),) = execute(frame, text, asked.epsilon / 2)
    return float(n) / float(users)


report(
    asked,
    lambda: pd.read_parquet(asked.path),
    count=lambda frame: ask(frame, "COUNT(*)"),
    sum=lambda frame: ask(frame, "SUM(spent)"),
    mean=mean,
)
