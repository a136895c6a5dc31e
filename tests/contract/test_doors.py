"""Whatever callers hand in is read at the door: once data are there, nothing of theirs runs.

Every public entry that takes a query, a workload, a function, a metric, a graph or a set system is found by
walking the catalogue, and is given objects that keep what they are called with. What comes out must be, to
the last bit, what an honest object gives with the same randomness; or it is refused before data are read.
"""

import contextlib
import importlib
import inspect
import pkgutil
import re
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pandas
import pytest

import discreet as dp
from discreet import analysts, optimisation, query_release
from discreet.analysts.any_queries import AskedStatistics
from discreet.analysts.promises import QueriesAndData
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.statistics import Combined, HowMany, Ranked
from discreet.catalogue import catalogue, find
from discreet.core.errors import DiscreetError, InvalidParameter, Refused
from discreet.core.mechanism import Interactive, Promise
from discreet.core.neighbours import AddRemove, Bidder, Replace
from discreet.curator.curator import Analyst
from discreet.games import FacilityLocation
from discreet.optimisation.common.graphs import Vertices
from discreet.optimisation.k_median.metric import Metric
from discreet.optimisation.set_cover.systems import SetSystem
from discreet.queries import Histogram, Marginals, Predicates, Queries, Union, Universe
from discreet.queries.query import LinearQuery, PredicateQuery, ProductQuery, TableQuery
from discreet.queries.workload import Workload
from discreet.query_release.explicit.small_database_candidates import AllMultisets, SmallDatabases
from discreet.query_release.linear.trees import CountTree
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.query_release.planning import predict
from discreet.testing import unsafe_seeded

ROW, SWAP = AddRemove("row"), Replace("row")
LINE = Universe([("x", range(4))])
COUNTS = np.array([5, 0, 3, 1])
DATA = Histogram.dense(LINE, COUNTS)
HALF = np.array([True, False, True, False])


class Alarm:
    """Keeps every call that is made once data are there, and every call that data are handed to."""

    armed = False
    calls: list[str] = []  # noqa: RUF012 - one for all

    @classmethod
    def note(cls, name: str, *given: Any) -> None:
        private = any(isinstance(each, Histogram | np.ndarray) and not _public(each) for each in given)
        if cls.armed or private:
            cls.calls.append(name)


def _public(given: Any) -> bool:
    """Whether an array lists all codes of the line: the only array a caller's function may be asked about."""
    return isinstance(given, np.ndarray) and given.tolist() == [0, 1, 2, 3]


@pytest.fixture(autouse=True)
def silence():
    Alarm.armed = False
    Alarm.calls.clear()
    yield
    Alarm.armed = False


def screaming(base: type, **fields: Any) -> type:
    """Return a subclass whose every method and property keeps what it is called with, then does its worst."""

    def wrap(name: str, inner: Any) -> Any:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            Alarm.note(f"{base.__name__}.{name}", *args, *kwargs.values())
            return inner(self, *args, **kwargs)

        return method

    made: dict[str, Any] = {"__slots__": ()} if fields.pop("slots", False) else {}
    for name, member in inspect.getmembers(base):
        if inspect.isfunction(member) and (not name.startswith("__") or name in ("__len__", "__iter__")):
            made[name] = wrap(name, member)
        elif isinstance(member, property):
            made[name] = property(wrap(name, member.fget))
    return type(base.__name__, (base,), made | fields)


# What is handed in --------------------------------------------------------------------------------------


class NosyArray(np.ndarray):
    """An array that keeps what it is computed with."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        Alarm.note("array.ufunc", *inputs)
        plain = [np.asarray(each) if isinstance(each, NosyArray) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        Alarm.note("array.getitem", *(key if isinstance(key, tuple) else (key,)))
        return np.asarray(self)[key]


class NosyTuple(tuple):
    """A tuple that keeps every look at it."""

    def __iter__(self) -> Any:
        Alarm.note("tuple.iter")
        return super().__iter__()

    def __getitem__(self, key: Any) -> Any:
        Alarm.note("tuple.getitem")
        return super().__getitem__(key)


class Disguised:
    """Says that it is of another class, and is of none."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return object.__getattribute__(self, "_kind")
        Alarm.note(f"disguised.{name}")
        return lambda *args, **kwargs: Alarm.note(f"disguised.{name}()", *args)


