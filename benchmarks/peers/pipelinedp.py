"""PipelineDP on its local backend."""

import pandas as pd
import pipeline_dp
from common import LOWER, REGIONS, UPPER, arguments, report

path, epsilon, _ = arguments()
frame = pd.read_parquet(path)
rows = list(zip(range(len(frame)), frame["region"], frame["spent"], strict=True))
extract = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0],
    partition_extractor=lambda row: row[1],
    value_extractor=lambda row: row[2],
)


def ask(metric):
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=0)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    values = {} if metric == pipeline_dp.Metrics.COUNT else {"min_value": LOWER, "max_value": UPPER}
    parameters = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[metric],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        **values,
    )
    result = engine.aggregate(rows, parameters, extract, public_partitions=list(REGIONS))
    budget.compute_budgets()
    return {key: float(found[0]) for key, found in result}


report(count=lambda: ask(pipeline_dp.Metrics.COUNT), sum=lambda: ask(pipeline_dp.Metrics.SUM))
