"""Tumult Analytics on a local Spark."""

import os
import sys

from common import LOWER, REGIONS, UPPER, arguments, report
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

path, epsilon, repeats = arguments()
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.memory", "6g")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
session = Session.from_dataframe(
    privacy_budget=PureDPBudget(2 * repeats * epsilon),
    source_id="visits",
    dataframe=spark.read.parquet(path),
    protected_change=AddOneRow(),
)
groups = QueryBuilder("visits").groupby(KeySet.from_dict({"region": list(REGIONS)}))


def ask(query):
    found = session.evaluate(query, PureDPBudget(epsilon)).collect()
    return {row["region"]: float(row["v"]) for row in found}


report(
    count=lambda: ask(groups.count(name="v")),
    sum=lambda: ask(groups.sum("spent", low=LOWER, high=UPPER, name="v")),
)
