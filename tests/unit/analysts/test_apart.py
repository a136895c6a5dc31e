"""Three ways to keep analysts apart: what they promise, what they answer, and that nothing leaks."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import audit
from discreet.accounting.calibrate import zcdp_rho
from discreet.analysts.apart import FittedWeights
from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.online_queries import OnlineQueries
from discreet.analysts.online_queries_plan import OnlineSizes
from discreet.analysts.private_answers import PrivateAnswers
from discreet.analysts.promises import OneAnalystToMany, QueriesAndData, SeenByOthers, is_perfect
from discreet.analysts.public_synopsis import PublicSynopsis
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.separate_budgets import SeparateBudgets
from discreet.analysts.tiny import COIN, HEADS
from discreet.core.bounds import read_error
from discreet.core.errors import BudgetTooSmall, InvalidParameter, NeighboursMismatch, NoBound
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("age", range(6)), ("smoker", (0, 1)), ("region", range(3))])
PAIRS = Marginals.of_order(UNIVERSE, 2)
CAPS = Caps(analysts=3, queries=40)
TABLE = Histogram.dense(UNIVERSE, 40 + np.arange(36) * 7 % 50)
ROWS = TABLE.total
BUDGET = {"epsilon": 1, "delta": 1e-6, "neighbours": Replace("row")}
PUBLIC = {"caps": CAPS, **BUDGET}
ODD = Predicates(UNIVERSE, [(["age", "region"], lambda age, region: (age + region) % 2 == 1)]).query(0)


def modes(**given):
    public = PUBLIC | given
    return (
        PublicSynopsis(workload=PAIRS, **public),
        PrivateAnswers(universe=UNIVERSE, **public),
        SeparateBudgets(universe=UNIVERSE, rows=ROWS, rounds=5, **public),
    )


def asked(second=()):
    # Who changes her mind comes last, so that a shared seeded generator gives the others the same noise.
    book = book_of(UNIVERSE, CAPS, {"acme": list(PAIRS)[:30], "cork": [ODD], "blue": second})
    return QueriesAndData(TABLE, book)


NAMES = ("synopsis", "answers", "budgets")


@pytest.mark.parametrize("mode", modes(), ids=NAMES)
def test_two_guarantees(mode):
    assert mode.guarantee.implies(epsilon=1, delta=1e-6)
    assert mode.guarantee.neighbours == Replace("row")
    assert is_perfect(mode.analyst_guarantee)
    release = mode.release(asked())
    assert is_perfect(release.analyst_guarantee)
    assert "0" in repr(release)


@pytest.mark.parametrize("mode", modes(), ids=NAMES)
def test_one_face(mode):
    """Every mode answers every question of every analyst, within its stated error or nearly all rows."""
    data = asked(second=list(PAIRS)[:3])
    delivery = mode.release(data, rng=unsafe_seeded(1)).value
    for name in data.book.names:
        answers = delivery.answers(name, data.book)
        own = data.book.list_asked(name)
        assert list(answers) == list(own)
        for place, query in own.items():
            assert abs(answers[place] - query.evaluate(TABLE)) <= min(ROWS, read_error(mode, 1e-6))
    assert read_error(mode, 0.01) >= read_error(mode, 0.1)


def test_fitted_answers_have_a_bound_for_one_table_and_counted_rows_only():
    whole = Marginals(UNIVERSE, [UNIVERSE.names])
    counted = PublicSynopsis(workload=whole, **PUBLIC)
    assert counted.error(0.05) == 2 * counted.measured_error(0.05)
    for other in (modes()[0], PublicSynopsis(workload=whole, **PUBLIC | {"neighbours": AddRemove("row")})):
        with pytest.raises(NoBound, match="PrivateAnswers"):
            other.error(0.05)


def test_the_answers_of_a_last_hypothesis_have_no_bound():
    with pytest.raises(NoBound, match="PrivateAnswers"):
        modes()[NAMES.index("budgets")].error(0.05)


@pytest.mark.parametrize("mode", modes(), ids=NAMES)
def test_others_get_the_same_bytes_whatever_one_asks(mode):
    views = [
        mode.release(asked(second), rng=unsafe_seeded(7)).value.seen_by(("acme", "cork"))
        for second in ([], [ODD], list(PAIRS)[10:40])
    ]
    assert views[0] == views[1] == views[2]


def test_every_pair_of_books_is_seen_alike():
    """The exact law of the others' view does not depend on one analyst's question, on any pair of books."""
    table = Histogram.dense(COIN, [1, 1])
    mode = PrivateAnswers(
        universe=COIN, caps=Caps(analysts=2, queries=1), epsilon=30, delta=0, neighbours=Replace("row")
    )
    promise = OneAnalystToMany()
    pairs = list(promise.pairs((HEADS,), 1))
    assert len(pairs) == 8
    for left, right in pairs:
        view = SeenByOthers(mode, promise.observers(left, right))
        report = audit.exact(view, [(QueriesAndData(table, left), QueriesAndData(table, right))])
        assert report.holds, report


def test_budgets_add_up():
    mode = modes()[2]
    each = mode.learner(Marginals(UNIVERSE, [["age"]]))
    assert CAPS.analysts * each.loss.zcdp() <= zcdp_rho(epsilon=1, delta=1e-6)
    assert mode.share > Fraction(1, CAPS.analysts)  # better than a third of epsilon each
    twice = SeparateBudgets(universe=UNIVERSE, rows=ROWS, rounds=5, **PUBLIC | {"caps": Caps(6, 40)})
    assert twice.loss.zcdp() == pytest.approx(mode.loss.zcdp(), rel=1e-4)
    assert twice.share < mode.share


def test_noise_follows_the_caps_and_not_the_book():
    small, large = (PrivateAnswers(universe=UNIVERSE, **PUBLIC | {"caps": Caps(3, k)}) for k in (40, 160))
    assert large.error(0.05) / small.error(0.05) == pytest.approx(2, rel=0.15)
    assert modes()[1].release(asked()).mechanism.error(0.05) == small.error(0.05)


def test_a_synopsis_answers_what_nobody_announced():
    delivery = modes(epsilon=50)[0].release(asked(), rng=unsafe_seeded(3)).value
    assert delivery.shared.answer(ODD) == pytest.approx(ODD.evaluate(TABLE), abs=60)
    assert delivery.leftovers("cork") == ()


def test_one_table_over_all_attributes_is_measured_cell_by_cell():
    """Pure noise on cells that are measured once is less than what a delta buys; any question adds it up."""
    whole = Marginals(UNIVERSE, [UNIVERSE.names])
    mode = PublicSynopsis(workload=whole, **PUBLIC)
    assert isinstance(mode.tables, Independent) and isinstance(modes()[0].tables, ResidualMarginals)
    assert mode.deviation < 0.6 * ResidualMarginals(workload=whole, **BUDGET).deviation(UNIVERSE.names)
    assert modes()[0].deviation == pytest.approx(
        max(modes()[0].tables.deviation(names) for names in (["age", "region"], ["age", "smoker"]))
    )
    delivery = mode.release(asked(), rng=unsafe_seeded(2)).value
    assert delivery.shared.total == pytest.approx(ROWS), "the public number of rows"
    assert (delivery.shared.weights >= 0).all()
    off = np.ravel(delivery.shared.weights - TABLE.counts())
    assert np.abs(off).max() <= mode.error(1e-6)
    assert off.std() == pytest.approx(mode.deviation, rel=0.5)


def test_questions_announced_are_fitted_closely():
    """The tables that were measured are answered nearly as measured."""
    tables = modes()[0].tables.release(TABLE, rng=unsafe_seeded(9)).value
    wanted = tables.answers(PAIRS)
    near, far = (np.abs(FittedWeights(tables, close=c).answers(PAIRS) - wanted).mean() for c in (True, False))
    assert near < 0.8 * far


def test_added_rows_may_be_hidden_too():
    for mode in modes(neighbours=AddRemove("row")):
        assert mode.guarantee.implies(epsilon=1, delta=1e-6)
        assert set(dict(mode.release(asked()).value.private)) == {"acme", "blue", "cork"}


@pytest.mark.parametrize("mode", modes(), ids=NAMES)
def test_other_data_are_refused(mode):
    book = book_of(UNIVERSE, Caps(3, 41), {"acme": [], "blue": [], "cork": []})
    for odd in (TABLE, QueriesAndData(TABLE, book)):
        with pytest.raises(InvalidParameter, match="data"):
            mode.release(odd)


def test_bad_parameters_are_refused():
    for bad in ({"rows": 0}, {"rounds": 0}, {"delta": 0}):
        given = {"universe": UNIVERSE, "rows": ROWS, "rounds": 5} | PUBLIC | bad
        with pytest.raises(InvalidParameter):
            SeparateBudgets(**given)
    with pytest.raises(InvalidParameter, match="delta"):
        PublicSynopsis(workload=PAIRS, **PUBLIC | {"delta": 0})


def test_a_budget_that_cannot_be_shared_is_refused_by_name():
    """At delta 1/100 a small rho promises epsilon 0, and floats end somewhere."""
    given = {"universe": UNIVERSE, "rows": ROWS, "rounds": 5} | PUBLIC
    with pytest.raises(BudgetTooSmall, match="left for each analyst"):
        SeparateBudgets(**given | {"epsilon": 0.001, "delta": 0.01})
    with pytest.raises(InvalidParameter, match="floats hold it"):
        SeparateBudgets(**given | {"epsilon": 10**30})


def test_a_unit_of_several_rows_needs_a_guarantee_about_rows():
    universe, caps = Universe([("a", (0, 1))]), Caps(analysts=2, queries=2)
    histogram = Histogram(universe, np.array([5, 5]), rows_per_unit=2)
    asked = QueriesAndData(histogram, QueryBook(universe, caps, ("first", "second"), {}))
    public = {"universe": universe, "caps": caps, "epsilon": 1, "delta": 1e-6}
    game = public | {"rows": 10, "analyst_epsilon": 1, "analyst_delta": 1e-6}
    sizes = OnlineSizes(updates=1, samples=1, batch=1, rate=Fraction(1, 100), positives=1, threshold=0)
    for make, neighbours in (
        (lambda who: PrivateAnswers(**public, neighbours=who), AddRemove),
        (lambda who: QueryGame(**game, neighbours=who), Replace),
        (lambda who: AnalystGame(**game, neighbours=who), Replace),
        (lambda who: OnlineQueries(**game, sizes=sizes, neighbours=who), Replace),
    ):
        with pytest.raises(NeighboursMismatch, match="rows"):
            make(neighbours("person")).release(asked, rng=unsafe_seeded(1))
        make(neighbours("row")).release(asked, rng=unsafe_seeded(1))
