"""A label for each combination of values: a class of 2**cells rules that is sampled cell by cell.

The exponential mechanism over all rules gives a rule the weight exp(-rate * its errors). Errors add up over
cells, so the weight is a product: labels of different cells are independent, and one coin a cell draws the
very law.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, read_error, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import down
from discreet.core.search import first_integer
from discreet.learning.pac.rule_learner import bound_agnostic
from discreet.learning.pac.rules import AllOf, LearnedRule, find_places
from discreet.local.frames import read_rows
from discreet.local.statistics.oracle import list_attributes
from discreet.mechanisms.scores import rate_within
from discreet.noise.selection import ExponentialChoice
from discreet.queries.universe import Universe
from discreet.query_release.base import require_rows

_MOST = 1 << 20


@frozen
class TableLearner(Mechanism[Any, LearnedRule]):
    """Return a rule that gives each combination of all attributes' values a label of its own.

    Privacy: (epsilon, 0) with bounded range, by the exponential mechanism over all 2**cells rules.
    Accuracy: error(beta) on fresh records beyond the best rule's; rows_for(alpha, beta) is the sample size.
    Time: O(records + cells).

    Parameters
    ----------
    universe
        What a record may be.
    label
        The name of the attribute that is foretold. It has two values.
    rows
        How many records there are: public for `Replace`, and what errors are stated for with `AddRemove`.
    epsilon
        The budget.
    neighbours
        `AddRemove` or `Replace`.

    Examples
    --------
    >>> universe = Universe([("age", range(5)), ("smokes", (0, 1)), ("ill", (0, 1))])
    >>> learner = TableLearner(
    ...     universe=universe, label="ill", rows=5000, epsilon=1, neighbours=AddRemove("person")
    ... )
    >>> learner.cells, learner.excess(0.05)
    (10, 9.0)
    """

    universe: Universe = public(checks.exactly, Universe)
    label: str = public(checks.text)
    rows: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    neighbours: Neighbours = public(require_rows)
    measures: ClassVar[bool] = False

    def _complete(self) -> None:
        _ = AllOf(self.universe, self.label, 1)  # refuses a label that is none
        if self.cells > _MOST:
            raise InvalidParameter(name="universe", rule=f"of at most {_MOST} combinations", value=self.cells)

    @property
    def axes(self) -> tuple[int, ...]:
        """The places of all attributes but the label."""
        return AllOf(self.universe, self.label, 1).features

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values they have."""
        return tuple(self.universe.shape[axis] for axis in self.axes)

    @property
    def cells(self) -> int:
        """How many combinations of their values there are."""
        return math.prod(self.shape)

    @property
    def moved(self) -> int:
        """By how much the difference of two rules' errors moves between neighbours."""
        return 1 if isinstance(self.neighbours, AddRemove) else 2

    @property
    def rate(self) -> Fraction:
        """The exponent of one error."""
        return rate_within(self.epsilon, self.moved)

    @property
    def loss(self) -> Loss:
        """Bounded range, over all cells together: a replaced record may move two."""
        return BoundedRangeLoss(self.rate * self.moved)

    def excess(self, beta: checks.Number) -> float:
        """Return how many more records the rule gets wrong than the best does, but for a probability beta."""
        missed = -math.log(down(checks.probability(beta=beta)))
        return float(math.floor((self.cells * math.log(2) + missed) / float(self.rate) + 1e-9))

    def error(self, beta: checks.Number) -> float:
        """Return by how much the rule errs more often on fresh records than the best one, but for beta."""
        third = checks.probability(beta=beta) / 3
        bound = bound_agnostic(self.cells * math.log(2), self.excess(third), self.rows, down(third))
        return require_useful(bound, trivial=1.0, what="the error", way_out=MORE)

    def rows_for(self, alpha: checks.Number, beta: checks.Number) -> int:
        """Return how many records make the error at most alpha, but for a probability beta."""
        wanted, missed = checks.probability(alpha=alpha), checks.probability(beta=beta)
        public: dict[str, Any] = {"universe": self.universe, "label": self.label, "epsilon": self.epsilon}

        def suffices(rows: int) -> bool:
            learner = TableLearner(rows=rows, neighbours=self.neighbours, **public)
            return read_error(learner, missed) <= wanted

        return first_integer(suffices, low=0)

    def _draw(self, data: Any, rng: Rng) -> LearnedRule:
        codes = read_rows(list_attributes(self.universe), data)
        if isinstance(self.neighbours, Replace) and len(codes) != self.rows:
            raise InvalidParameter(name="data", rule=f"{self.rows} records", got="another number of them")
        label = self.universe.names.index(self.label)
        places = find_places(codes, self.axes, self.shape) * 2 + codes[:, label]
        right = np.bincount(places, minlength=2 * self.cells).reshape(-1, 2).astype(np.int64)
        choice = ExponentialChoice(self.rate, Fraction(self.moved))
        second = tuple(bool(rng.perform(choice, counts.copy())) for counts in right)
        return LearnedRule(self.universe, label, self.axes, second)


def _tiny() -> Iterator[Tiny]:
    universe = Universe([("x", (0, 1)), ("ill", ("no", "yes"))])
    domain = [(0, "no"), (1, "no"), (1, "yes"), ("odd", None)]
    for neighbours in (AddRemove("row"), Replace("row")):
        learner = TableLearner(universe=universe, label="ill", rows=2, epsilon=1, neighbours=neighbours)
        pairs = [(list(a), list(b)) for a, b in neighbours.pairs(domain, 2)]
        yield Tiny(learner, pairs, tight=False)
    strong = TableLearner(universe=universe, label="ill", rows=6, epsilon=1, neighbours=AddRemove("row"))
    many = [(1, "yes")] * 6
    yield Tiny(strong, [(many, many[1:]), (many[1:], many)])
    swapped = TableLearner(universe=universe, label="ill", rows=6, epsilon=1, neighbours=Replace("row"))
    left = [(0, "yes")] * 5 + [(1, "no")]
    yield Tiny(swapped, [(left, [*left[:5], (1, "yes")]), ([*left[:5], (1, "yes")], left)], tight=False)


def _example() -> tuple[TableLearner, Any]:
    universe = Universe([("age", range(10)), ("smokes", (False, True)), ("ill", (0, 1))])
    learner = TableLearner(
        universe=universe, label="ill", rows=400, epsilon=1, neighbours=AddRemove("person")
    )
    places = [(place, age) for place in range(40) for age in range(10)]
    return learner, [(age, place % 3 == 0, int(age > 5 or place % 7 == 0)) for place, age in places]


CARD = Card(
    title="A label for each combination of values, drawn cell by cell",
    theorem="(epsilon, 0)-differential privacy; error on fresh records, over 2**cells rules",
    reference="[DR14] section 11.1; [KLNRS11]",
    example=_example,
    tiny=_tiny,
)
