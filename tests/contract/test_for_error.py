"""Whoever buys by error gets that error, and pays no more than it takes: every card that has `for_error`."""

import math
from fractions import Fraction

import pytest

from discreet.catalogue import catalogue
from discreet.core.errors import InvalidParameter, NoBound
from discreet.testing import _constructor_arguments

BETA = Fraction(1, 20)
AIMED = {"median-mechanism", "median-polytope"}
"""Cards whose threshold is a part of the wanted error."""
SLOW = AIMED | {"numeric-sparse", "reusable-holdout"}
"""Cards whose plans take seconds."""
OTHERWISE = {"split", "propose-test-release", "stable-slope", "population-count", "memoised-unary"} | {
    "facility-location",
    "punishing-exponential",
}
"""Cards that share a budget between parts, whose beta has another name here, or whose error is not smaller
at every larger epsilon: see their own tests."""


def cards():
    for card in catalogue():
        if hasattr(type(card.example()[0]), "for_error") and card.name not in OTHERWISE:
            yield pytest.param(card, id=card.name, marks=[pytest.mark.soak] if card.name in SLOW else [])


def public_of(card):
    """Return what the example was made of, less what `for_error` decides and what was paid for before."""
    mechanism, given = card.example()[0], _constructor_arguments(card)
    decided = {"epsilon", "start"} | ({"threshold"} if card.name in AIMED else set())
    return type(mechanism), {name: value for name, value in given.items() if name not in decided}


def bound(mechanism):
    """Return the error that is proved; infinity where nothing useful is."""
    try:
        return mechanism.error(BETA)
    except NoBound:
        return math.inf


@pytest.mark.parametrize("card", list(cards()))
@pytest.mark.parametrize("wanted", [Fraction(9, 10), Fraction(1), Fraction(5, 2)], ids=float)
def test_an_error_is_kept_and_not_overpaid(card, wanted):
    kind, public = public_of(card)
    error = bound(card.example()[0])
    if math.isinf(error):  # some have an error only at a larger epsilon, some at none
        try:
            bought = kind.for_error(alpha=wanted, beta=BETA, **public)
        except NoBound:
            return
        except InvalidParameter as refusal:
            assert "reachable" in str(refusal)
            return
        assert bought.error(BETA) <= wanted
        return
    alpha = Fraction(error) * wanted
    try:
        bought = kind.for_error(alpha=alpha, beta=BETA, **public)
    except InvalidParameter as refusal:  # some errors have a part that no budget buys off
        assert wanted < 1
        assert "reachable" in str(refusal)
        return
    assert bought.error(BETA) <= alpha
    if bought.epsilon < Fraction(1, 10**6):  # nothing is worse than the largest possible error
        assert alpha >= error
        return
    chosen = {name: getattr(bought, name) for name in ("threshold",) if card.name in AIMED}
    assert bound(kind(**public, **chosen, epsilon=bought.epsilon * Fraction(49, 50))) > alpha


def test_every_inverse_is_met():
    assert len(list(cards())) >= 25
