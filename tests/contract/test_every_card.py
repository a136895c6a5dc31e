"""The contract that every algorithm of the catalogue keeps."""

import pytest

from discreet import testing
from discreet.catalogue import catalogue


@pytest.mark.parametrize("check", testing.CONTRACT, ids=lambda check: check.__name__)
@pytest.mark.parametrize("card", catalogue(), ids=str)
def test_keeps_the_contract(card, check):
    check(card)


@pytest.mark.parametrize("card", catalogue(), ids=str)
def test_the_card_is_filled_in(card):
    assert card.name == card.name.lower().replace("_", "-").strip("-")
    assert card.title and card.theorem and card.reference.startswith("[")
    assert type(card.example()[0]).__module__.startswith(f"discreet.{card.family}.")
    assert list(card.tiny()), "every card has an instance for the exact audit"


@pytest.mark.parametrize("card", catalogue(), ids=str)
def test_what_was_bought_as_a_pair_is_printed_as_that_pair(card):
    mechanism = card.example()[0]
    epsilon, delta = getattr(mechanism, "epsilon", None), getattr(mechanism, "delta", 0)
    if epsilon is not None and delta:
        pair = f"epsilon {float(epsilon):.6g} at delta {float(delta):.6g} for {mechanism.neighbours}"
        assert mechanism.words == pair
    else:
        assert str(mechanism.neighbours) in mechanism.words
