"""PipelineDP on its local backend. The rows of a user are counted by pandas before the mean is asked for."""

import pandas as pd
import pipeline_dp
from common import LARGE, LOWER, ROWS_COUNTED, UPPER, arguments, report
from pipeline_dp import Metrics

asked = arguments()


def opened():
    frame = pd.read_parquet(asked.path)
    if asked.question == "mean":
        return frame
    return list(zip(frame["who"], frame["region"], frame["spent"], strict=True))


def ask(rows, metric, groups, value=lambda row: row[2], **bounds):
    extract = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=value,
    )
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=asked.epsilon, total_delta=0)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    noise = pipeline_dp.NoiseKind.LAPLACE
    parameters = pipeline_dp.AggregateParams(noise_kind=noise, metrics=[metric], **bounds)
    result = engine.aggregate(rows, parameters, extract, public_partitions=list(groups))
    budget.compute_budgets()
    return {key: float(found[0]) for key, found in result}


def mean(frame):
    counted = frame.groupby("who").size().clip(upper=ROWS_COUNTED)
    rows = [(who, "all", n) for who, n in counted.items()]
    bounds = {"min_value": 1, "max_value": ROWS_COUNTED}
    return ask(rows, Metrics.MEAN, ["all"], max_contributions=1, **bounds)["all"]


values = {"min_value": LOWER, "max_value": UPPER, "max_contributions": ROWS_COUNTED}
report(
    asked,
    opened,
    count=lambda rows: ask(rows, Metrics.COUNT, asked.regions, max_contributions=ROWS_COUNTED),
    sum=lambda rows: ask(rows, Metrics.SUM, asked.regions, **values),
    mean=mean,
    case=lambda rows: ask(
        rows, Metrics.SUM, asked.regions, lambda row: row[2] if row[2] > LARGE else 0, **values
    ),
)
