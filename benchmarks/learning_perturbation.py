"""What output and objective perturbation would reach if a program had the exact minimiser, and what is built.

Both release a noisy minimiser, and their proofs are about the exact one; `NoisyMinimum`, which is output
perturbation, needs only one that is nearly flat. Here the minimiser is that of a solver, taken for exact, and
the noise is continuous and drawn from a seed: idealised, no privacy. Each gets the ridge that is best for it
on the test rows, of six: a favour that no private fit could have. Rows are scaled to length one, as proofs
want; the loss is the logistic one.

* output perturbation: the minimiser of sum loss + ridge/2 |w|^2 moves by at most 1 / ridge where a row comes
  or goes, and Gaussian noise is calibrated to that exactly [BW18];
* objective perturbation [KST12]: a random linear term, at the price that [RKW23] gives it. Residuals are at
  most 1 and curvatures at most 1/4, so the loss is at most ln(1 + 1 / (4 ridge)) + s^2/2 + s |Z|, s being one
  over the deviation of the term: twice the delta of Gaussian noise at epsilon less the logarithm. Less than
  half the noise of the printed calibration at epsilon 1. Ridges that leave no epsilon are not tried.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from benchmarks.learning import CANCER, DELTA, EPSILONS, LABEL, declare_census, read_census, splits
from discreet.accounting.calibrate import gaussian_sigma
from discreet.learning import Range, plan
from discreet.learning.estimators.linear_terms import UNITS, spread

RIDGES = 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0


def minimise(rows: Any, sides: Any, ridge: float, push: Any) -> Any:
    def objective(weights: Any) -> Any:
        margins = sides * (rows @ weights)
        value = np.logaddexp(0, -margins).sum() + ridge / 2 * weights @ weights + push @ weights
        pulls = -sides / (1 + np.exp(np.clip(margins, -500, 500)))
        return value, rows.T @ pulls + ridge * weights + push

    return minimize(
        objective, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}
    ).x


def perturb_output(rows: Any, sides: Any, ridge: float, epsilon: float, generator: Any) -> Any:
    sigma = float(gaussian_sigma(epsilon=epsilon, delta=DELTA)) / ridge
    found = minimise(rows, sides, ridge, np.zeros(rows.shape[1]))
    return found + generator.normal(0, sigma, len(found))


def perturb_objective(rows: Any, sides: Any, ridge: float, epsilon: float, generator: Any) -> Any:
    left = epsilon - math.log1p(1 / (4 * ridge))
    if left <= 0:
        return np.zeros(rows.shape[1])
    sigma = float(gaussian_sigma(epsilon=left, delta=DELTA / 2))
    if left < 1 / (2 * sigma**2):  # below, the half of the normal law that counts is not all there is
        return np.zeros(rows.shape[1])
    return minimise(rows, sides, ridge, generator.normal(0, sigma, rows.shape[1]))


def compare(name: str, columns: Any, table: Any, labels: Any) -> None:
    terms = spread(list(columns), table) / UNITS
    rows = terms / np.linalg.norm(terms, axis=1, keepdims=True)
    sides = np.where(labels > 0, 1.0, -1.0)
    for epsilon in EPSILONS:
        for way in (perturb_output, perturb_objective):
            means = [try_ridge(way, rows, sides, ridge, epsilon) for ridge in RIDGES]
            show(name, way.__name__, epsilon, max(means))
        outlook = plan(columns, len(labels) * 4 // 5, epsilon=epsilon, delta=DELTA)
        for each in outlook.predictions:
            found = []
            for train, test in splits(len(labels)):
                model = each.estimator.fit(table[train], labels[train])
                found.append(judge(model.decision_function(table[test]), labels[test] > 0))
            taken = "plan: " if each is outlook.predictions[0] else ""
            show(name, taken + each.name, epsilon, np.mean(found, axis=0).tolist())


def try_ridge(way: Any, rows: Any, sides: Any, ridge: float, epsilon: float) -> list[float]:
    found = []
    for seed, (train, test) in enumerate(splits(len(rows))):
        generator = np.random.default_rng(seed)  # noqa: TID251
        weights = way(rows[train], sides[train], ridge, epsilon, generator)
        found.append(judge(rows[test] @ weights, sides[test] > 0))
    means: list[float] = np.mean(found, axis=0).tolist()
    return means


def judge(scores: Any, labels: Any) -> tuple[float, float]:
    """Return the accuracy and the AUC of scores."""
    return float(((scores > 0) == labels).mean()), float(roc_auc_score(labels, scores))


def show(name: str, way: str, epsilon: float, found: list[float]) -> None:
    print(f"{name:14} {way:24} epsilon {epsilon:>4}  accuracy {found[0]:.3f}  AUC {found[1]:.3f}", flush=True)


def main() -> None:
    census = read_census()
    if census is not None:
        compare("census", *declare_census(*census, LABEL))
    cancer = load_breast_cancer()
    compare("breast cancer", [Range(0, upper) for upper in CANCER], cancer.data, cancer.target)


if __name__ == "__main__":
    main()
