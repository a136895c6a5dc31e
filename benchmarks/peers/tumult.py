"""Tumult Analytics on a local Spark."""

import os
import sys

from common import LARGE, LOWER, ROWS_COUNTED, UPPER, arguments, report
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ColumnType,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

asked = arguments()
os.environ["PYSPARK_PYTHON"] = sys.executable


def opened():
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return Session.from_dataframe(
        privacy_budget=PureDPBudget(asked.repeats * asked.epsilon),
        source_id="visits",
        dataframe=spark.read.parquet(asked.path),
        protected_change=AddRowsWithID("who"),
    )


keys = KeySet.from_dict({"region": list(asked.regions)})


def bounded():
    # A new one every time: its methods change it.
    return QueryBuilder("visits").enforce(MaxRowsPerID(ROWS_COUNTED))


def ask(session, query):
    found = session.evaluate(query, PureDPBudget(asked.epsilon)).collect()
    return {row["region"]: float(row["v"]) for row in found}


def mean(session):
    numbers = QueryBuilder("visits").flat_map_by_id(
        lambda rows: [{"n": min(len(rows), ROWS_COUNTED)}], new_column_types={"n": ColumnType.INTEGER}
    )
    query = numbers.enforce(MaxRowsPerID(1)).average("n", low=1, high=ROWS_COUNTED, name="v")
    return session.evaluate(query, PureDPBudget(asked.epsilon)).collect()[0]["v"]


def case(session):
    parts = bounded().map(
        lambda row: {"part": row["spent"] if row["spent"] > LARGE else 0},
        new_column_types={"part": ColumnType.INTEGER},
        augment=True,
    )
    return ask(session, parts.groupby(keys).sum("part", low=LOWER, high=UPPER, name="v"))


report(
    asked,
    opened,
    count=lambda session: ask(session, bounded().groupby(keys).count(name="v")),
    sum=lambda session: ask(session, bounded().groupby(keys).sum("spent", low=LOWER, high=UPPER, name="v")),
    mean=mean,
    case=case,
)
