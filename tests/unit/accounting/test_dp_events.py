from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest
from dp_accounting import dp_event

from discreet.accounting.amplification import FixedSampleLoss, PoissonLoss
from discreet.accounting.composition import Composed
from discreet.accounting.dp_events import from_event, to_event
from discreet.core.errors import InvalidParameter, MissingExtra
from discreet.core.loss import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    ZCDPLoss,
)

HALF = Fraction(1, 2)

BOTH_WAYS = [
    GaussianLoss(HALF),
    LaplaceLoss(HALF),
    DiscreteLaplaceLoss(3, Fraction(4)),
    ZCDPLoss(HALF),
    PoissonLoss(GaussianLoss(HALF), Fraction(1, 4)),
    FixedSampleLoss(GaussianLoss(HALF), Fraction(1, 4)),
    Composed(()),
    Composed(((GaussianLoss(HALF), 10), (LaplaceLoss(HALF), 1))),
    Composed(((PoissonLoss(GaussianLoss(HALF), Fraction(1, 4)), 10),)),
]


@pytest.mark.parametrize("loss", BOTH_WAYS, ids=str)
def test_there_and_back(loss):
    assert from_event(to_event(loss, population=1000)) == loss


def test_randomized_response_is_rounded_up():
    loss = from_event(to_event(PureLoss(Fraction(1))))
    assert 1 <= loss.value <= 1 + Fraction(1, 10**12)
    many = from_event(dp_event.RandomizedResponseDpEvent(0.5, 4))
    assert float(many.value) == pytest.approx(math.log((0.5 + 0.125) / 0.125))


def test_counts_are_kept():
    event = dp_event.SelfComposedDpEvent(dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(2.0), 3), 5)
    assert from_event(event) == Composed(((LaplaceLoss(HALF), 15),))


def test_zcdp_with_an_offset():
    loss = from_event(dp_event.ZCDpEvent(0.01, 0.5))
    assert loss.renyi(2.0) >= 0.52
    assert math.isinf(loss.zcdp())


@pytest.mark.parametrize(
    "event",
    [
        dp_event.NonPrivateDpEvent(),
        dp_event.UnsupportedDpEvent(),
        dp_event.SingleEpochTreeAggregationDpEvent(1.0, 4),
        "an event",
    ],
)
def test_unsupported_events(event):
    with pytest.raises(InvalidParameter):
        from_event(event)


@pytest.mark.parametrize(
    "loss",
    [
        ApproxLoss(HALF, HALF),
        BoundedRangeLoss(HALF),
        GaussianLoss(HALF, Fraction(2)),
        FixedSampleLoss(LaplaceLoss(HALF), HALF),
    ],
    ids=str,
)
def test_losses_without_an_event(loss):
    with pytest.raises(InvalidParameter):
        to_event(loss)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", None)
    with pytest.raises(MissingExtra, match="accounting"):
        to_event(PureLoss(HALF))
