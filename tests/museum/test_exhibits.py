"""Every broken mechanism of the museum is flagged by its audit, and its repaired form passes the same one."""

import math

import pytest

from discreet import audit
from discreet.audit.museum import EXHIBITS
from discreet.audit.museum.exhibit import Exhibited
from discreet.audit.museum.protocol import Coin, Meter
from discreet.testing import unsafe_seeded


def flagged(tiny, kind, seed):
    """Run one audit and tell whether it objects."""
    if kind == "exact":
        return not audit.exact(tiny.mechanism, tiny.pairs, tiny.script).holds
    if kind == "replay":
        rng = unsafe_seeded(seed)
        return not all(audit.replay(tiny.mechanism, pair, tiny.script, rng=rng).holds for pair in tiny.pairs)
    assert kind == "precision"
    delta = 0 if tiny.mechanism.loss.epsilon(0) < 100 else 1e-2
    return not all(
        audit.precision_attack(
            tiny.mechanism, pair, samples=1_500, delta=delta, rng=unsafe_seeded(seed)
        ).holds
        for pair in tiny.pairs
    )


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=str)
def test_the_audit_flags_the_broken_one(exhibit):
    assert flagged(exhibit.broken(), exhibit.audit, seed=11)


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=str)
def test_the_audit_passes_the_repaired_one(exhibit):
    assert not flagged(exhibit.right(), exhibit.audit, seed=12)


def test_the_museum_is_well_stocked():
    names = [exhibit.name for exhibit in EXHIBITS]
    assert len(set(names)) == len(names) >= 17
    assert {exhibit.audit for exhibit in EXHIBITS} == {"exact", "replay", "precision"}


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=str)
def test_every_exhibit_says_what_is_wrong_and_promises_no_accuracy(exhibit):
    assert exhibit.wrong and exhibit.source
    assert exhibit.name == exhibit.name.lower().replace("_", "-")
    mechanism = exhibit.broken().mechanism
    if isinstance(mechanism, Exhibited | Meter):
        assert mechanism.error(0.05) == math.inf
        with pytest.raises(ValueError, match="beta"):
            mechanism.error(2)


def test_the_coin_is_its_law():
    # 20,000 draws; a flip rate off by a tenth of its value would be five standard deviations away.
    rng = unsafe_seeded(1)
    flips = sum(Coin().sample(0, rng) for _ in range(20_000))
    assert abs(flips / 20_000 - 1 / 4) < 4.5 * math.sqrt(3 / 16 / 20_000)
