"""A card describes one algorithm to everything that lists algorithms.

Docs, the command line, the contract tests and the exact audits find an algorithm through its card
alone, so a new algorithm is three files: its module with a card, its test, its page.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.mechanism import Conversation, Interactive, Mechanism
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
    script
        For interactive mechanisms: asks the questions and returns the whole transcript.
    tight
        Whether some pair must reach 0.8 of the claim.
    stepwise
        Whether the guarantee is proved step by step, so that a replay can check it. It is not where noise is
        drawn before the data come that it hides.
    """

    mechanism: Mechanism[Any, Any] | Interactive[Any, Any]
    pairs: Iterable[tuple[Any, Any]]
    script: Callable[[Conversation[Any]], Hashable] | None = None
    tight: bool = True
    stepwise: bool = True

    def run(self, data: Any, rng: Rng) -> Hashable:
        """Run the mechanism once and return its output as a hashable value."""
        if isinstance(self.mechanism, Mechanism):
            value = self.mechanism.release(data, rng=rng).value
            return tuple(value.tolist()) if isinstance(value, np.ndarray) else value
        if self.script is None:
            raise InvalidParameter(name="script", rule="given for an interactive mechanism", value=None)
        return self.script(self.mechanism.open(data, rng=rng))


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What the catalogue knows of one algorithm.

    Attributes
    ----------
    title, theorem, reference
        One line each; `reference` is a key of docs/references.bib with a place in it.
    example
        Makes a realistic mechanism, and the data for it: () -> (mechanism, data).
    tiny
        Makes instances for the exact audit.
    name
        Short name with hyphens; the page is docs/algorithms/<name>.md. By default that of the module which
        `tiny` stands in.
    family
        The package it lives in: "mechanisms", "sparse", ...; by default found in the same way.
    """

    title: str
    theorem: str
    reference: str
    example: Callable[[], tuple[Any, Any]]
    tiny: Callable[[], Iterable[Tiny]]
    name: str = ""
    family: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            _, family, *_, module = self.tiny.__module__.split(".")
            object.__setattr__(self, "name", module.replace("_", "-"))
            object.__setattr__(self, "family", family)

    def __str__(self) -> str:
        return self.name
