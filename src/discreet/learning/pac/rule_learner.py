"""A rule of a finite class with few errors, by one exact choice among all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

from scipy.stats import beta as beta_law

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import Exact, Public, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, down
from discreet.core.search import first_integer
from discreet.learning.pac.rules import (
    AllOf,
    DecisionLists,
    LearnedRule,
    RuleClass,
    SmallTrees,
    Stumps,
    read_class,
)
from discreet.local.frames import read_rows
from discreet.local.statistics.oracle import list_attributes
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.scores import Monotone, Sensitivity
from discreet.queries.universe import Universe
from discreet.query_release.base import require_rows


@frozen
class RuleLearner(Mechanism[Any, LearnedRule]):
    """Return a rule of a class that foretells a label of private records nearly as well as the best of them.

    Privacy: (epsilon, 0), by permute-and-flip on the numbers of wrong records. [DR14] section 11.1.
    Accuracy: error(beta) on fresh records beyond the best rule's; `realizable_error` where some rule never
    errs; rows_for(alpha, beta) is the sample size the other way round.
    Time: O(records attributes), and one number for each rule and combination of values.

    Parameters
    ----------
    rules
        The class: `Stumps`, `AllOf`, `DecisionLists`, `GridHalfspaces` or `SmallTrees`.
    rows
        How many records there are: public for `Replace`, and what errors are stated for with `AddRemove`.
    epsilon
        The budget.
    neighbours
        `AddRemove` or `Replace`.

    Examples
    --------
    >>> universe = Universe([("age", range(10)), ("ill", (0, 1))])
    >>> learner = RuleLearner(
    ...     rules=Stumps(universe, "ill"), rows=5000, epsilon=1, neighbours=AddRemove("person")
    ... )
    >>> len(learner.rules), round(learner.error(0.05), 3)
    (20, 0.048)
    """

    rules: Public[RuleClass, RuleClass] = public(read_class)
    rows: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    neighbours: Neighbours = public(require_rows)
    choice: PermuteAndFlip = derived()
    measures: ClassVar[bool] = False

    def _complete(self) -> None:
        # One record more adds an error to some, and takes none from others.
        one_way = isinstance(self.neighbours, AddRemove)
        chosen = PermuteAndFlip(
            sensitivity=Monotone(1) if one_way else Sensitivity(1),
            epsilon=self.epsilon,
            size=len(self.rules),
            neighbours=self.neighbours,
        )
        self._set(choice=chosen)

    @property
    def loss(self) -> Loss:
        """The loss of one choice."""
        return self.choice.loss

    def excess(self, beta: checks.Number) -> float:
        """Return how many more records the rule gets wrong than the best does, but for a probability beta."""
        return self.choice.error(beta)

    def error(self, beta: checks.Number) -> float:
        """Return by how much the rule errs more often on fresh records than the best one, but for beta.

        Agnostic: no rule needs to be right. The best rule is one rule, whatever is drawn.
        """
        third = checks.probability(beta=beta) / 3
        bound = bound_agnostic(math.log(len(self.rules)), self.excess(third), self.rows, down(third))
        return require_useful(bound, trivial=1.0, what="the error", way_out=MORE)

    def realizable_error(self, beta: checks.Number) -> float:
        """Return how often the rule errs on fresh records where some rule never does, but for beta.

        A rule that errs with probability p is chosen only if the sample shows few of its errors, which are
        binomial: the largest p that is not refuted, over all rules.
        """
        half = checks.probability(beta=beta) / 2
        wrong = min(self.rows, math.floor(self.excess(half)))
        if wrong == self.rows:
            bound = 1.0
        else:
            bound = float(beta_law.isf(down(half) / len(self.rules), wrong + 1, self.rows - wrong))
        return require_useful(above(bound, 64), trivial=1.0, what="the error", way_out=MORE)

    def rows_for(self, alpha: checks.Number, beta: checks.Number, *, realizable: bool = False) -> int:
        """Return how many records make the error at most alpha, but for a probability beta."""
        wanted, missed = checks.probability(alpha=alpha), checks.probability(beta=beta)

        def suffices(rows: int) -> bool:
            learner = RuleLearner(
                rules=self.rules, rows=rows, epsilon=self.epsilon, neighbours=self.neighbours
            )
            kind = learner.realizable_error if realizable else learner.error
            return learner._reads(kind, missed) <= wanted

        return first_integer(suffices, low=0)

    @staticmethod
    def _reads(kind: Any, beta: checks.Number) -> float:
        try:
            return float(kind(beta))
        except NoBound:
            return math.inf

    def _draw(self, data: Any, rng: Rng) -> LearnedRule:
        codes = read_rows(list_attributes(self.rules.universe), data)
        if isinstance(self.neighbours, Replace) and len(codes) != self.rows:
            raise InvalidParameter(name="data", rule=f"{self.rows} records", got="another number of them")
        return self.rules.rule(int(self.choice.release(-self.rules.count_errors(codes), rng=rng).value))


def bound_agnostic(log_size: float, excess: float, rows: int, missed: float) -> float:
    """Bound the excess error on fresh records: Hoeffding for the chosen rule, over all, and for the best.

    Parameters
    ----------
    log_size
        The logarithm of the number of rules.
    excess
        How many more records of the sample the chosen one may get wrong.
    rows
        How many there are.
    missed
        The probability that each of the three parts may fail with.
    """
    chosen = math.sqrt((log_size - math.log(missed)) / (2 * rows))
    best = math.sqrt(-math.log(missed) / (2 * rows))
    return above(excess / rows + chosen + best, 16)


def _tiny() -> Iterator[Tiny]:
    universe = Universe([("x", (0, 1)), ("ill", ("no", "yes"))])
    domain = [(0, "no"), (1, "no"), (1, "yes"), ("odd", None)]
    for neighbours in (AddRemove("row"), Replace("row")):
        public: dict[str, Any] = {"rows": 2, "epsilon": 2, "neighbours": neighbours}
        stumps = RuleLearner(rules=Stumps(universe, "ill"), **public)
        yield Tiny(stumps, [(list(a), list(b)) for a, b in neighbours.pairs(domain, 2)], tight=False)
    wide = Universe([("x", range(16)), ("ill", (0, 1))])
    many = RuleLearner(rules=AllOf(wide, "ill", 1), rows=2, epsilon=1, neighbours=AddRemove("row"))
    yield Tiny(many, [([(3, 1)], []), ([], [(3, 1)])])
    lists = RuleLearner(
        rules=DecisionLists(universe, "ill", 1), rows=2, epsilon=1, neighbours=AddRemove("row")
    )
    yield Tiny(lists, [([(1, "yes")], []), ([], [(1, "yes")])], tight=False)


def _example() -> tuple[RuleLearner, Any]:
    universe = Universe([("age", range(10)), ("smokes", (False, True)), ("ill", (0, 1))])
    learner = RuleLearner(
        rules=SmallTrees(universe, "ill"), rows=400, epsilon=1, neighbours=AddRemove("person")
    )
    places = [(place, age) for place in range(40) for age in range(10)]
    return learner, [(age, place % 3 == 0, int(age > 5 or place % 7 == 0)) for place, age in places]


CARD = Card(
    title="A rule of a finite class, by one exact choice",
    theorem="(epsilon, 0)-differential privacy; error on fresh records, agnostic and realizable",
    reference="[DR14] section 11.1; [KLNRS11]; [MS20]",
    example=_example,
    tiny=_tiny,
)
