"""Mean squares as a function of features: found again where they were drawn from one."""

import numpy as np
import pytest

from discreet.query_release.fitting.mean_squares import fit_mean_squares, fit_slope

GENERATOR = np.random.default_rng(4)  # noqa: TID251


def drawn(count=4000):
    features = np.column_stack([np.ones(count), GENERATOR.normal(2, 1, count), GENERATOR.random(count)])
    logs = 1 + 1.5 * features[:, 1] - features[:, 2]
    return features, logs, GENERATOR.normal(size=count) * np.exp(logs / 2)


def test_the_mean_of_squares_is_found_over_orders_of_magnitude():
    features, logs, errors = drawn()
    assert np.abs(fit_mean_squares(features, errors**2)(features) - logs).max() < 0.4


def test_a_feature_that_never_changes_and_errors_that_are_all_zero_do_no_harm():
    features = np.column_stack([np.ones(50), np.full(50, 3.0)])
    assert np.isfinite(fit_mean_squares(features, np.zeros(50))(features)).all()
    found = fit_mean_squares(features, np.full(50, 4.0))
    assert np.exp(found(features)) == pytest.approx(np.full(50, 4.0), rel=1e-3)


def test_features_that_are_nearly_the_same_do_not_send_it_away():
    size = GENERATOR.normal(0, 3, 900)
    features = np.column_stack([np.ones(900), size, size + 1e-9 * GENERATOR.normal(size=900), size**2])
    squares = np.exp(np.minimum(size, 4)) * GENERATOR.normal(size=900) ** 2
    found = fit_mean_squares(features, squares)(features)
    assert np.exp(found).mean() == pytest.approx(squares.mean(), rel=0.9)


def test_a_factor_that_depends_on_a_feature_is_found():
    features, _, _ = drawn()
    by = GENERATOR.normal(size=len(features))
    values = (0.2 + 0.1 * features[:, 1]) * by + 0.1 * GENERATOR.normal(size=len(features))
    assert np.abs(fit_slope(features, values, by)(features) - 0.2 - 0.1 * features[:, 1]).max() < 0.05
