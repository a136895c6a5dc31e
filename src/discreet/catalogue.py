"""Every algorithm of the package, found through its card."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import lru_cache

from discreet.core.card import Card
from discreet.core.errors import InternalError, InvalidParameter

FAMILIES = (
    "mechanisms",
    "sparse",
    "optimisation",
    "query_release",
    "analysts",
    "streams",
    "local",
    "learning",
    "games",
)
"""The packages whose modules may hold a `CARD`, or several in `CARDS`."""


_FACES = "discreet.learning.estimators"  # they need scikit-learn, and the cards are those of the mechanisms


@lru_cache(maxsize=1)
def catalogue() -> tuple[Card, ...]:
    """Return every card, sorted by name.

    Raises
    ------
    InternalError
        When two algorithms have one name.
    """
    cards = tuple(sorted((card for family in FAMILIES for card in _cards(family)), key=str))
    names = [card.name for card in cards]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InternalError(f"these names stand on more than one card: {', '.join(repeated)}")
    return cards


def find(name: str) -> Card:
    """Return the card with a name."""
    known = {card.name: card for card in catalogue()}
    if name not in known:
        raise InvalidParameter(name="name", rule=f"one of {', '.join(known)}", value=name)
    return known[name]


def _cards(family: str) -> Iterator[Card]:
    package = importlib.import_module(f"discreet.{family}")
    for found in pkgutil.walk_packages(package.__path__, prefix=f"{package.__name__}."):
        if found.name.startswith(_FACES):
            continue
        module = importlib.import_module(found.name)
        if hasattr(module, "CARD"):
            yield module.CARD
        yield from getattr(module, "CARDS", ())
