"""OpenDP with polars. It has no CASE: the value times the condition is the same number."""

import opendp.prelude as dp
import polars as pl
from common import LARGE, LOWER, ROWS_COUNTED, UPPER, arguments, report

asked = arguments()
dp.enable_features("contrib")
keys = pl.LazyFrame({"region": list(asked.regions)})
spent, large = pl.col("spent"), (pl.col("spent") > LARGE).cast(pl.Int64)


def opened():
    return dp.Context.compositor(
        data=pl.scan_parquet(asked.path),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("who")),
        privacy_loss=dp.loss_of(epsilon=asked.repeats * asked.epsilon),
        split_evenly_over=asked.repeats,
        margins=[dp.polars.Margin(max_length=100_000_000)],
    )


def ask(rows, value):
    groups = rows.group_by("region").agg(value.alias("v")).with_keys(keys)
    frame = groups.release().collect()
    return dict(zip(frame["region"], frame["v"], strict=True))


def bounded(context):
    return context.query().truncate_per_group(ROWS_COUNTED)


def total(name):
    return pl.col(name).fill_null(0).dp.sum(bounds=(LOWER, UPPER))


def mean(context):
    users = context.query().group_by("who").agg(pl.len().alias("n"))
    n = pl.col("n").cast(pl.Int64).fill_null(0).dp.sum(bounds=(1, ROWS_COUNTED))
    frame = users.select(n.alias("n"), dp.len(signed=True).alias("users")).release().collect()
    return frame["n"][0] / frame["users"][0]


report(
    asked,
    opened,
    count=lambda context: ask(bounded(context), dp.len(signed=True)),
    sum=lambda context: ask(bounded(context), total("spent")),
    mean=mean,
    case=lambda context: ask(bounded(context).with_columns((spent * large).alias("part")), total("part")),
)
