"""SmartNoise SQL on pandas."""

import pandas as pd
import snsql
from common import LOWER, UPPER, arguments, report

path, epsilon, _ = arguments()
frame = pd.read_parquet(path)
metadata = {
    "": {
        "main": {
            "visits": {
                "row_privacy": True,
                "censor_dims": False,
                "clamp_counts": False,
                "rows": len(frame),
                "region": {"type": "string"},
                "spent": {"type": "int", "lower": LOWER, "upper": UPPER},
            }
        }
    }
}


def ask(value):
    reader = snsql.from_connection(
        frame, privacy=snsql.Privacy(epsilon=epsilon, delta=1e-9), metadata=metadata, engine="pandas"
    )
    _, *rows = reader.execute(f"SELECT region, {value} AS v FROM main.visits GROUP BY region")
    return {region: float(v) for region, v in rows}


report(count=lambda: ask("COUNT(*)"), sum=lambda: ask("SUM(spent)"))