def lying_query() -> LinearQuery:
    """Says of itself that it counts, and weighs a million when it is shown data."""

    def answer(self: Any, data: Any) -> float:
        Alarm.note("query.evaluate", data)
        return 1e6 * float(np.ravel(data.counts())[0])

    def at(self: Any, codes: Any) -> Any:
        Alarm.note("query.at", codes)
        return np.full(len(codes), 10**6)

    kind = screaming(TableQuery, is_predicate=True, is_integral=True, evaluate=answer, at=at)
    return kind(LINE, (0,), "q", table=HALF)


def refilled(made: Any, **fields: Any) -> Any:
    """Return an object of ours whose fields were filled by somebody else."""
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def renamed(kind: type, *args: Any, **kwargs: Any) -> Any:
    """Return an object that was of a hostile subclass while it was made, and is of our class now."""
    made = screaming(kind, slots=True)(*args, **kwargs)
    object.__setattr__(made, "__class__", kind)
    return made


class OwnQuery(LinearQuery):
    """A query of a kind of its own."""

    def table(self) -> Any:
        Alarm.note("own.table")
        return HALF

    def at(self, codes: Any) -> Any:
        Alarm.note("own.at", codes)
        return np.full(len(codes), 10**6)


def ask_all(codes: Any) -> Any:
    Alarm.note("function", codes)
    return np.isin(codes, (0, 2))


def queries() -> list[Any]:
    """All of them count the rows with an even x, or must be refused."""
    nosy = HALF.astype(bool).view(NosyArray)
    return [
        lying_query(),
        OwnQuery(LINE, (0,), "q"),
        renamed(TableQuery, LINE, (0,), "q", table=HALF),
        TableQuery(LINE, (0,), "q", table=nosy),
        refilled(TableQuery(LINE, (0,), "q", table=HALF), _table=nosy),
        refilled(TableQuery(LINE, (0,), "q", table=HALF), axes=NosyTuple((0,))),
        refilled(ProductQuery(LINE, (0,), "q", masks=[HALF]), masks=NosyTuple((nosy,))),
        PredicateQuery(LINE, (0,), "q", holds=ask_all),
        Predicates(LINE, [(["x"], ask_all)]).query(0),
        Disguised(TableQuery),
    ]


class OwnWorkload(Workload):
    """A workload of a kind of its own."""

    def __len__(self) -> int:
        Alarm.note("own.len")
        return 4

    def _query(self, index: int) -> LinearQuery:
        Alarm.note("own.query")
        return ProductQuery(LINE, (0,), f"x={index}", masks=[np.arange(4) == index])

    def _answers(self, data: Any) -> Any:
        Alarm.note("own.answers", data)
        return 10**6 * COUNTS

    def _adjoint(self, vector: Any) -> Any:
        Alarm.note("own.adjoint", vector)
        return vector


class Asked(BaseException):
    """Somebody asked a caller's object what only the written one may be asked. Nobody catches it."""


class Mute(Workload):
    """Says its universe and its queries, and counts how often; whatever else it is asked for is an error."""

    def __init__(self) -> None:
        object.__setattr__(self, "told", [])

    def __getattribute__(self, name: str) -> Any:
        if name in ("universe", "__class__"):
            return LINE if name == "universe" else Mute
        raise Asked(name)

    def __iter__(self) -> Any:
        object.__getattribute__(self, "told").append(True)
        return iter(list(cells()))

    def _ask(self, *_: Any) -> Any:
        raise Asked("what it does")

    __len__ = __eq__ = __hash__ = __repr__ = _query = _answers = _adjoint = _ask


class Liar(Queries):
    """Says of itself that it counts and that no row changes much, whatever it weighs."""

    is_predicates = is_integral = is_uniform = True
    largest_weight = Fraction(1)

    def sensitivity_bound(self, neighbours: Any, *, norm: float) -> Fraction:
        return Fraction(1)


