"""Everything a curator does, on a table and on its neighbour by one unit: the same steps to the same replies.

The shared conversation and the published hypothesis are built for rows, and pay for a unit as for a group of
rows: no input of theirs may move by more than so many sensitivities. What the ledger sells is about the unit
already: no input may move by more than one.
"""

import itertools
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dp
from discreet.analysts.promises import OneAnalystToMany
from discreet.audit.replay_report import replay_run
from discreet.core.errors import BudgetExceeded, Refused
from discreet.core.mechanism import Interactive, Mechanism
from discreet.curator.curator import Curator
from discreet.data import Category, Identifier, Integer, Row, Schema, Table, User
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import TableQuery
from discreet.testing import unsafe_seeded

COLUMNS = (
    Category("region", values=("east", "north", "west")),
    Integer("age", lower=0, upper=3),
    Category("smoker", values=("no", "yes")),
    Integer("income", lower=0, upper=100),
)
NAMES = ("who", *(column.name for column in COLUMNS))
FREE = (
    "SELECT region, COUNT(*) AS n FROM t GROUP BY region",
    "SELECT region, smoker, COUNT(*) AS n FROM t WHERE age < 2 GROUP BY CUBE(region, smoker)",
    "SELECT smoker, COUNT(*) AS n FROM t WHERE region = 'east' OR age > 1 GROUP BY smoker",
)
PAID = (
    "SELECT COUNT(*) AS n FROM t",
    "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM t GROUP BY region",
    "SELECT region, smoker, AVG(income) AS s FROM t WHERE age < 3 GROUP BY region, smoker",
    "SELECT MEDIAN(income) AS m FROM t",
    "SELECT VAR_POP(income) AS v FROM t GROUP BY ROLLUP(smoker)",
)
USELESS = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.001) AVG(income) AS m FROM t WHERE age < 3"
BY_USER = "SELECT region, COUNT(DISTINCT who) AS n FROM t GROUP BY region"


@pytest.fixture(autouse=True)
def one_secret(monkeypatch):
    """Which rows of a user count must be the same on every table."""
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")


def make_rows():
    """Thirty units, some with one row and some with more than count, and two who could join."""
    generator = np.random.default_rng(8)  # noqa: TID251

    def rows_of(who, count):
        picks = zip(
            generator.choice(("east", "north", "west"), count).tolist(),
            generator.integers(0, 4, count).tolist(),
            generator.choice(("no", "yes"), count).tolist(),
            generator.integers(0, 101, count).tolist(),
            strict=True,
        )
        return [(who, *each) for each in picks]

    rows = list(itertools.chain.from_iterable(rows_of(f"u{place}", 1 + place % 6) for place in range(30)))
    alike = [("alike", "west", 3, "yes", 100)] * 9  # all rows in one cell: the most that one cell can move
    return tuple(rows), tuple(alike), tuple(rows_of("other", 9))


BASE, ALIKE, OTHER = make_rows()
UNITS = {
    "row": (Row(), dp.AddRemove("row"), 1, [(BASE, BASE + ALIKE[:1]), (BASE, BASE[1:])]),
    "replaced row": (Row(), dp.Replace("row"), 1, [(BASE + ALIKE[:1], BASE + OTHER[:1])]),
    "user": (
        User(column="who", max_rows=3, max_groups=2),
        dp.AddRemove("who"),
        3,
        [(BASE, BASE + ALIKE), (BASE + OTHER, BASE), (BASE + ALIKE[:2], BASE)],
    ),
    "replaced user": (
        User(column="who", max_rows=3, max_groups=2),
        dp.Replace("who"),
        6,
        [
            (BASE + ALIKE, BASE + tuple(("alike", *row[1:]) for row in OTHER)),
            (BASE + ALIKE, BASE + tuple(("alike", *row[1:]) for row in OTHER[:1])),
        ],
    ),
}


def schema_of(unit, neighbours):
    return Schema("t", columns=(Identifier("who"), *COLUMNS), unit=unit, neighbours=neighbours)


def opened(rows, schema, **given):
    table = Table(pandas.DataFrame(list(rows), columns=NAMES), schema=schema)
    return Curator(table, columns=["region", "age", "smoker"], tick=0, **given)


