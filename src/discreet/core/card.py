"""A card describes one algorithm to everything that lists algorithms.

Docs, the command line, the contract tests and the exact audits find an algorithm through its card
alone, so a new algorithm is three files: its module with a card, its test, its page.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from discreet.core.mechanism import Promise
from discreet.core.rng import Rng


@dataclass(frozen=True, slots=True)
class Tiny:
    """An instance small enough to enumerate.

    Attributes
    ----------
    mechanism
        The mechanism under audit, or the interactive mechanism.
    pairs
        Ordered pairs of neighbouring data, as many as can be afforded; all of them on the domain.
    run
        Run the mechanism once: (data, rng) -> a hashable output, or the whole transcript.
    tight
        Whether some pair must reach 0.8 of the claim.
    """

    mechanism: Promise
    pairs: Iterable[tuple[Any, Any]]
    run: Callable[[Any, Rng], Hashable]
    tight: bool = True


@dataclass(frozen=True, slots=True)
class Card:
    """What the catalogue knows of one algorithm.

    Attributes
    ----------
    name
        Short name with hyphens; the page is docs/algorithms/<name>.md.
    family
        The package it lives in: "mechanisms", "sparse", ...
    title, theorem, reference
        One line each; `reference` is a key of docs/references.bib with a place in it.
    example
        Makes a realistic mechanism, and the data for it: () -> (mechanism, data).
    tiny
        Makes instances for the exact audit.
    """

    name: str
    family: str
    title: str
    theorem: str
    reference: str
    example: Callable[[], tuple[Any, Any]]
    tiny: Callable[[], Iterable[Tiny]]

    def __str__(self) -> str:
        return self.name
