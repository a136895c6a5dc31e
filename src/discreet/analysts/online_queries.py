"""Online, one query to many: queries come one after the other, and a shared hypothesis learns from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.composition import Composed
from discreet.analysts.online_queries_plan import (
    PLANNED_BETA,
    Budgets,
    OnlineCandidate,
    OnlineSizes,
    candidates,
)
from discreet.analysts.promises import (
    Delivery,
    LearnsTogether,
    Leftover,
    OneQueryToMany,
    QueriesAndData,
)
from discreet.analysts.query_book import Caps, book_of
from discreet.analysts.tiny import BUDGET, COIN, HEADS, PEOPLE, TAILS, tiny_data
from discreet.core import checks
from discreet.core.bounds import require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Integers
from discreet.core.loss import Loss, PureLoss, ZCDPLoss
from discreet.core.mechanism import Conversation
from discreet.core.neighbours import Replace
from discreet.core.parameters import Exact, Public, derived, frozen, public
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.noise.selection import ExponentialChoice
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.query_release.synopses.synopsis import Weights


@dataclass(slots=True)
class _Epoch:
    """The hypothesis that answers now, the bad queries it has met, and what may end its time."""

    guess: Weights
    closing: Conversation[bool] | None
    batch: list[Integers] = field(default_factory=list)

    def is_full(self, size: int) -> bool:
        """Tell whether the batch seems full; the conversation is about the batch that the question holds."""
        return self.closing is not None and self.closing.ask(lambda _: len(self.batch), threshold=size)


@frozen
class OnlineQueries(LearnsTogether):
    """Answer queries tick by tick from one shared hypothesis that learns; each stays hidden from the others.

    At tick j every analyst's j-th place is answered. A query that the hypothesis answers badly gets a private
    answer, and joins a batch; once a batch seems full at the end of a tick, it changes the hypothesis.

    Privacy: (epsilon, delta) for one row, composed over one pure sparse-vector conversation an analyst; and
    for one query (analyst_epsilon, analyst_delta) towards all others together. [HRU13] Section 5, corrected.
    Accuracy: error(beta) rows for all answers at once, for beta of at least 0.05 and sizes left out.
    Time: O(places * cells + updates * samples * cells).

    Parameters
    ----------
    universe
        What all queries are over.
    caps
        The public limits of the query book; there are `caps.queries` ticks.
    rows, epsilon, delta, analyst_epsilon, analyst_delta
        As in `QueryGame`.
    sizes
        How it runs; worked out from the public quantities above where left out. Given sizes come without a
        bound on the error, and are not refused for lack of one: for audits and experiments.
    bound
        The share of the rows below which an error is useful. What cannot promise that is refused.
    neighbours
        The change of the data that is hidden: `Replace`.

    Raises
    ------
    Refused
        Where no sizes promise an error below `bound`. Says how many rows it would take.
    """

    promise = OneQueryToMany()
    sizes: Public[OnlineSizes | None, OnlineSizes] = public(checks.instance, OnlineSizes, default=None)
    bound: Exact = public(checks.probability, default=Fraction(1, 2))
    off: float = derived()

    def _complete(self) -> None:
        self.universe.require_dense()
        given: Any = self.sizes
        if given is None:
            best = self._find_best(self.bound)
            self._set(sizes=best.sizes(self.rows), off=best.rows_off(self.rows))
        else:
            self._set(off=float(self.rows))
        if self.analyst_loss.delta(self.analyst_epsilon) > self.analyst_delta:
            rule = "with a rate that keeps within the analysts' budget"
            raise InvalidParameter(name="sizes", rule=rule, value=self.sizes, hint="Take a smaller rate")

    def _find_best(self, bound: Fraction) -> OnlineCandidate:
        """Return the sizes with the smallest error, or refuse."""
        tried = candidates(self._budgets)
        best = min(tried, key=lambda each: each.rows_off(self.rows))
        if best.rows_off(self.rows) >= bound * self.rows:
            needed = min(each.rows_needed(bound) for each in tried)
            epsilon = float(self.epsilon) * needed / self.rows
            raise Refused(
                what=f"online queries on {self.rows} rows",
                why=f"the error it can promise is not below {float(bound):.3g} of them",
                way_out=f"It takes about {needed:.2g} rows, or epsilon {epsilon:.2g}; or use PrivateAnswers, "
                "which is perfectly private between analysts",
            )
        return best

    @property
    def _budgets(self) -> Budgets:
        return Budgets(
            self.universe.size,
            self.caps,
            self.epsilon,
            self.delta,
            self.analyst_epsilon,
            self.analyst_delta,
            self.neighbours,
        )

    @property
    def loss(self) -> Loss:
        """One pure conversation for each analyst; all that is shared is computed from their answers."""
        gate = self._budgets.gate(self.sizes.positives)
        return Composed(((PureLoss(gate.epsilon), self.caps.analysts),))

    @property
    def analyst_loss(self) -> Loss:
        """All closings together, and every sample.

        A query makes its batch larger, and a later one smaller if it crowds out another query: the first
        closing costs the noise of one side, the second that of the other. So the pair costs one epsilon.
        """
        closings = PureLoss(self._budgets.closing.epsilon)
        return Composed(((closings, 1), (ZCDPLoss(self.sizes.rho), 1)))

    def error(self, beta: checks.Number) -> float:
        """Return alpha in rows: no answer is off by more, but for beta.

        Thresholds are planned for one beta, and sizes that are given for none: otherwise there is no bound.
        """
        return require_useful(
            self.off if checks.probability(beta=beta) >= PLANNED_BETA else math.inf,
            trivial=float(self.rows),
            what="the answers of online queries",
            way_out=f"Leave the sizes out, and ask for a beta of at least {float(PLANNED_BETA):g}",
        )

    # The release -------------------------------------------------------------------------------------

    def _draw(self, data: QueriesAndData, rng: Rng) -> Delivery:
        self._check(data, rows=self.rows)
        book, histogram = data.book, data.histogram
        gate = self._budgets.gate(self.sizes.positives)
        gates = {name: gate.open(histogram, rng=rng) for name in book.names}
        answers: dict[str, list[Leftover]] = {name: [] for name in book.names}
        asked = {name: book.list_asked(name) for name in book.names}
        scores, history = np.zeros(self.universe.size, dtype=np.int64), []
        flat = np.full(self.universe.size, self.rows / self.universe.size)
        epoch = self._begin(flat, [], rng)
        for tick in track(range(self.caps.queries), total=self.caps.queries, label="answering"):
            for number, name in enumerate(book.names):
                place = number * self.caps.queries + tick
                if place in asked[name]:
                    count = self._answer(asked[name][place], gates[name], epoch)
                    answers[name].append(Leftover(place, count))
            if epoch.is_full(self.sizes.batch):
                scores = scores + sum(epoch.batch, np.zeros_like(scores))
                tally = self._sample(scores, rng)
                history.append((tick, tuple(tally.tolist())))
                epoch = self._begin(tally * (self.rows / self.sizes.samples), history, rng)
        return Delivery(epoch.guess, tuple((name, tuple(own)) for name, own in answers.items()))

    def _begin(self, weights: Any, history: list[Any], rng: Rng) -> _Epoch:
        """Publish a hypothesis, and watch over its batch unless it is the last one."""
        epoch = _Epoch(Weights(self.universe, weights, transcript=tuple(history)), None)
        if len(history) < self.sizes.updates:
            epoch.closing = self._budgets.closing.open((), rng=rng)
        return epoch

    def _answer(self, query: LinearQuery, gate: Conversation[Any], epoch: _Epoch) -> float:
        """Answer one query: from the hypothesis, or where that is bad by its owner's own conversation."""
        answer = epoch.guess.answer(query)
        guess = round(answer)
        for sign in (1, -1):
            if gate.closed:
                break
            gap = gate.ask(
                lambda histogram, sign=sign: sign * (int(query.evaluate(histogram)) - guess),
                threshold=self.sizes.threshold,
            )
            if gap is not None:
                epoch.batch.append(sign * query.vector().astype(np.int64).ravel())
                return float(min(max(guess + sign * gap, 0), self.rows))
        return answer

    def _sample(self, scores: Integers, rng: Rng) -> Integers:
        """Draw the cells of a hypothesis. Given the answers of the gates this does not read the data."""
        choose = ExponentialChoice(self.sizes.rate, sensitivity=Fraction(0))
        cells = [rng.perform(choose, scores) for _ in range(self.sizes.samples)]
        return np.bincount(cells, minlength=scores.size)