def cells() -> Marginals:
    return Marginals(LINE, [["x"]])


def workloads() -> list[Any]:
    """All of them are the four cells of the line, or must be refused."""
    shy = screaming(Marginals, sensitivity_bound=lambda self, neighbours, *, norm: Fraction(0))
    return [
        shy(LINE, [["x"]]),
        renamed(Marginals, LINE, [["x"]]),
        refilled(cells(), sets=NosyTuple(((0,),))),
        refilled(cells(), _largest_weight=Fraction(0), _tables=Disguised(object)),
        OwnWorkload(LINE),
        Queries(LINE, list(OwnWorkload(LINE))),
        screaming(Queries)(LINE, list(cells())),
        Union([shy(LINE, [["x"]])]),
        Disguised(Marginals),
        Mute(),
    ]


def honest_query() -> TableQuery:
    return TableQuery(LINE, (0,), "q", table=HALF)


def honest_workloads() -> list[Workload]:
    """The same queries as known kinds: what is of a kind that is not known becomes a list."""
    return [cells(), Queries(LINE, list(cells())), Union([cells()]), Union([Queries(LINE, list(cells()))])]


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


# Optimisation -------------------------------------------------------------------------------------------


def towns() -> list[Any]:
    table = np.array([[0, 1, 4], [1, 0, 3], [4, 3, 0]])
    honest = Metric(table, unit=1)
    return [
        screaming(Metric)(table, unit=1),
        renamed(Metric, table, unit=1),
        Metric(table.view(NosyArray), unit=1),
        refilled(Metric(table, unit=1), distances=honest.distances.view(NosyArray)),
        refilled(Metric(table, unit=1), _digest=Disguised(bytes)),
        Disguised(Metric),
    ]


def median(card: str) -> Any:
    kind = kind_of(card)
    public = {"k": 1, "epsilon": 1, "neighbours": AddRemove("person")} | (
        {"delta": 0} if card == "k-median" else {}
    )

    def run(metric: Any) -> Any:
        return armed(lambda: kind(metric=metric, **public), [0, 1, 1, 2], lambda medians: medians.sites)

    return lambda: compare([Metric(np.array([[0, 1, 4], [1, 0, 3], [4, 3, 0]]), unit=1)], towns(), run)


def facilities() -> None:
    def run(metric: Any) -> Any:
        public = {"k": 2, "epsilon": 1, "neighbours": Bidder()}
        return armed(
            lambda: FacilityLocation(metric=metric, **public), [0, 1, 1, 2], lambda where: where.outcome
        )

    compare([Metric(np.array([[0, 1, 4], [1, 0, 3], [4, 3, 0]]), unit=1)], towns(), run)


class NosyDict(dict):
    """A mapping that keeps every look at it."""

    def items(self) -> Any:
        Alarm.note("dict.items")
        return super().items()

    def __getitem__(self, key: Any) -> Any:
        Alarm.note("dict.getitem")
        return super().__getitem__(key)


SETS = {"a": [1, 2], "b": [2, 3], "c": [3, 1]}


def families() -> list[Any]:
    return [
        screaming(SetSystem)(SETS),
        renamed(SetSystem, SETS),
        NosyDict(SETS),
        {name: NosyTuple(own) for name, own in SETS.items()},
        refilled(SetSystem(SETS), _places=NosyDict({1: 0, 2: 1, 3: 2})),
        refilled(SetSystem(SETS), _members=SetSystem(SETS)._members.view(NosyArray)),
        refilled(SetSystem(SETS), names=NosyTuple(("a", "b", "c"))),
        Disguised(SetSystem),
    ]


def cover(card: str) -> Any:
    kind = kind_of(card)
    wanted = inspect.signature(kind).parameters
    public = {"epsilon": 1, "delta": 0.01, "costs": [1, 2, 4], "beta": 0.05}
    known = {name: value for name, value in public.items() if name in wanted}

    def run(family: Any) -> Any:
        return armed(lambda: kind(family=family, **known), [1, 3], lambda found: found.permutation)

    return lambda: compare([SETS], families(), run)


