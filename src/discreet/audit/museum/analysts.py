"""What [HRU13] prints for many analysts and does not hide what one of them asks, or the data.

The other faults of that source, in accuracy or only in the limit, are in `printed_games`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.promises import OneQueryToMany
from discreet.analysts.query_book import Caps, book_of
from discreet.analysts.tiny import COIN, HEADS, TAILS, tiny_data
from discreet.audit.museum.exhibit import Exhibit, Exhibited, Shown
from discreet.audit.museum.printed_games import InvertedRate, PrintedConstants
from discreet.core.card import Tiny
from discreet.core.neighbours import Neighbours, OneQuery, Replace
from discreet.core.rng import Rng
from discreet.mechanisms.scores import Monotone
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.plan import Form
from discreet.sparse.sparse import Sparse

ONE_QUERY = OneQueryToMany()
GOOD, BAD, HIDDEN = "good", "bad", "hidden"
"""How the shared hypothesis does on a query: well, badly, or badly on one that another analyst hides."""

_SIZE = 2  # a batch is meant to be closed once it has more than so many queries
_NEXT_TO_NOTHING = Fraction(1, 100)  # where the source claims perfect privacy


@dataclass(frozen=True, slots=True, repr=False)
class Closing(Exhibited):
    """When a batch of bad queries is closed: at one noisy size, or by AboveThreshold at public ticks."""

    neighbours: Neighbours = ONE_QUERY
    at_ticks: bool = False

    def _draw(self, data: tuple[str, ...], rng: Rng) -> int | None:
        """Return after which of the others' queries they see the hypothesis change."""
        return self._run_at_ticks(data, rng) if self.at_ticks else self._run_as_printed(data, rng)

    def _run_as_printed(self, data: tuple[str, ...], rng: Rng) -> int | None:
        step = AddNoise(DiscreteLaplace(2 / self.epsilon), sensitivity=Fraction(0))
        cutoff = _SIZE + int(rng.perform(step, 0))
        size = seen = 0
        for query in data:
            seen += query != HIDDEN
            size += query != GOOD
            if size > cutoff:
                return seen
        return None

    def _run_at_ticks(self, data: tuple[str, ...], rng: Rng) -> int | None:
        closing = AboveThreshold(
            sensitivity=Monotone(1),
            epsilon=self.epsilon,
            delta=0,
            threshold=_SIZE + 1,
            neighbours=OneQuery(),
        )
        batch: list[str] = []
        talk, seen = closing.open(batch, rng=rng), 0
        for query in data:
            batch.extend([query] if query != GOOD else [])
            if query != HIDDEN:
                seen += 1
                if talk.ask(len):
                    return seen
        return None


@dataclass(frozen=True, slots=True, repr=False)
class LastAnswer(Exhibited):
    """What the last analyst hears of her query: from one sparse vector for everybody, or from her own."""

    neighbours: Neighbours = ONE_QUERY
    positives: int = 1
    form: Form = Form.ONCE
    shared: bool = True

    def _draw(self, data: tuple[int, ...], rng: Rng) -> Any:
        sparse = Sparse(
            sensitivity=1, epsilon=10, delta=0, positives=self.positives, threshold=5, form=self.form
        )
        talk = sparse.open(data, rng=rng)
        for place in range(0 if self.shared else len(data) - 1, len(data)):
            if talk.closed:
                return "closed"
            heard = talk.ask(lambda values, place=place: values[place])
        return heard


@dataclass(frozen=True, slots=True, repr=False)
class SynopsisRounds(Exhibited):
    """The size of the published synopsis, for queries given by their number."""

    neighbours: Neighbours = ONE_QUERY
    cap: int | None = None

    def _draw(self, data: int, rng: Rng) -> int:
        actions = 2 * (data if self.cap is None else self.cap)
        return PrintedConstants.of(rows=1000, cells=2, actions=actions, epsilon=1, delta=1e-6).rounds


_WITHOUT = (BAD, BAD, GOOD, GOOD, BAD)
_LAST = LastAnswer(_NEXT_TO_NOTHING)


def _play(kind: type[AnalystGame]) -> Tiny:
    caps = Caps(analysts=2, queries=1)
    game = kind(
        universe=COIN,
        caps=caps,
        rows=2,
        epsilon=Fraction(1, 2),
        delta=Fraction(1, 1000),
        analyst_epsilon=1,
        analyst_delta=Fraction(1, 1000),
        rounds=3,
        density=1,
        neighbours=Replace("row"),
    )
    return Tiny(game, tiny_data(book_of(COIN, caps, {"first": [HEADS], "second": [TAILS]}), 2))


EXHIBITS = (
    Exhibit(
        name="analysts-printed-closing",
        wrong="a batch may be closed after any query: a change after a good one gives a hidden one away",
        source="[HRU13] Algorithm 5 and Claim 5.4",
        shown=Closing(Fraction(4)).against(
            [(_WITHOUT, (*_WITHOUT[:3], HIDDEN, *_WITHOUT[3:]))], at_ticks=True
        ),
    ),
    Exhibit(
        name="analysts-shared-cutoff",
        wrong="one analyst's positive answer closes the conversation of all",
        source="[HRU13] Lemma 2.8, item 3",
        shown=_LAST.against([((-20, 5), (20, 5))], shared=False),
    ),
    Exhibit(
        name="analysts-redrawn-threshold",
        wrong="whether another analyst's answer was positive tells how the shared threshold's noise lies",
        source="[HRU13] Lemma 2.8, item 3",
        shown=replace(_LAST, positives=2, form=Form.REDRAWN).against([((-20, 5), (5, 5))], shared=False),
    ),
    Exhibit(
        name="analysts-printed-rounds",
        wrong="the published synopsis is as long as the logarithm of the number of queries says",
        source="[HRU13] Algorithm 3, T = n max(ln|X|, ln|Q|)",
        shown=SynopsisRounds(Fraction(1)).against([(1000, 1001)], cap=2000),
    ),
    Exhibit(
        name="analysts-inverted-rate",
        wrong="the rate is upside down: sqrt(T ln(1 / delta)) / (2 epsilon)",
        source="[HRU13] Algorithm 4",
        shown=Shown(lambda: _play(InvertedRate), lambda: _play(AnalystGame)),
    ),
)
