"""The exact loss of every mechanism on all tiny pairs: never above the claim, and close to it where tight."""

import pytest

from discreet import audit
from discreet.catalogue import catalogue

INSTANCES = [(f"{card}-{place}", tiny) for card in catalogue() for place, tiny in enumerate(card.tiny())]


@pytest.mark.parametrize("tiny", [tiny for _, tiny in INSTANCES], ids=[name for name, _ in INSTANCES])
def test_the_exact_loss_is_within_the_claim(tiny):
    report = audit.exact(tiny.mechanism, tiny.pairs, tiny.script)
    assert report.holds, report
    assert report.resolved > 1 - 1e-9, "the enumeration leaves too much in doubt"
    if tiny.tight:
        assert report.tight, report


LOOSE = {
    "analyst-game",
    "approximate-leader",
    "best-of-runs",
    "buffered-counter",
    "endless-majority",
    "min-cut",
    "noisy-newton",
    "perturbed-counter",
    "propose-test-release",
    "query-game",
    "reusable-holdout",
    "separate-budgets",
    "set-cover-split",
    "set-cover-weighted",
    "square-root-counter",
    "stable-slope",
}
"""Their claims add up steps that no single tiny pair uses up, count draws that are never shown, or allow for
rounding that is next to nothing on any grid but a tiny instance's."""


def test_every_card_has_a_tight_instance():
    tight = {name.rsplit("-", 1)[0] for name, tiny in INSTANCES if tiny.tight}
    assert tight >= {card.name for card in catalogue()} - LOOSE