def vertices() -> list[Any]:
    return [
        NosyTuple((0, 1, 2, 3)),
        screaming(Vertices)(4),
        renamed(Vertices, 4),
        refilled(Vertices(4), names=NosyTuple((0, 1, 2, 3))),
        Disguised(Vertices),
    ]


def cut(card: str) -> Any:
    kind = kind_of(card)
    wanted = inspect.signature(kind).parameters
    public = {"epsilon": 1, "delta": 0, "weights": [1, 2, 4, 8]}
    known = {name: value for name, value in public.items() if name in wanted}
    edges = [(0, 1), (1, 2), (2, 3)]

    def run(given: Any) -> Any:
        return armed(lambda: kind(vertices=given, **known), edges, repr)

    return lambda: compare([4], vertices(), run)


def check_vertex_cover() -> None:
    class Graph(nx.Graph):
        @property
        def adj(self) -> Any:
            Alarm.note("graph.adj")
            return super().adj

    def run(graph: Any) -> Any:
        return repr(optimisation.cover_edges(graph, epsilon=1, rng=unsafe_seeded(5)).value)

    compare([nx.Graph([(0, 1), (1, 2)])], [Graph([(0, 1), (1, 2)]), nx.MultiGraph([(0, 1), (1, 2)])], run)


def check_set_cover() -> None:
    def run(family: Any) -> Any:
        return optimisation.cover_elements(family, [1, 3], epsilon=1, rng=unsafe_seeded(5)).value.permutation

    compare([SETS], families(), run)


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


BY_DESIGN = "it runs on the data by design, and its owner promises how far it moves"
ITS_OWN = "a mechanism states its own guarantee; whoever writes one is believed"

