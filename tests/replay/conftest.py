"""What all replays share."""

import pytest

from discreet.query_release.online import own_errors


@pytest.fixture(autouse=True, scope="module")
def few_trials():
    """Learn answers' own errors from less: how well they are learnt is tried elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_errors, "TRIALS", 1)
        patch.setattr(own_errors, "_ASKED", 200)
        yield
