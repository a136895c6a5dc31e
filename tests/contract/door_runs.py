"""What is done with what callers hand in: made, armed, released, compared with what honest objects give."""

import contextlib
from fractions import Fraction
from typing import Any

import pandas
import pytest
from tests.contract.hostile_objects import (
    DATA,
    LINE,
    ROW,
    SWAP,
    Alarm,
    Disguised,
    ask_all,
    cells,
    honest_query,
    honest_workloads,
    queries,
    refilled,
    screaming,
    workloads,
)

import discreet as dp
from discreet.analysts.any_queries import AskedStatistics
from discreet.analysts.promises import QueriesAndData
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.statistics import Combined, HowMany, Ranked
from discreet.catalogue import catalogue, find
from discreet.core.errors import InvalidParameter, Refused
from discreet.queries import Union
from discreet.queries.workload import Workload
from discreet.query_release.explicit.small_database_candidates import AllMultisets, SmallDatabases
from discreet.query_release.linear.trees import CountTree
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.query_release.planning import predict
from discreet.testing import unsafe_seeded


def kind_of(card: str) -> Any:
    """Return the class of a card's mechanism."""
    return type(find(card).example()[0])


# What is done with it -----------------------------------------------------------------------------------


def compare(honest: list[Any], hostile: list[Any], run: Any) -> None:
    """Run everything: `run` hands an object in, arms the alarm once data are there, and returns the outcome.

    A hostile object is either refused, or answered as one of the honest ones is.
    """
    expected = []
    for each in honest:
        with contextlib.suppress(InvalidParameter, Refused):  # not every mechanism takes every kind
            expected.append(run(each))
    answered = 0
    for place, given in enumerate(hostile):
        Alarm.armed = False
        Alarm.calls.clear()
        try:
            found = run(given)
        except (InvalidParameter, Refused, TypeError, AttributeError):
            assert not Alarm.armed, f"{place}: refused only once data were there"
            found = None
        assert Alarm.calls == [], f"{place}: {type(given)}"
        if found is not None:
            answered += 1
            assert found in expected, f"{place}: {type(given)}"
    Alarm.armed = False
    assert answered >= 1, "refusing everything would prove nothing"


def armed(make: Any, data: Any, said: Any) -> Any:
    """Make a mechanism, then arm the alarm, then release."""
    Alarm.armed = False
    mechanism = make()
    Alarm.armed = True
    return said(mechanism.release(data, rng=unsafe_seeded(5)).value)


def released(card: str, **public: Any) -> Any:
    """Compare releases of the mechanism of a card, for the four cells of a line."""
    kind = kind_of(card)

    def run(workload: Any) -> Any:
        given = {"epsilon": 1, "delta": 1e-6, "neighbours": ROW, **public}
        make = lambda: kind(workload=workload, **{k: v for k, v in given.items() if v is not None})  # noqa: E731
        return armed(make, DATA, lambda synopsis: [synopsis.answer(query) for query in cells()])

    return lambda: compare(honest_workloads(), workloads(), run)


def split(workload: Any) -> Any:
    """The parts need mechanisms of their own: the hostile workload is the only part."""

    def make() -> Any:
        whole = Union([workload])
        part = kind_of("independent")(workload=workload, epsilon=1, delta=1e-6, neighbours=ROW)
        kind = kind_of("split")
        return kind(workload=whole, mechanisms=[part], epsilon=1, delta=1e-6, neighbours=ROW)

    return armed(make, DATA, lambda synopsis: [synopsis.answer(query) for query in cells()])


def small(**given: Any) -> Any:
    kind = kind_of("small-database")
    make = lambda: kind(workload=cells(), epsilon=1, rows=9, neighbours=SWAP, **given)  # noqa: E731
    return armed(make, DATA, lambda synopsis: [synopsis.answer(query) for query in cells()])


def tree(name: str, workload: Any, **given: Any) -> Any:
    kind = kind_of(name)
    make = lambda: kind(workload=workload, epsilon=1, delta=1e-6, neighbours=ROW, **given)  # noqa: E731
    return armed(make, DATA, lambda synopsis: [synopsis.answer(query) for query in cells()])


