"""Objects that callers might hand in: noisy, disguised, lying, and ones that scream once data are there."""

import inspect
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.neighbours import AddRemove, Replace
from discreet.queries import Histogram, Marginals, Predicates, Queries, Union, Universe
from discreet.queries.query import LinearQuery, PredicateQuery, ProductQuery, TableQuery
from discreet.queries.workload import Workload

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
