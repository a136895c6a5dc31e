"""How much worse a model that learns from a synopsis foretells than a learner of its own.

Census income, three splits, delta 1e-9. All of the budget goes into one adaptive release of all pairs of
columns, from which as many made-up rows are drawn as there are people; models of scikit-learn are fitted to
them at no further cost. Beside them stands what `plan` picks, which spends the budget on the label alone.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import discreet as dp
from benchmarks.learning import DELTA, EPSILONS, LABEL, NUMBERS, declare_census, read_census, splits
from discreet.learning import SyntheticModel, plan
from discreet.queries import Histogram, Universe
from discreet.query_release import Adaptive

MODELS = LogisticRegression(max_iter=1000), HistGradientBoostingClassifier()


def judge(scores: Any, labels: Any) -> tuple[float, float]:
    return float(((scores > 0.5) == labels).mean()), float(roc_auc_score(labels, scores))


def release(table: Any, names: list[str], sizes: dict[str, int], epsilon: float) -> Any:
    # Names of choices are texts: numbers would be taken for places in an order.
    values = {
        name: range(size) if name in (*NUMBERS, LABEL) else [str(code) for code in range(size)]
        for name, size in sizes.items()
    }
    universe = Universe([(name, values[name]) for name in names])
    mechanism = Adaptive(
        workload=dp.marginals(universe, order=2),
        epsilon=epsilon,
        delta=DELTA,
        neighbours=dp.AddRemove("person"),
    )
    return mechanism.release(Histogram.from_records(universe, table)).value.synthetic(len(table))


def main() -> None:
    census = read_census()
    if census is None:
        return
    whole, names, sizes = census
    columns, table, labels = declare_census(*census, LABEL)
    texts = [
        place for place, name in enumerate(each for each in names if each != LABEL) if name not in NUMBERS
    ]
    shown_rows = table.astype(object)
    shown_rows[:, texts] = table[:, texts].astype(str)
    for epsilon in EPSILONS:
        found: dict[str, list[Any]] = {}
        for train, test in splits(len(labels)):
            start = time.process_time()
            rows = release(whole[train], names, sizes, epsilon)
            took = time.process_time() - start
            for model in MODELS:
                taught = SyntheticModel(model, target=LABEL).fit(rows)
                told = judge(taught.predict_proba(shown_rows[test])[:, 1], labels[test])
                found.setdefault(f"rows, {type(model).__name__}", []).append((*told, took))
            start = time.process_time()
            best = plan(columns, len(train), epsilon=epsilon, delta=DELTA).best.fit(
                table[train], labels[train]
            )
            took = time.process_time() - start
            told = judge(best.predict_proba(table[test])[:, 1], labels[test])
            found.setdefault(f"plan: {type(best).__name__}", []).append((*told, took))
        for name, each in found.items():
            right, auc, took = np.mean(each, axis=0)
            shown = f"accuracy {right:.3f}  AUC {auc:.3f}  {took:.1f} CPU s"
            print(f"epsilon {epsilon:>4}  {name:38} {shown}", flush=True)


if __name__ == "__main__":
    main()
