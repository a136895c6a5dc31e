"""Audits for other people's mechanisms, as a pytest fixture and a marker.

pytest imports this file at every start, so it imports nothing heavy: the audits come in with the first
test that asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from discreet.audit.exact_report import ExactReport

MARK = "audit"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, for ``--strict-markers``."""
    config.addinivalue_line("markers", f"{MARK}: an audit of a privacy guarantee; select with -m {MARK}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses the fixture."""
    for item in items:
        if "audit_private" in getattr(item, "fixturenames", ()):
            item.add_marker(MARK)


@pytest.fixture
def audit_private() -> Callable[..., ExactReport]:
    """Return `assert_private`, which fails the test where a guarantee does not stand."""
    return assert_private


def assert_private(
    mechanism: Any,
    pairs: Any,
    *,
    script: Any = None,
    tight: bool = False,
) -> ExactReport:
    """Fail unless a mechanism keeps its claim on all pairs, by replay and by exact enumeration.

    Parameters
    ----------
    mechanism, pairs, script
        As in `discreet.audit.exact`.
    tight
        Whether some pair must also reach 0.8 of the claim.
    """
    from discreet import audit  # noqa: PLC0415 - only tests that audit pay for it
    from discreet.audit.runs import list_pairs  # noqa: PLC0415

    __tracebackhide__ = True
    given = list_pairs(pairs)
    report = audit.exact(mechanism, given, script)
    if not report.holds:
        pytest.fail(f"the guarantee does not stand: {report}")
    if tight and not report.tight:
        pytest.fail(f"the guarantee is loose: {report}")
    if mechanism.loss.failure == 0:  # a failure probability allows single runs to differ
        for pair in given:
            steps = audit.replay(mechanism, pair, script)
            if not steps.holds:
                pytest.fail(f"neighbours do not take the same steps on {pair!r}: {steps}")
    return report