def conversation(card: str) -> Any:
    """Open the conversation of a card over the line."""
    public: dict[str, Any] = {"universe": LINE, "epsilon": 1, "neighbours": ROW, "rows": 9, "updates": 4}
    kinds = {each.name: type(each.example()[0]) for each in catalogue() if each.name.startswith("median")}
    if card == "multiplicative-weights":
        return MultiplicativeWeights(**public, delta=1e-6).open(DATA, rng=unsafe_seeded(5))
    more = {"size": 3} if card == "median-mechanism" else {}
    return kinds[card](**public, delta=1e-6, threshold=2, **more).open(DATA, rng=unsafe_seeded(5))


def asked(card: str, method: str) -> Any:
    """Compare answers: the door is inside the call, so only what data are handed to is an alarm."""

    def run(query: Any) -> Any:
        talk = conversation(card)
        first = getattr(talk, method)(query)
        Alarm.armed = True  # the record answers
        again = talk.last(honest_query())
        Alarm.armed = False
        return repr(first), repr(again)

    def check() -> None:
        compare([honest_query()], queries(), run)

    return check


def asked_many(query: Any) -> Any:
    talk = conversation("multiplicative-weights")
    answers = talk.ask_many(query)
    return answers.values.tolist(), answers.kinds.tolist(), talk.asked, talk.ask(query).values.tolist()


def asked_statistics(card: str) -> Any:
    """Compare means over records that the alarm would hear of."""
    people = [(0,), (2,), (3,)] * 200
    oracle = kind_of(card)(epsilon=4, universe=LINE, people=len(people), queries=2, risk=0.5)

    def run(query: Any) -> float:
        return oracle.open(people, rng=unsafe_seeded(5)).answer(query, 0.4)

    return lambda: compare([honest_query()], queries(), run)


def surveyed(query: Any) -> Any:
    """Let people report about a query: the alarm is armed once their records are there."""
    survey = kind_of("statistical-query")(epsilon=1, query=query, people=9)
    Alarm.armed = True
    return survey.estimate(survey.encode_many([(0,), (1,), (3,)] * 3, rng=unsafe_seeded(5))).value


CAPS = Caps(analysts=2, queries=5)


def book(card: str, given: Any) -> Any:
    """Let one analyst hand in a query, or a workload, among honest ones."""
    kind = kind_of(card)
    public: dict[str, Any] = {"universe": LINE, "caps": CAPS, "epsilon": 1, "delta": 1e-6, "neighbours": SWAP}
    public |= {"rows": 9} if card not in ("private-answers", "public-synopsis") else {}
    if "game" in card or card == "online-queries":
        public |= {"analyst_epsilon": 1, "analyst_delta": 1e-6}
    if "game" in card:
        public |= {"rounds": 4, "density": 1 if card == "analyst-game" else 3, "leftovers": 1}
    if card == "online-queries":
        public |= {"sizes": find(card).example()[0].sizes}
    if card == "public-synopsis":
        public |= {"workload": cells()}
        del public["universe"]
    if card == "separate-budgets":
        public |= {"rounds": 2}
    queries_ = given if issubclass(type(given), Workload) else [given]
    full = book_of(LINE, CAPS, {"acme": queries_, "blue": list(cells())})
    Alarm.armed = True
    delivery = kind(**public).release(QueriesAndData(DATA, full), rng=unsafe_seeded(5)).value
    return repr([delivery.answers(name, full) for name in full.names])


def books(card: str) -> Any:
    def check() -> None:
        compare([honest_query()], queries(), lambda query: book(card, query))
        compare(honest_workloads(), workloads(), lambda workload: book(card, workload))
        for false in (screaming(QueryBook)(LINE, CAPS, ["acme"]), Disguised(QueryBook)):
            with pytest.raises(InvalidParameter):
                QueriesAndData(DATA, false)
        mechanism, both = find(card).example()
        for false in (screaming(QueriesAndData)(both.histogram, both.book), Disguised(QueriesAndData)):
            with pytest.raises(InvalidParameter, match="a QueriesAndData"):
                mechanism.release(false)
        full = book_of(LINE, CAPS, {"acme": cells()})
        for changed in (full, full.page("acme").queries, full.list_asked("acme")[0]):
            with pytest.raises(AttributeError):
                changed.answers = ask_all
            assert not hasattr(changed, "__dict__")

    return check