@pytest.fixture
def through(monkeypatch):
    """Let a curator draw from a given source, which its own interface never does."""

    def let(rng):
        for owner, name in ((Interactive, "open"), (Mechanism, "release"), (Table, "answer")):
            real = getattr(owner, name)
            real = getattr(real, "real", real)

            def drawn(one, data, *, real=real, **_):
                return real(one, data, rng=rng)

            drawn.real = real
            monkeypatch.setattr(owner, name, drawn)

    return let


def told(replies):
    return tuple(
        (
            reply.columns,
            reply.rows,
            tuple(reply.intervals.items()),
            tuple(reply.together.items()),
            reply.kind,
        )
        for reply in replies
    )


def refused(door):
    """Return the words of a refusal: how many rows there are must come from what was released."""
    with pytest.raises(Refused, match="would span") as caught:
        door.sql(USELESS)
    return str(caught.value), repr(door.plan(USELESS))


def ask_free(curator):
    acme, blue = (curator.analyst(name, share=Fraction(1, 2)) for name in ("acme", "blue"))
    universe = acme.universe
    odd = TableQuery(universe, (0, 1), "odd", table=np.indices((4, 5)).sum(axis=0) % 2 == 0)
    answers = [*acme.ask(Marginals(universe, [["region", "age"], ["smoker"]])), blue.ask(odd), acme.ask(odd)]
    replies = [door.sql(text) for text in FREE for door in (acme, blue)]
    said = (refused(acme), *((one.value, one.error, one.kind, one.own) for one in answers))
    return told(replies), said, curator.ledger.spent()


def ask_paid(curator, texts):
    acme, replies = curator.analyst("acme", share=1), []
    for text in texts:
        try:
            replies.append(acme.sql(text))
        except BudgetExceeded:
            replies.append(acme.sql(texts[0]))
    return told(replies), tuple(acme.left.items()), len(acme.history)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("promise", [None, OneAnalystToMany()], ids=["shared", "published"])
@pytest.mark.parametrize("unit", UNITS)
def test_free_questions_move_by_no_more_than_the_rows_of_a_unit(through, unit, promise, delta):
    kind, neighbours, rows, pairs = UNITS[unit]
    schema, moved = schema_of(kind, neighbours), Fraction(0)

    def run(data, rng):
        through(rng)
        with opened(data, schema, epsilon=200, delta=delta, promise=promise) as one:
            replies, answers, spent = ask_free(one)
            return replies, answers, tuple(spent.items())

    for seed, pair in enumerate(pairs[:2]):
        report = replay_run(run, pair, rng=unsafe_seeded(seed))
        other = [problem for problem in report.problems if " moved by " not in problem]
        assert not other, other
        for distance, allowed in zip(report.distances, report.allowed, strict=True):
            assert distance <= rows * allowed
        moved = max(moved, *(d / a for d, a in zip(report.distances, report.allowed, strict=True) if a))
    assert moved > Fraction(rows, 3), "the units are heavy enough to be seen"


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("unit", UNITS)
def test_priced_questions_move_by_no_more_than_was_paid_for(through, unit, delta):
    kind, neighbours, _, pairs = UNITS[unit]
    schema = schema_of(kind, neighbours)
    texts = (*PAID, BY_USER) if isinstance(kind, User) else PAID
    total = Fraction(0)

    def run(data, rng):
        through(rng)
        with opened(data, schema, epsilon=20, delta=delta, shared=0) as one:
            return ask_paid(one, texts)

    for seed, pair in enumerate(pairs):
        report = replay_run(run, pair, rng=unsafe_seeded(seed))
        assert report.holds, report
        assert len(report.distances) >= len(texts)
        total += report.total
    assert total > 0


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("promise", [None, OneAnalystToMany()], ids=["shared", "published"])
@pytest.mark.parametrize("unit", UNITS)
def test_a_group_of_so_many_rows_is_paid_for(unit, promise, delta):
    """What the conversation costs for a row, for as many rows as a unit moves, is its part of the budget."""
    kind, neighbours, rows, _ = UNITS[unit]
    with opened(
        BASE, schema_of(kind, neighbours), epsilon=8, delta=delta, promise=promise, shared=0.5
    ) as one:
        paid = one._shared.guarantee
        assert paid.neighbours == neighbours
        half = Fraction(str(delta)) / 2
        assert paid.loss.delta(4) <= half
        inner = getattr(paid.loss, "loss", paid.loss)
        assert getattr(paid.loss, "size", 1) == rows
        if not delta:
            assert inner.exact_epsilon() * rows <= 4
        assert one.ledger.guarantee.implies(epsilon=4, delta=half)
