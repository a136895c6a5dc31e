"""A peer's classifier or regression, fitted to a table that a file holds; run by the peer's own Python.

The file has rows of the census as terms (numbers from -1 to 1 and ones of choices) and as codes, the bounds
of the codes, and what is foretold. What comes out is what it foretells of the other rows, and CPU seconds.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from typing import Any

import numpy as np

DELTA = 1e-9


def boost(given: Any, epsilon: float) -> Any:
    """Return the probabilities of DP-EBM."""
    sizes, numbers = given["sizes"], given["numbers"]
    model = importlib.import_module("interpret.privacy").DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=["continuous" if number else "nominal" for number in numbers],
        privacy_bounds={place: (0, int(size) - 1) for place, size in enumerate(sizes) if numbers[place]},
    )
    model.fit(given["codes"], given["wanted"])
    return model.predict_proba(given["other_codes"])[:, 1]


def logistic(given: Any, epsilon: float) -> Any:
    """Return the probabilities of diffprivlib's logistic regression, which needs the longest row's length."""
    longest = float(np.sqrt(given["length"]))
    models = importlib.import_module("diffprivlib.models")
    model = models.LogisticRegression(epsilon=epsilon, data_norm=longest, max_iter=500)
    model.fit(given["terms"], given["wanted"])
    return model.predict_proba(given["other_terms"])[:, 1]


def linear(given: Any, epsilon: float) -> Any:
    """Return the forecasts of diffprivlib's linear regression."""
    model = importlib.import_module("diffprivlib.models").LinearRegression(
        epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(0, float(given["highest"])), fit_intercept=True
    )
    model.fit(given["terms"], given["wanted"])
    return model.predict(given["other_terms"])


def main() -> None:
    source, target, kind, epsilon = sys.argv[1:]
    given = np.load(source)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = {"boost": boost, "logistic": logistic, "linear": linear}[kind](given, float(epsilon))
    np.savez(target, told=told, seconds=time.process_time() - start)


if __name__ == "__main__":
    main()
