"""Whatever callers hand in is read at the door: once data are there, nothing of theirs runs.

Every public entry that takes a query, a workload, a function, a metric, a graph or a set system is found by
walking the catalogue, and is given objects that keep what they are called with. What comes out must be, to
the last bit, what an honest object gives with the same randomness; or it is refused before data are read.
"""

import importlib
import inspect
import pkgutil
import re
from typing import Any

import pytest
from tests.contract.door_graphs import check_set_cover, check_vertex_cover, cover, cut, facilities, median
from tests.contract.door_runs import (
    CAPS,
    armed,
    asked,
    asked_many,
    asked_statistics,
    books,
    candidates,
    check_curator,
    check_plan,
    check_release,
    compare,
    kind_of,
    released,
    small,
    split,
    statistics_of,
    surveyed,
    tree,
    trees,
)
from tests.contract.hostile_objects import (
    DATA,
    LINE,
    SWAP,
    Liar,
    Mute,
    cells,
    honest_query,
    honest_workloads,
    queries,
    workloads,
)

import discreet as dp
from discreet import analysts, optimisation, query_release
from discreet.analysts.any_queries import AskedStatistics
from discreet.analysts.promises import QueriesAndData
from discreet.analysts.query_book import book_of
from discreet.catalogue import catalogue
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.mechanism import Interactive, Promise
from discreet.curator.curator import Analyst
from discreet.queries import Queries
from discreet.queries.query import TableQuery
from discreet.query_release.explicit.small_database_candidates import AllMultisets
from discreet.query_release.linear.trees import CountTree

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
