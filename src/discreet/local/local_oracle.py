"""The oracle of the local model: all answer for themselves, and nobody more than they can pay."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from discreet.accounting.filters import PureFilter
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import BudgetExceeded, InvalidParameter, NoBound, Refused
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.neighbours import LocalReport
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.local import client
from discreet.local.batches import read_one
from discreet.local.distributions.square_wave import SquareWave
from discreet.local.frames import list_plainly
from discreet.local.frequencies.direct_response import DirectResponse
from discreet.local.laws.domains import list_entries
from discreet.local.laws.memos import KEEP, REPEATS, MemoKernel
from discreet.local.laws.wire import Header, SentReport, digest_domain
from discreet.local.means.hybrid_mean import HybridMean
from discreet.local.means.many_means import ManyMeans
from discreet.local.means.piecewise_mean import PiecewiseMean
from discreet.local.means.sign_mean import SignMean
from discreet.local.planning import ORACLES
from discreet.local.searches.prefix_search import PrefixSearch
from discreet.local.statistics.fourier_marginals import FourierMarginals
from discreet.local.statistics.statistical_query import StatisticalQuery
from discreet.local.steps import DrawReports
from discreet.local.surveys import LocalSurvey
from discreet.mechanisms.reading import type_name

_KNOWN = (
    *ORACLES,
    SignMean,
    PiecewiseMean,
    HybridMean,
    ManyMeans,
    PrefixSearch,
    StatisticalQuery,
    SquareWave,
    FourierMarginals,
)
"""Surveys whose tables were checked: a survey of any other class could answer anything."""
_LOCAL = LocalReport()


@frozen
class LocalOracle(Interactive[Any, SentReport]):
    """Let an algorithm ask people one by one, each survey chosen after all earlier reports.

    Privacy: (epsilon, 0) for each person, towards everybody, whatever is asked in whatever order: the budgets
    of all surveys that a person answers add up to at most epsilon. [DR14] Definitions 12.2 and 12.3.
    Accuracy: that of the surveys.
    Time: O(1) a report, and that of drawing it.

    Parameters
    ----------
    epsilon
        Each person's budget for all their reports together.
    people
        How many there are. It is public.

    Examples
    --------
    >>> oracle = LocalOracle(epsilon=1, people=3)
    >>> commute = DirectResponse(epsilon=0.5, domain=["bus", "car"])
    >>> with oracle.open(["bus", "car", "car"]) as people:
    ...     reports = [people.ask(commute, person=person) for person in range(3)]
    ...     left = people.left(0)
    >>> commute.estimate(reports).people, left
    (3, Fraction(1, 2))
    """

    epsilon: Exact = public(checks.positive)
    people: int = public(checks.integer, 1)
    neighbours: LocalReport = derived()

    def _complete(self) -> None:
        self._set(neighbours=_LOCAL)

    @property
    def loss(self) -> Loss:
        """What the whole conversation costs each person."""
        return PureLoss(self.epsilon)

    def error(self, beta: checks.Number) -> NoReturn:
        """Refuse: an error belongs to what is asked."""
        checks.probability(beta=beta)
        raise NoBound(
            what="LocalOracle",
            why="which surveys are asked is not known beforehand",
            way_out="Ask the survey for its error",
        )

    def _begin(self, data: Sensitive[Any], rng: Rng) -> OracleConversation:
        values = data.reveal()
        entries = values if isinstance(values, np.ndarray) and values.ndim else list_entries(values)
        if len(entries) != self.people:
            raise InvalidParameter(
                name="data", rule=f"a list of {self.people} values", got=f"type {type_name(values)}"
            )
        return OracleConversation(self, entries, rng)


class OracleConversation(Conversation[SentReport]):
    """People who answer surveys, each with a budget of their own."""

    def __init__(self, oracle: LocalOracle, values: Any, rng: Rng) -> None:
        super().__init__(oracle, rng)
        self._values = [list_plainly(each) for each in values]
        self._budgets: dict[int, PureFilter] = {}

    def left(self, person: int) -> Any:
        """Return what is left of a person's budget. It is public: what is asked decides it."""
        oracle: Any = self.mechanism
        place = checks.index(oracle.people, person=person)
        budget = self._budgets.get(place)
        return oracle.epsilon if budget is None else budget.left["epsilon"]

    def _answer(self, query: Any, **public: Any) -> SentReport:
        oracle: Any = self.mechanism
        if set(public) != {"person"}:
            raise InvalidParameter(name="person", rule="given, and nothing else", value=sorted(public))
        person = checks.index(oracle.people, person=public["person"])
        device = client.open_survey(_write_down(query))
        kernel = device.kernel  # what cannot be answered is refused before it is paid
        if isinstance(kernel, MemoKernel):
            raise Refused(what="report", why=REPEATS, way_out=KEEP)
        budget = self._budgets.setdefault(person, PureFilter(epsilon=oracle.epsilon, neighbours=_LOCAL))
        if not budget.try_spend(PureLoss(device.epsilon)):
            raise BudgetExceeded(
                asked=f"epsilon {float(device.epsilon):g}",
                left=f"epsilon {float(budget.left['epsilon']):g}",
                budget=f"person {person}",
                way_out="Ask somebody else, or for less",
            )
        code = self._rng.perform(
            DrawReports(kernel), read_one(device.domain, self._values[person], strict=False)
        )
        header = Header(device.kind, digest_domain(device.domain.describe()), device.epsilon)
        return SentReport(header, int(code).to_bytes(kernel.width, "little"))


def _write_down(query: Any) -> str:
    """Return a survey as text: what is drawn and what is charged are read from it, not from an object."""
    if type(query) is str:
        return query
    if type(query) not in _KNOWN:
        raise InvalidParameter(
            name="query",
            rule="a survey of discreet.local, or its text",
            got=f"a {type(query).__name__}",
        )
    text: str = LocalSurvey.survey.fget(query)  # type: ignore[attr-defined]
    return text


def _ask_twice(conversation: Any) -> tuple[str, ...]:
    """Ask the first person two surveys, the second chosen by the first report, and then the other person."""
    oracle = conversation.mechanism
    half = oracle.epsilon / 2
    first = conversation.ask(DirectResponse(epsilon=half, domain=2), person=0)
    domain = 2 if first.code else ["x", 1, 0]
    later = conversation.ask(DirectResponse(epsilon=half, domain=domain), person=0)
    other = conversation.ask(DirectResponse(epsilon=oracle.epsilon, domain=2), person=1)
    return tuple(report.to_json() for report in (first, later, other))


def _tiny() -> list[Tiny]:
    oracle = LocalOracle(epsilon=2, people=2)
    pairs = [([a, c], [b, c]) for a, b in ((0, 1), (1, 0)) for c in (0, 1)]
    pairs += [([c, a], [c, b]) for a, b in ((0, 1), (1, 0)) for c in (0, 1)]
    return [Tiny(oracle, pairs, script=_ask_twice)]


CARD = Card(
    title="The oracle of the local model, with a budget for each person",
    theorem="(epsilon, 0) for each person over all adaptively chosen surveys together",
    reference="[DR14] Definitions 12.2, 12.3",
    example=lambda: (LocalOracle(epsilon=1, people=4), [0, 1, 1, 0]),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