NUMBERS = "how many steps of a stream are to be answered, read as a whole number"
EXPERTS = ("approximate-leader", "endless-majority", "lazy-majority", "weighted-majority")
SURVEYS = "surveys of the package's own classes, as text: tests/unit/local/test_local_oracle.py"
CASES: dict[str, Any] = {
    **{f"{card.name} ask": NUMBERS for card in catalogue() if card.family == "streams"},
    **{f"{name} ask": NUMBERS for name in EXPERTS},
    "local-oracle ask": SURVEYS,
    "central-statistics ask": asked_statistics("central-statistics"),
    "local-statistics ask": asked_statistics("local-statistics"),
    "statistical-query query": lambda: compare([honest_query()], queries(), surveyed),
    "best-of-runs score": BY_DESIGN,
    "reusable-holdout ask": BY_DESIGN,
    "adaptive workload": released("adaptive", rounds=1),
    "analyst-game book": books("analyst-game"),
    "any-queries book": statistics_of("any-queries"),
    "any-queries trusted": BY_DESIGN,
    "above-threshold ask": BY_DESIGN,
    "independent workload": released("independent"),
    "interval-search workload": released(
        "interval-search", delta=None, rows=9, accuracy=0.5, neighbours=SWAP
    ),
    "k-median metric": median("k-median"),
    "k-median-exhaustive metric": median("k-median-exhaustive"),
    "k-median-histogram metric": median("k-median-histogram"),
    "facility-location metric": facilities,
    "residual-marginals workload": released("residual-marginals"),
    "max-entropy workload": released("max-entropy"),
    "median-mechanism ask": asked("median-mechanism", "ask"),
    "median-mechanism last": asked("median-mechanism", "last"),
    "median-polytope ask": asked("median-polytope", "ask"),
    "median-polytope last": asked("median-polytope", "last"),
    "min-cut vertices": cut("min-cut"),
    "min-cut-exhaustive vertices": cut("min-cut-exhaustive"),
    "min-cut-size vertices": cut("min-cut-size"),
    "multiplicative-weights ask": asked("multiplicative-weights", "ask"),
    "multiplicative-weights ask_many": lambda: compare(honest_workloads(), workloads(), asked_many),
    "multiplicative-weights last": asked("multiplicative-weights", "last"),
    "multiplicative-weights start": ITS_OWN,
    "mwem workload": released("mwem", rounds=2),
    "numeric-sparse ask": BY_DESIGN,
    "online-queries book": books("online-queries"),
    "online-statistics book": statistics_of("online-statistics"),
    "online-statistics trusted": BY_DESIGN,
    "private-answers book": books("private-answers"),
    "projection workload": released("projection", rows=9),
    "propose-test-release distance": BY_DESIGN,
    "propose-test-release value": BY_DESIGN,
    "public-synopsis book": books("public-synopsis"),
    "public-synopsis workload": lambda: compare(
        honest_workloads(),
        workloads(),
        lambda workload: armed(
            lambda: kind_of("public-synopsis")(
                workload=workload, caps=CAPS, epsilon=1, delta=1e-6, neighbours=SWAP
            ),
            QueriesAndData(DATA, book_of(LINE, CAPS, {"acme": []})),
            lambda delivery: [delivery.shared.answer(query) for query in cells()],
        ),
    ),
    "query-game book": books("query-game"),
    "range-tree tree": lambda: compare(
        [CountTree(4, (4,), (1, 1))], trees(), lambda given: tree("range-tree", cells(), tree=given)
    ),
    "range-tree workload": released("range-tree"),
    "rectangle-tree trees": lambda: compare(
        [CountTree(4, (4,), (1, 1))], trees(), lambda given: tree("rectangle-tree", cells(), trees=(given,))
    ),
    "rectangle-tree workload": released("rectangle-tree"),
    "separate-budgets book": books("separate-budgets"),
    "set-cover family": cover("set-cover"),
    "set-cover-exhaustive family": cover("set-cover-exhaustive"),
    "set-cover-layered family": cover("set-cover-layered"),
    "set-cover-sampled family": cover("set-cover-sampled"),
    "set-cover-split family": cover("set-cover-split"),
    "set-cover-weighted family": cover("set-cover-weighted"),
    "small-database candidates": lambda: compare(
        [AllMultisets(LINE, 2)], candidates(), lambda given: small(candidates=given)
    ),
    "small-database workload": released("small-database", delta=None, rows=9, size=2, neighbours=SWAP),
    "sparse ask": BY_DESIGN,
    "split mechanisms": ITS_OWN,
    "split workload": lambda: compare(honest_workloads(), workloads()[:4], split),
    "subsample-aggregate function": BY_DESIGN,
    "vertex-cover vertices": cut("vertex-cover"),
    "vertex-cover-sampled vertices": cut("vertex-cover-sampled"),
    "vertex-cover-size vertices": cut("vertex-cover-size"),
    "vertex-cover-weight vertices": cut("vertex-cover-weight"),
    "vertex-cover-weighted vertices": cut("vertex-cover-weighted"),
    "discreet plan": check_plan,
    "discreet release": check_release,
    "discreet.optimisation cover_elements": check_set_cover,
    "discreet.optimisation cover_edges": check_vertex_cover,
    "analyst ask": check_curator,
}

TAKEN = re.compile(
    "Workload|LinearQuery|Callable|Metric|SetSystem|Statistic|Marginals|Union|Tabled|SmallDatabases|Tree|Trusted"
    "|Vertices"
)
NAMED = {"family", "graph", "wanted"}


def entries() -> set[str]:
    """Walk the catalogue and the public functions for whatever takes something with code in it."""
    found = set()
    for card in catalogue():
        mechanism, data = card.example()
        for parameter in inspect.signature(type(mechanism)).parameters.values():
            if TAKEN.search(str(parameter.annotation)) or parameter.name in NAMED:
                found.add(f"{card.name} {parameter.name}")
        if isinstance(mechanism, Interactive):
            talk = type(mechanism.open(data))
            found |= {f"{card.name} {name}" for name in ("ask", "ask_many", "last") if hasattr(talk, name)}
        if isinstance(data, QueriesAndData | AskedStatistics):
            found.add(f"{card.name} book")
    for home in (dp, optimisation):
        for name in dir(home):
            function = getattr(home, name)
            if not name.startswith("_") and callable(function) and not inspect.isclass(function):
                taken = inspect.signature(function).parameters.values()
                if any(TAKEN.search(str(each.annotation)) or each.name in NAMED for each in taken):
                    found.add(f"{home.__name__} {name}")
    found |= {f"analyst {name}" for name in vars(Analyst) if name == "ask"}
    return found


