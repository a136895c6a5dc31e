"""What people bring to a survey: a bit, and what a unit of epsilon is worth to them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import Bidder, Neighbours, Rows
from discreet.core.parameters import Exact, frozen, public
from discreet.games.common.game import Game, Money, Outcome
from discreet.mechanisms.reading import make_plain
from discreet.optimisation.common.labels import bare_array

Answer = tuple[int, Fraction | None]
"""A bit, and the price of a unit of epsilon; None for what is not for sale."""


@dataclass(frozen=True, slots=True)
class OneBit(Neighbours):
    """Hides one person's bit. **What each person asks for it is not hidden**: the insensitive-value model."""

    def __str__(self) -> str:
        return "changing one person's answer; what people ask for theirs is not hidden"

    def distance(self, left: Sequence[Any], right: Sequence[Any]) -> float:
        """Count the persons whose bits differ; there is no path where what somebody asks does."""
        if [asked for _, asked in left] != [asked for _, asked in right]:
            return math.inf
        return sum(int(a != b) for (a, _), (b, _) in zip(left, right, strict=True))

    def pairs(self, domain: Sequence[Any], size: int) -> Iterator[tuple[Rows, Rows]]:
        """All surveys of `size` persons who ask what the domain's do, that differ in one bit."""
        asked = list(dict.fromkeys(value for _, value in domain))
        for values in itertools.product(asked, repeat=size):
            for left, right in Bidder().pairs((0, 1), size):
                yield tuple(zip(left, values, strict=True)), tuple(zip(right, values, strict=True))


def require_one_bit(neighbours: Neighbours) -> Neighbours:
    """Return neighbours that must differ in a bit alone: who sells follows from what people ask."""
    checks.instance(Neighbours, neighbours=neighbours)
    if not isinstance(neighbours, OneBit):
        raise NeighboursMismatch(
            f"what people ask decides who is bought from: pass OneBit(), not {neighbours}"
        )
    return neighbours


@frozen
class Survey(Game):
    """What all surveys share: reports are pairs of a bit and what one unit of epsilon costs its owner.

    The decision is the estimated number of ones. A signal is the epsilon that was bought from a person, 0 for
    those who sold nothing, and a payment below 0 is what the person is paid.
    """

    players: int = public(checks.integer, 2)
    epsilon: Exact = public(checks.positive)

    @property
    def truthfulness(self) -> float:
        """Nothing is gained by asking for more or less than it costs; bits are taken as they are."""
        return 0.0

    def utility(self, kind: Any, outcome: Outcome, player: int) -> Money:
        """Return what is paid, less what the sold epsilon costs who values a unit of it so."""
        sold: Fraction = outcome.signals[player]
        return -outcome.payments[player] - sold * checks.exact(value=kind[1])

    def _read(self, data: Any) -> list[Answer]:
        answers = make_plain(bare_array(data))  # a price that a mask hides is not 0
        # One odd answer makes an array of objects of what would be a table: neither is refused.
        if isinstance(answers, np.ndarray) and (
            answers.ndim == 2 or (answers.ndim and answers.dtype == object)
        ):
            answers = answers.tolist()
        if not isinstance(answers, list | tuple):
            got = f"a {type(answers).__name__}"
            raise InvalidParameter(name="data", rule="a bit and a price a person", got=got)
        if len(answers) != self.players:
            rule = f"{self.players} answers, one a person"
            raise InvalidParameter(name="data", rule=rule, got="another number of them")
        return [_read_answer(answer) for answer in answers]


def _read_answer(answer: Any) -> Answer:
    """Read one person's; whatever is odd is a 0, and not for sale."""
    if type(answer) not in (list, tuple) or len(answer) != 2:
        return 0, None
    bit = answer[0] if type(answer[0]) in (bool, np.bool_) else checks.read_number(answer[0]) == 1
    value = checks.read_number(answer[1])
    return int(bit), value if isinstance(value, Fraction) and value >= 0 else None


def sort_offers(answers: Sequence[Answer]) -> list[tuple[Fraction, int]]:
    """Return what those who sell ask, with their numbers, from the cheapest on."""
    return sorted((value, place) for place, (_, value) in enumerate(answers) if value is not None)
