"""Every mechanism on every tiny pair: the same public steps, no step moved further than it allows for."""

import pytest

from discreet import audit
from discreet.audit.empirical import proportion_bounds
from discreet.catalogue import catalogue
from discreet.testing import unsafe_seeded

INSTANCES = [
    (f"{card}-{place}", tiny)
    for card in catalogue()
    for place, tiny in enumerate(card.tiny())
    if tiny.stepwise
]
NOT_STEPWISE = {
    "cropped-mean",
    "dynamic-density",
    "endless-counter",
    "hashed-density",
    "heavy-hitter-fraction",
    "incidence-fraction",
    "keyed-counter",
    "modular-incidence",
    "pan-private-counter",
    "pan-private-density",
    "pan-private-tree",
    "wide-tree-counter",
    "window-counter",
}
"""Cards whose noise is drawn before the data come that it hides: see test_pan_private*.py
and test_bijections.py of tests/exact/streams."""
MOST = 300  # pairs an instance; both ways round


def within_failure(tiny, pair, runs=300):
    """Tell whether replays fail no more often than the failure probability that was claimed.

    A false alarm has probability 1e-9. The exact audit of the same pairs is the sharp test; this one
    finds steps that go wrong at least ten times too often.
    """
    reports = (
        audit.replay(tiny.mechanism, pair, tiny.script, rng=unsafe_seeded(seed)) for seed in range(runs)
    )
    low, _ = proportion_bounds(sum(not report.holds for report in reports), runs, alpha=1e-9)
    return low <= tiny.mechanism.loss.failure and tiny.mechanism.loss.failure > 0


@pytest.mark.parametrize("tiny", [tiny for _, tiny in INSTANCES], ids=[name for name, _ in INSTANCES])
def test_neighbours_take_the_same_steps(tiny):
    pairs = list(tiny.pairs)
    moved = 0
    for place, (left, right) in enumerate(pairs[:: len(pairs) // MOST + 1]):
        for pair in ((left, right), (right, left)):
            report = audit.replay(tiny.mechanism, pair, tiny.script, rng=unsafe_seeded(place))
            assert report.holds or within_failure(tiny, pair), (pair, report)
            assert report.distances, "no random step was taken"
            moved += report.total > 0
    assert moved, "no pair moves any input: this instance tests nothing"


def test_all_other_cards_are_replayed():
    replayed = {name.rsplit("-", 1)[0] for name, _ in INSTANCES}
    assert {card.name for card in catalogue()} - replayed == NOT_STEPWISE