MODE: dict[str, Any] = {
    "universe": LINE,
    "caps": Caps(analysts=1, queries=2),
    "sensitivity": 4,
    "epsilon": 1,
    "delta": 0,
    "neighbours": SWAP,
}


ONLINE: dict[str, Any] = {"rows": 9, "delta": 1e-6, "analyst_epsilon": 1, "analyst_delta": 1e-6}


def statistics(card: str, workload: Any) -> Any:
    mode = open_mode(card)
    many = mode.book({"acme": [Ranked(workload, rank=1), HowMany(workload, at_least=2)]})
    Alarm.armed = True
    delivery = mode.release(AskedStatistics(DATA, many), rng=unsafe_seeded(5)).value
    return repr(delivery.answers("acme", many))


def open_mode(card: str) -> Any:
    """Return a way to answer statistics of one analyst; sizes of those online are those of a larger table."""
    online = ONLINE | {"sizes": find(card).example()[0].sizes} if card == "online-statistics" else {}
    return kind_of(card)(**MODE | online)


def statistics_of(card: str) -> Any:
    def check() -> None:
        compare(honest_workloads(), workloads(), lambda workload: statistics(card, workload))
        mode = open_mode(card)
        for kind in (screaming(Ranked), screaming(HowMany, sensitivity=lambda self, neighbours: Fraction(0))):
            extra = {"rank": 1} if kind.__name__ == "Ranked" else {"at_least": 1}
            statistic = kind(cells(), **extra)
            for given in (statistic, Combined([(1000, statistic)])):
                with pytest.raises(Refused, match="no known kind"):
                    mode.book({"acme": [given]})
        refill = refilled(Ranked(cells(), rank=1), workload=workloads()[0])
        Alarm.armed = False
        many = mode.book({"acme": [refill]})
        Alarm.armed = True
        mode.release(AskedStatistics(DATA, many))
        assert Alarm.calls == []
        with pytest.raises(InvalidParameter):
            AskedStatistics(DATA, Disguised(type(many)))
        for false in (screaming(AskedStatistics)(DATA, many), Disguised(AskedStatistics)):
            with pytest.raises(InvalidParameter, match="an AskedStatistics"):
                mode.release(false)

    return check


def trees() -> list[Any]:
    return [screaming(CountTree)(4, (4,), (1, 1)), CountTree(4, (4,), (1, 1)), Disguised(CountTree)]


def candidates() -> list[Any]:
    return [screaming(AllMultisets)(LINE, 2), AllMultisets(LINE, 2), Disguised(SmallDatabases)]


# The table ----------------------------------------------------------------------------------------------


def check_release() -> None:
    def run(workload: Any) -> Any:
        made = dp.release((DATA, workload), epsilon=1, delta=1e-6, rng=unsafe_seeded(5))
        Alarm.armed = True
        return [made.value.answer(query) for query in cells()]

    compare_planned(run)


def compare_planned(run: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:  # how well errors are predicted is not the question
        patch.setattr(predict, "_NOISE_RUNS", (2, 2))
        patch.setattr(predict, "_FITS", (2, 2))
        compare(honest_workloads(), workloads()[:5], run)


def check_plan() -> None:
    def run(workload: Any) -> Any:
        made = dp.plan(workload, epsilon=1, delta=1e-6, rows=9)
        return [made.best.name, len(made.facts.workload)]

    compare_planned(run)


def check_curator() -> None:
    """The curator's door is the same: what `ask` hands on is written down."""
    people = dp.Table(
        pandas.DataFrame({"x": [0, 0, 2]}),
        schema=dp.Schema(
            "t", columns=(dp.Integer("x", lower=0, upper=3, null=0),), unit=dp.Row(), neighbours=ROW
        ),
    )
    with dp.Curator(people, epsilon=100, delta=1e-6, columns=["x"]) as curator:
        door = curator.analyst("acme")
        assert door.universe.shape == LINE.shape
        for given in (*queries(), *workloads()):
            Alarm.calls.clear()
            try:
                told = door.ask(given)
            except (InvalidParameter, Refused):
                continue
            finally:
                assert Alarm.calls == [], type(given)
            values = [told.value] if not isinstance(told, tuple) else [each.value for each in told]
            assert max(values) < 1000, type(given)
