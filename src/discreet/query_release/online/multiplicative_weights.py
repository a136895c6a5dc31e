"""Private multiplicative weights: adaptive questions without end, on one budget."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import BudgetTooSmall, InvalidParameter
from discreet.core.loss import Loss
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import Exact, MaybeExact, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import up
from discreet.core.search import first_integer
from discreet.core.sensitive import Sensitive
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import ProductQuery
from discreet.queries.universe import Universe
from discreet.query_release.base import WorkloadRelease, read_histogram, require_rows
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.conversation import BETA, WeightsConversation
from discreet.query_release.online.gate import GatePlan, GateSetting, plan_gate
from discreet.query_release.online.lives import Journal, Lives
from discreet.query_release.online.warm_start import all_marginals

QUERIES = 1000
"""How many tested questions a mechanism is planned for where its owner does not say."""

FINEST = 1 << 40
"""The most units of the grid one row may count."""

_SHARES = 50  # into how many parts epsilon is cut to look for the warm start's share


@frozen
class MultiplicativeWeights(Interactive[Histogram, Any]):
    """Answer counting questions from one hypothesis, and look at the data only where it is far off.

    Privacy: (epsilon, delta) for the whole conversation, the warm start included, however many questions are
    asked and however they are chosen. [HR10], with the gate of docs/algorithms/multiplicative-weights.md.
    Accuracy: error(beta) covers every answer up to the closing one. most_updates says how many measured
    answers teach the hypothesis everything.
    Time: O(cells of the question's table) a free answer, O(universe) a measured one.

    Parameters
    ----------
    universe
        What the questions are about; small enough for an array.
    epsilon, delta
        The budget of one conversation; delta may be 0.
    updates
        How many answers may be measured; after that the conversation closes.
    neighbours
        `AddRemove`: the number of rows is private, and measured. `Replace`: it is public, give `rows`.
    rows
        Under `Replace` the public number of rows. Under `AddRemove` a public guess: the hypothesis has that
        many rows, and their number is not measured.
    threshold
        By how much the hypothesis must be off before an answer is measured. By default it is planned: few
        updates are wasted on `queries` easy questions.
    queries
        How many tested questions to plan for. Nothing ends there: the threshold then grows, slowly.
    grid
        The step of weights between 0 and 1. Without it questions are predicates.
    start
        A mechanism that is run first; the hypothesis begins with what it released.

    Examples
    --------
    >>> universe = Universe([("age", range(10)), ("smoker", (False, True))])
    >>> public = {"delta": 1e-9, "updates": 10, "neighbours": AddRemove("person")}
    >>> MultiplicativeWeights(universe=universe, epsilon=1, **public).error(0.05)
    301.0
    """

    universe: Universe = public(checks.instance, Universe)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    updates: int = public(checks.integer, 1)
    neighbours: Neighbours = public(require_rows)
    rows: int | None = public(checks.integer, 1, default=None)
    threshold: MaybeExact = public(checks.positive, default=None)
    queries: int = public(checks.integer, 1, default=QUERIES)
    grid: MaybeExact = public(checks.positive, default=None)
    start: WorkloadRelease | None = public(checks.instance, WorkloadRelease, default=None)

    def _complete(self) -> None:
        self.universe.require_dense()
        if self.scale > FINEST:
            raise InvalidParameter(name="grid", rule="at least 2**-40", value=self.grid)
        if isinstance(self.neighbours, Replace) and self.rows is None:
            raise InvalidParameter(name="rows", rule="given where neighbours replace a row", value=None)
        start = self.start
        if start and (start.workload.universe, start.neighbours) != (self.universe, self.neighbours):
            raise InvalidParameter(name="start", rule="over this universe and these neighbours", got="others")
        _ = self.plan  # refuses what cannot be planned

    @classmethod
    def warm(
        cls,
        *,
        order: int,
        alpha: checks.Number,
        epsilon: checks.Number,
        delta: checks.Number,
        **public: Any,
    ) -> Self:
        """Return a mechanism that starts from all marginals of up to `order` attributes.

        Their share of the budget is planned from public facts: as much as leaves tested answers an error of
        at most alpha, at beta 1/20.
        """
        whole, wanted = checks.positive(epsilon=epsilon), checks.positive(alpha=alpha)
        sets, weights = all_marginals(public["universe"], checks.integer(1, order=order))
        workload = Marginals(public["universe"], sets)

        def make(share: int) -> MultiplicativeWeights:
            start = ResidualMarginals(
                workload=workload,
                epsilon=whole * share / _SHARES,
                delta=delta,
                neighbours=public["neighbours"],
                weights=weights,
            )
            return cls(epsilon=whole, delta=delta, start=start, **public)

        first = first_integer(lambda share: make(share).error(BETA) > wanted, low=0, high=_SHARES)
        if first == 1:
            raise InvalidParameter(
                name="alpha",
                rule="an error the gate can reach with nearly the whole budget",
                value=alpha,
                hint="Allow fewer updates or questions, or spend more",
            )
        return make(first - 1)  # type: ignore[return-value]

    @property
    def scale(self) -> int:
        """Units of the grid a row may count."""
        return 1 if self.grid is None else math.ceil(1 / self.grid)

    @property
    def sides(self) -> int:
        """2 where neighbours move all counts one way, so that each side has a test of its own; else 1."""
        return 2 if isinstance(self.neighbours, AddRemove) else 1

    @property
    def plan(self) -> GatePlan:
        """The noise laws, the threshold and the cost."""
        spent = None if self.start is None else self.start.loss.gaussian()
        epsilon, delta = self.epsilon, self.delta
        square, spread = spent or (Fraction(0), Fraction(0))
        if self.start is not None and (spent is None or self.delta == 0):
            epsilon, delta = epsilon - self.start.epsilon, delta - self.start.delta
            square = spread = Fraction(0)
        if epsilon <= 0 or delta < 0 or not self._affords(square, spread):
            raise BudgetTooSmall(name="start", rule="cheaper than the whole budget", value=self.start)
        threshold = None if self.threshold is None else math.ceil(self.threshold * self.scale)
        return plan_gate(
            GateSetting(
                sides=self.sides,
                shift=self.scale,
                updates=self.updates,
                extra=int(self.start is None and self.rows is None),
                epsilon=epsilon,
                delta=delta,
                square=square,
                spread=spread,
                queries=self.queries,
                bar=threshold,
            )
        )

    def _affords(self, square: Fraction, spread: Fraction) -> bool:
        """Tell whether the warm start leaves something of the budget."""
        return not square or self.start.loss.delta(self.epsilon) < self.delta  # type: ignore[union-attr]

    @property
    def loss(self) -> Loss:
        """The cost of a whole conversation."""
        apart = self.start is not None and (self.start.loss.gaussian() is None or self.delta == 0)
        return self.bought if apart else self.plan.loss

    def error(self, beta: checks.Number, *, queries: int | None = None) -> float:
        """Return alpha: with probability 1 - beta no tested answer up to the closing one is off by more.

        Answers that a warm start knows are off by at most the threshold, but for a probability of 1/20.

        Parameters
        ----------
        beta
            The probability of missing it.
        queries
            How many tested questions the statement is about; by default the number that is planned for.
        """
        b = checks.probability(beta=beta)
        k = self.queries if queries is None else checks.integer(1, queries=queries)
        raised = int(self.plan.raise_bars(k - 1, 1, queries=self.queries)[0]) - self.plan.bar
        return up(Fraction(self.plan.error(b) + raised, self.scale))

    def most_updates(self, *, gap: checks.Number, rows: int) -> int:
        """Return how many questions can be missed by `gap` or more, among `rows` rows, before none is.

        Every such question that is measured, with an error inside the stated one e, takes at least
        2 ((gap - 2 e) / rows)^2 off the relative entropy between table and hypothesis, which begins at no
        more than ln(universe).
        """
        count = checks.integer(1, rows=rows)
        learned = checks.positive(gap=gap) - 2 * Fraction(self.plan.value_error(BETA), self.scale)
        if learned <= 0:
            raise InvalidParameter(
                name="gap", rule="above twice the error of measured values", value=gap, hint="Spend more"
            )
        return math.ceil(math.log(self.universe.size) / (2 * float(learned / count) ** 2))

    def _begin(self, data: Sensitive[Histogram], rng: Rng) -> Conversation[Any]:
        return self._converse(data, rng, None)

    def open_kept(
        self, data: Histogram | Sensitive[Histogram], journal: Journal, *, rng: Rng = SYSTEM
    ) -> WeightsConversation:
        """Start a conversation that outlives its process, or go on with one.

        All lives together cost `guarantee`, once. Each later life has some measured answers less: the hidden
        thresholds are not written down, and drawing them anew is paid for.

        Parameters
        ----------
        data
            The same data as in every life before.
        journal
            Where it is written down; opened with this mechanism in every life.
        """
        checks.instance(Rng, rng=rng)
        if self.start is not None and not isinstance(self.start, ResidualMarginals):
            raise InvalidParameter(
                name="start", rule="ResidualMarginals, or none, where it outlives its process", got="another"
            )
        return self._converse(Sensitive.wrap(data), rng, Lives.read(journal))

    def _converse(self, data: Sensitive[Histogram], rng: Rng, lives: Lives | None) -> WeightsConversation:
        public = self.rows if isinstance(self.neighbours, Replace) else None
        histogram = read_histogram(data.reveal(), self.universe, neighbours=self.neighbours, rows=public)
        return WeightsConversation(self, histogram, rng, lives)


_PEOPLE = Universe([("age", range(8)), ("region", range(4)), ("smoker", (0, 1))])
_PAIRS = Marginals.of_order(_PEOPLE, 2)
_NINE = Universe([("a", range(9))])


def _example() -> tuple[MultiplicativeWeights, Histogram]:
    people = AddRemove("person")
    mechanism = MultiplicativeWeights(
        universe=_PEOPLE,
        epsilon=1,
        delta=1e-9,
        updates=5,
        neighbours=people,
        start=ResidualMarginals(workload=_PAIRS, epsilon=Fraction(1, 2), delta=1e-9, neighbours=people),
    )
    return mechanism, Histogram.dense(_PEOPLE, np.arange(64))


def ask_cells(*cells: int) -> Any:
    """Return a script that asks for some values of the first attribute, in turn, and says what was said."""

    def script(conversation: Any) -> Hashable:
        universe = conversation.mechanism.universe
        said: list[Any] = []
        for cell in cells:
            if not conversation.closed:
                mask = np.arange(universe.shape[0]) == cell
                answer = conversation.ask(ProductQuery(universe, (0,), "cell", masks=[mask]))
                said.append((answer.kind, round(answer.value)))
        return tuple(said)

    return script


def _tiny() -> Iterator[Tiny]:
    def table(*rows: int) -> Histogram:
        return Histogram.from_records(_NINE, np.array(rows).reshape(-1, 1))

    mechanism = MultiplicativeWeights(
        universe=_NINE, epsilon=6, delta=0, updates=1, neighbours=Replace("row"), rows=4, threshold=1
    )
    # The first question's distance grows, the second one's falls, and the hypothesis says 0 to both.
    yield Tiny(mechanism, [(table(0, 1, 1, 1), table(1, 1, 1, 1))], script=ask_cells(1, 0))


CARD = Card(
    title="Private multiplicative weights: adaptive questions answered from one hypothesis",
    theorem="(epsilon, delta)-differential privacy for any number of questions with c measured answers",
    reference="[HR10]; [DR14] section 4.2",
    example=_example,
    tiny=_tiny,
)
