"""What tests of planned releases share."""

import pytest

from discreet.query_release.planning import predict


@pytest.fixture
def few_trials(monkeypatch):
    """Predict errors from two runs each: for tests of what a plan is about, not of how well it predicts."""
    monkeypatch.setattr(predict, "_NOISE_RUNS", (2, 2))
    monkeypatch.setattr(predict, "_FITS", (2, 2))
