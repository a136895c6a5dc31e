"""Both promises of both games on every pair of neighbours over two cells: never more than claimed."""

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from discreet import audit
from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.games.calibration import Rates
from discreet.analysts.games.loss import GameLoss
from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.promises import (
    ManyToOne,
    OneAnalystToMany,
    OneQueryToMany,
    QueriesAndData,
    SeenByOthers,
    is_perfect,
    perfect,
)
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.tiny import BOTH, COIN, HEADS, TAILS, tiny_data
from discreet.core.loss import ZCDPLoss
from discreet.core.neighbours import Replace
from discreet.queries.histogram import Histogram

GAMES = (QueryGame, AnalystGame)
TABLE = Histogram.dense(COIN, [0, 2])
CAPS = Caps(analysts=2, queries=1)


def game(kind, *, rounds=2, density=None, caps=CAPS, epsilon=400, analyst_epsilon=6, **more):
    return kind(
        universe=COIN,
        caps=caps,
        rows=2,
        epsilon=epsilon,
        delta=0.5,
        analyst_epsilon=analyst_epsilon,
        analyst_delta=0.01,
        rounds=rounds,
        density=density or (2 if kind is QueryGame else 1),
        neighbours=Replace("row"),
        **more,
    )


def groups(pairs, observers):
    """Group the pairs by who watches them."""
    found = {}
    for left, right in pairs:
        found.setdefault(observers(left, right), []).append((left, right))
    return found


def audited(mechanism, promise, domain, size, table=TABLE):
    """Audit every pair of neighbouring books, and return the reports."""
    known = {}

    def asked(book):
        return known.setdefault(tuple((p, q.name) for p, q in book.items()), QueriesAndData(table, book))

    watched = groups(promise.pairs(domain, size), promise.observers)
    for observers, pairs in watched.items():
        view = SeenByOthers(mechanism, observers)
        yield audit.exact(view, [(asked(left), asked(right)) for left, right in pairs])


@pytest.mark.parametrize("table", [[0, 2], [1, 1]], ids=str)
@pytest.mark.parametrize("kind", GAMES)
def test_the_analysts_promise_holds_on_every_pair_of_books(kind, table):
    mechanism = game(kind)
    reports = list(audited(mechanism, kind.promise, (HEADS, TAILS, BOTH), 1, Histogram.dense(COIN, table)))
    assert len(reports) == 2, "each of the two analysts watches the other"
    assert all(report.holds for report in reports), reports
    assert min(report.resolved for report in reports) > 1 - 1e-9
    assert max(finding.measured for report in reports for finding in report.findings) > 0.005


@pytest.mark.parametrize("kind", GAMES)
def test_the_data_promise_holds_on_every_pair_of_tables(kind):
    mechanism = game(kind)
    for first, second in itertools.product((HEADS, TAILS, BOTH), repeat=2):
        book = book_of(COIN, CAPS, {"first": [first], "second": [second]})
        assert audit.exact(mechanism, tiny_data(book, 2)).holds


def test_two_queries_each_with_a_cap_that_binds():
    caps = Caps(analysts=2, queries=2)
    mechanism = game(QueryGame, density=3, caps=caps)
    pairs = [
        pair for pair in OneQueryToMany().pairs((HEADS,), 2) if pair[0].find_changed(pair[1]) == ("first",)
    ]
    known = {}
    asked = [
        [known.setdefault(str(list(b.items())), QueriesAndData(TABLE, b)) for b in pair]
        for pair in pairs[::2]
    ]
    assert audit.exact(SeenByOthers(mechanism, ("second",)), asked).holds


def test_everything_an_analyst_asks_in_two_queries():
    """Any two of his queries against any other two, with a second analyst who asks one of them or nothing."""
    caps = Caps(analysts=2, queries=2)
    mechanism, asked = game(AnalystGame, caps=caps), (None, HEADS, TAILS)
    for second in (None, HEADS):
        books = [
            QueriesAndData(TABLE, QueryBook(COIN, caps, ("first", "second"), {0: one, 1: two, 2: second}))
            for one, two in itertools.combinations_with_replacement(asked, 2)
        ]
        pairs = list(itertools.combinations(books, 2))
        assert all(OneAnalystToMany().distance(a.book, b.book) == 1 for a, b in pairs)
        assert audit.exact(SeenByOthers(mechanism, ("second",)), pairs).holds


# Sharpness: the same audits see wrong constants ----------------------------------------

_PICKED = []


class Shown(QueryGame):
    """Publishes the actions too: the transcript that the data loss is proved for."""

    __slots__ = ()

    def _pick(self, standing, rate, before, rng):
        if before == 0:
            _PICKED.clear()
        _PICKED.append(super()._pick(standing, rate, before, rng))
        return _PICKED[-1]

    def _draw(self, data, rng):
        made = super()._draw(data, rng)
        return replace(made, private=(("all", tuple(_PICKED)),))


