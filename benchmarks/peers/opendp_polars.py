"""OpenDP with polars."""

import opendp.prelude as dp
import polars as pl
from common import LOWER, REGIONS, UPPER, arguments, report

path, epsilon, repeats = arguments()
dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_parquet(path),
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=2 * repeats * epsilon),
    split_evenly_over=2 * repeats,
    margins=[dp.polars.Margin(max_length=100_000_000)],
)
keys = pl.LazyFrame({"region": list(REGIONS)})


def ask(value):
    frame = context.query().group_by("region").agg(value.alias("v")).with_keys(keys).release().collect()
    return dict(zip(frame["region"], frame["v"], strict=True))


report(
    count=lambda: ask(dp.len(signed=True)),
    sum=lambda: ask(pl.col("spent").fill_null(0).dp.sum(bounds=(LOWER, UPPER))),
)