def makers() -> dict[str, Any]:
    """Walk both families for every way to make a mechanism for a workload."""
    found = {}
    for family in (query_release, analysts):
        for module in pkgutil.walk_packages(family.__path__, prefix=f"{family.__name__}."):
            for kind in vars(importlib.import_module(module.name)).values():
                if not inspect.isclass(kind) or not issubclass(kind, Promise) or inspect.isabstract(kind):
                    continue
                if "workload" not in inspect.signature(kind).parameters:
                    continue
                found[kind.__name__] = kind
                for name in dir(kind):
                    if isinstance(inspect.getattr_static(kind, name), classmethod | staticmethod):
                        found[f"{kind.__name__}.{name}"] = getattr(kind, name)
    return {name: make for name, make in found.items() if "._" not in name}


PAIR: dict[str, Any] = {"epsilon": 1, "delta": 0.01, "neighbours": SWAP}
COIN: dict[str, Any] = {"epsilon": 1, "rows": 9, "neighbours": SWAP}
PUBLIC: dict[str, dict[str, Any]] = {
    "Adaptive": PAIR,
    "PrintedProjection": PAIR | {"rows": 9},
    "Independent": PAIR,
    "IntervalSearch": COIN | {"accuracy": 0.5},
    "MaxEntropy": PAIR,
    "MWEM": PAIR | {"rounds": 2},
    "Projection": PAIR | {"rows": 9},
    "Projection.as_printed": PAIR | {"rows": 9},
    "PublicSynopsis": PAIR | {"caps": CAPS},
    "RangeTree": PAIR,
    "RectangleTree": PAIR,
    "ResidualMarginals": PAIR,
    "SmallDatabase": COIN | {"size": 2},
    "SmallDatabase.for_accuracy": COIN | {"accuracy": 0.9},
    "Split": PAIR | {"mechanisms": ()},
    "Split.share": PAIR | {"makes": (lambda epsilon, delta: None,), "shares": (1,)},
    "Split.for_error": PAIR | {"makes": (lambda epsilon, delta: None,), "shares": (1,)},
}
"""What each needs besides the workload."""

ONE_KIND = ("PublicSynopsis", "ResidualMarginals", "Split")
"""Made for marginals, or for unions, alone: every other kind is refused."""


def made(name: str, workload: Any) -> Any:
    """Make a mechanism and say what it costs, or how it was refused."""
    kind, _, method = name.partition(".")
    public = dict(PUBLIC.get(name) or PUBLIC[kind])
    if method == "for_error":
        public |= {"alpha": 1000, "beta": 0.05}
        del public["epsilon"]
    try:
        return makers()[name](workload=workload, **public).loss.epsilon(0.01)
    except DiscreetError as refused:
        return type(refused)


@pytest.mark.parametrize("name", sorted(makers()))
def test_a_mechanism_is_made_from_the_written_workload_alone(name):
    """A caller's workload is read at the door, once; what only the written one may be asked is an error."""
    workload = Mute()
    cost = made(name, workload)
    assert len(object.__getattribute__(workload, "told")) == 1
    assert cost == made(name, Queries(LINE, list(cells())))
    assert (cost is InvalidParameter) == name.startswith(ONE_KIND)


@pytest.mark.parametrize("name", sorted(makers()))
def test_no_mechanism_believes_what_a_workload_says_of_itself(name):
    heavy = [TableQuery(LINE, (0,), "w", table=[4000, 0, 0, 0]), *cells()]
    assert made(name, Liar(LINE, heavy)) == made(name, Queries(LINE, heavy))


def test_every_public_entry_has_a_case():
    assert entries() == set(CASES)


@pytest.mark.parametrize("entry", [name for name, case in CASES.items() if not isinstance(case, str)])
def test_nothing_that_is_handed_in_meets_the_data(entry):
    CASES[entry]()
