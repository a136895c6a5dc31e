"""How well the peers' private models foretell the census, beside what `plan` picks, on the same three splits.

DP-EBM of interpret, and logistic and linear regression of diffprivlib, delta 1e-9 where they have one. `make
peers` gives each an environment of its own under `.peers`; DISCREET_PEERS names another place. One that is
not there is named and left out. All are told the declared bounds and values of all columns.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from benchmarks.learning import DELTA, EPSILONS, HOURS, LABEL, NUMBERS, declare_census, read_census, splits
from discreet.learning import Range, plan
from discreet.learning.estimators.linear_terms import UNITS, spread

PLACE = Path(os.environ.get("DISCREET_PEERS", Path(__file__).parent.parent / ".peers"))
SCRIPT = Path(__file__).parent / "peers" / "learning_models.py"
PATIENCE = 600  # seconds
LABELLERS = {"interpret DP-EBM": ("interpret", "boost"), "diffprivlib logistic": ("diffprivlib", "logistic")}
NUMBERERS = {"diffprivlib linear": ("diffprivlib", "linear")}


def ask(who: tuple[str, str], given: dict[str, Any], epsilon: float) -> tuple[Any, float] | str:
    """Return a peer's forecasts and its CPU seconds, or why there are none."""
    environment, kind = who
    interpreter = PLACE / environment / "bin" / "python"
    if not interpreter.exists():
        return "not installed"
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **given)
        command = [str(interpreter), str(SCRIPT), str(source), str(target), kind, str(epsilon)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return f"not done after {PATIENCE} s"
        if done.returncode:
            return f"failed: {done.stderr.strip().splitlines()[-1:]}"
        made = np.load(target)
        return made["told"], float(made["seconds"])


def compare(wanted_name: str, peers: dict[str, tuple[str, str]], measure: Any) -> None:
    census = read_census()
    if census is None:
        return
    _, names, sizes = census
    columns, table, wanted = declare_census(*census, wanted_name)
    others = [name for name in names if name != wanted_name]
    target = Range(0, sizes[HOURS] - 1) if wanted_name == HOURS else None
    terms = spread(columns, table)[:, 1:] / UNITS
    public: dict[str, Any] = {
        "sizes": [sizes[name] for name in others],
        "numbers": [name in NUMBERS for name in others],
        "length": len(others),
        "highest": sizes[wanted_name] - 1,
    }
    for epsilon in EPSILONS:
        best = plan(columns, len(wanted) * 4 // 5, epsilon=epsilon, delta=DELTA, target=target).best
        found: dict[str, list[Any]] = {}
        for train, test in splits(len(wanted)):
            start = time.process_time()
            model: Any = clone(best).fit(table[train], wanted[train])
            told = model.predict(table[test]) if target else model.predict_proba(table[test])[:, 1]
            took = time.process_time() - start
            found.setdefault(f"plan: {type(best).__name__}", []).append((*measure(told, wanted[test]), took))
            rows = {"codes": table[train], "terms": terms[train], "wanted": wanted[train]}
            rows |= {"other_codes": table[test], "other_terms": terms[test]}
            for name, who in peers.items():
                said = ask(who, {**rows, **public}, epsilon)
                if isinstance(said, str):
                    print(f"epsilon {epsilon:>4}  {name}: {said}")
                    continue
                found.setdefault(name, []).append((*measure(said[0], wanted[test]), said[1]))
        for name, each in found.items():
            one, other, took = np.mean(each, axis=0)
            print(f"epsilon {epsilon:>4}  {name:26} {one:9.3f} {other:7.3f}   {took:.1f} CPU s", flush=True)


def judge(told: Any, labels: Any) -> tuple[float, float]:
    """Return the accuracy and the AUC of probabilities."""
    return float(((told > 0.5) == (labels > 0)).mean()), float(roc_auc_score(labels, told))


def miss(told: Any, values: Any) -> tuple[float, float]:
    """Return the root mean square error of forecasts, and how many times that of the mean it is."""
    error = float(np.sqrt(((told - values) ** 2).mean()))
    return error, error / float(np.std(values))


def main() -> None:
    print("income: accuracy and AUC")
    compare(LABEL, LABELLERS, judge)
    print("hours a week: error, and in errors of the mean")
    compare(HOURS, NUMBERERS, miss)


if __name__ == "__main__":
    main()