def _tiny() -> Iterator[Tiny]:
    caps = Caps(analysts=1, queries=2)
    mechanism = OnlineQueries(
        universe=COIN,
        caps=caps,
        rows=1,
        epsilon=16,
        delta=0,
        analyst_epsilon=400,
        analyst_delta=0.01,
        sizes=OnlineSizes(updates=1, samples=1, batch=1, rate=Fraction(2), positives=1, threshold=0),
        neighbours=Replace("row"),
    )
    yield Tiny(mechanism, tiny_data(book_of(COIN, caps, {"first": [HEADS, TAILS]}), 1))


def _example() -> tuple[OnlineQueries, QueriesAndData]:
    table, caps = Histogram.dense(PEOPLE, np.arange(64) % 7 * 100_000), Caps(analysts=2, queries=20)
    asked = {"acme": Marginals.of_order(PEOPLE, 1), "bolt": Marginals(PEOPLE, [["age", "smoker"]])}
    given = {"universe": PEOPLE, "caps": caps, "analyst_epsilon": 1, "analyst_delta": 1e-6, **BUDGET}
    return OnlineQueries(rows=int(table.total), **given), QueriesAndData(table, book_of(PEOPLE, caps, asked))


CARD = Card(
    title="Queries one after the other, answered from a hypothesis that learns and hides each of them",
    theorem="(epsilon, delta) for one row, and for one query towards all other analysts together",
    reference="[HRU13] Algorithm 5, corrected",
    example=_example,
    tiny=_tiny,
)