class Claims(Shown):
    """Claims a part of the right rho."""

    __slots__ = ()
    part = Fraction(1, 5)

    @property
    def loss(self):
        return ZCDPLoss(super().loss.rho * self.part)


def test_the_data_claim_covers_the_whole_transcript_and_a_fifth_of_it_does_not():
    book = book_of(COIN, CAPS, {"first": [HEADS], "second": [TAILS]})
    assert audit.exact(game(Shown), tiny_data(book, 2)).holds
    assert not audit.exact(game(Claims), tiny_data(book, 2)).holds


@dataclass(frozen=True, slots=True)
class Untouched(SeenByOthers):
    """Claims that a hidden query touches a twentieth of the rounds that it may."""

    @property
    def loss(self):
        right = self.whole.analyst_loss
        return GameLoss(right.rounds, right.sigma / 20, right.rate)


class Fast(QueryGame):
    """A data player that learns so fast that hidden queries show."""

    __slots__ = ()

    @property
    def rates(self):
        return Rates(action=Fraction(2), cell=Fraction(3))


class FastTeams(AnalystGame):
    """The same for analysts."""

    __slots__ = ()

    @property
    def rates(self):
        return Rates(action=Fraction(2), cell=Fraction(3))


@pytest.mark.parametrize(
    ("kind", "caps", "density"), [(Fast, Caps(2, 1), 3), (FastTeams, Caps(analysts=4, queries=1), 3)]
)
def test_the_mixture_bound_holds_at_any_rate_and_not_with_a_twentieth_of_the_touched_rounds(
    kind, caps, density
):
    mechanism = game(kind, density=density, caps=caps)
    books = [book_of(COIN, caps, {"first": first, "second": []}) for first in ([], [HEADS], [TAILS], [BOTH])]
    pairs = list(itertools.combinations([QueriesAndData(TABLE, book) for book in books], 2))
    assert audit.exact(SeenByOthers(mechanism, ("second",)), pairs).holds
    assert not audit.exact(Untouched(mechanism, ("second",)), pairs).holds


# Leftovers ----------------------------------------


def test_leftovers_keep_both_promises():
    caps = Caps(analysts=2, queries=1)
    mechanism = game(QueryGame, rounds=2, caps=caps, epsilon=2000, leftovers=1)
    book = book_of(COIN, caps, {"first": [HEADS], "second": []})
    assert audit.exact(mechanism, tiny_data(book, 2)[:1]).holds
    one, other = (
        book_of(COIN, caps, {"first": [HEADS], "second": []}),
        book_of(COIN, caps, {"first": [], "second": []}),
    )
    report = audit.exact(
        SeenByOthers(mechanism, ("second",)), [(QueriesAndData(TABLE, one), QueriesAndData(TABLE, other))]
    )
    assert report.holds


def test_the_owner_of_a_leftover_sees_more_than_he_is_hidden_from():
    # Negative control: towards everybody, the owner included, the promise does not hold.
    mechanism = game(QueryGame, rounds=2, epsilon=2000, leftovers=1)
    one = book_of(COIN, CAPS, {"first": [HEADS], "second": []})
    other = book_of(COIN, CAPS, {"first": [], "second": []})
    everybody = SeenByOthers(mechanism, ("first", "second"))
    assert not audit.exact(everybody, [(QueriesAndData(TABLE, one), QueriesAndData(TABLE, other))]).holds


# The relations themselves ----------------------------------------


@pytest.mark.parametrize(
    ("promise", "count"), [(OneQueryToMany(), 12), (OneAnalystToMany(), 12), (ManyToOne(), 12)]
)
def test_pairs_are_all_neighbours_and_all_neighbours_are_pairs(promise, count):
    # Two analysts with one place each and two queries: nine books, each with 2 + 2 neighbours: 36 pairs.
    pairs = list(promise.pairs((HEADS, TAILS), 1))
    assert len(pairs) == 3 * count
    assert all(promise.distance(left, right) == 1 for left, right in pairs)
    assert all(len(promise.observers(left, right)) == 1 for left, right in pairs)


def test_with_more_places_the_promises_differ():
    query, analyst = (list(promise.pairs((HEADS,), 2)) for promise in (OneQueryToMany(), OneAnalystToMany()))
    assert len(query) == 16 * 4  # any one of four places changes
    assert len(analyst) == 16 * 2 * 3  # any other content of one analyst's two places


def test_perfect_privacy_is_a_value():
    guarantee = perfect(OneAnalystToMany())
    assert is_perfect(guarantee) and guarantee.epsilon(0) == 0 and guarantee.implies(epsilon=1, delta=0)
    assert not is_perfect(game(QueryGame).analyst_guarantee)
