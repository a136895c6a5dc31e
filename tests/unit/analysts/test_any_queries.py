"""Statistics of many analysts: their sensitivity on all neighbours, what is refused, that nothing leaks."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import audit
from discreet.accounting import compose
from discreet.analysts.any_queries import CARD, AnyQueries, AskedStatistics, StatisticBook
from discreet.analysts.promises import SeenByOthers, is_perfect
from discreet.analysts.query_book import Caps
from discreet.analysts.statistics import Combined, Distance, HowMany, Ranked, Trusted, largest_move
from discreet.audit.empirical import proportion_bounds
from discreet.core.errors import DiscreetError, InvalidParameter, NeighboursMismatch, Refused
from discreet.core.loss import LaplaceLoss
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.testing import unsafe_seeded

ADDED, CHANGED = AddRemove("row"), Replace("row")
SMALL = Universe([("age", range(3)), ("smoker", (0, 1))])
AGES, CELLS = Marginals(SMALL, [["age"]]), Marginals(SMALL, [["age", "smoker"]])
BOTH = Marginals(SMALL, [["age"], ["smoker"]])
SMOKERS, OTHERS = CELLS.subset([1, 3, 5]), CELLS.subset([0, 2, 4])
UP_TO = Predicates(SMALL, [(["age"], np.arange(3) <= top) for top in range(3)])
WEIGHTED = Queries(SMALL, [TableQuery(SMALL, (0,), "years", table=[0, 2, 5]), AGES.query(0)])


def size(histogram):
    return histogram.total


def trusted(function=size, *, sensitivity=1, neighbours=ADDED, lower=0, upper=100):
    return Trusted(
        function,
        universe=SMALL,
        name="a function",
        sensitivity=sensitivity,
        neighbours=neighbours,
        lower=lower,
        upper=upper,
    )


# Statistic, and its exact sensitivity where rows are added or removed, and where they are changed.
KINDS = {
    "largest": (Ranked(AGES, rank=1), 1, 1),
    "middle": (Ranked(AGES, rank=2), 1, 1),
    "smallest": (Ranked(AGES, rank=3), 1, 1),
    "largest of overlapping": (Ranked(BOTH, rank=2), 1, 1),
    "largest of weighted": (Ranked(WEIGHTED, rank=1), 5, 5),
    "values present": (HowMany(AGES, at_least=1), 1, 1),
    "groups of two": (HowMany(CELLS, at_least=2), 1, 1),
    "overlapping groups": (HowMany(BOTH, at_least=2), 2, 2),
    "nested groups": (HowMany(UP_TO, at_least=1), 3, 2),
    "gap": (Distance(SMOKERS.subset([0]), OTHERS.subset([0]), norm=1), 1, 2),
    "all gaps": (Distance(SMOKERS, OTHERS, norm=1), 1, 2),
    "largest gap": (Distance(SMOKERS, OTHERS, norm=math.inf), 1, 2),
    "gap of overlapping": (Distance(UP_TO.subset([1]), UP_TO.subset([2]), norm=1), 1, 1),
    "combined": (
        Combined([(Fraction(1, 2), Ranked(AGES, rank=1)), (-1, HowMany(CELLS, at_least=3))]),
        Fraction(3, 2),
        Fraction(3, 2),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_no_neighbours_are_further_apart_than_the_sensitivity(name):
    """All tables of up to four rows over six cells, against the bound; nearly all bounds are met exactly."""
    statistic, *exact = KINDS[name]
    for neighbours, most in zip((ADDED, CHANGED), exact, strict=True):
        found = largest_move(statistic, neighbours, rows=4)
        assert found <= statistic.sensitivity(neighbours)
        if name == "combined":  # no single row moves both parts furthest, in opposite directions
            assert found < most == statistic.sensitivity(neighbours)
        else:
            assert found == most
        if name == "nested groups":  # a row that is changed leaves the widest group where it is
            assert statistic.sensitivity(neighbours) == 3
        elif name != "combined":
            assert found == statistic.sensitivity(neighbours)


def test_values_are_those_of_the_definitions():
    counts = np.array([[4, 1], [0, 0], [2, 9]])
    table = Histogram.dense(SMALL, counts)
    expected = {
        "largest": 11,
        "middle": 5,
        "smallest": 0,
        "largest of overlapping": 10,
        "largest of weighted": 55,
        "values present": 2,
        "groups of two": 3,
        "overlapping groups": 4,
        "nested groups": 3,
        "gap": 3,
        "all gaps": 10,
        "largest gap": 7,
        "gap of overlapping": 11,
        "combined": Fraction(11, 2) - 2,
    }
    assert {name: kind[0].value(table) for name, kind in KINDS.items()} == expected


def test_a_false_promise_is_found_by_trying_all_neighbours():
    """What trusts nobody is checked; what is trusted can be."""
    double = trusted(lambda histogram: 2 * histogram.total)
    assert double.sensitivity(ADDED) == 1 < largest_move(double, ADDED, rows=3)
    assert largest_move(trusted(), ADDED, rows=3) == 1


def test_failing_counts_as_the_lower_bound_and_the_promise_must_cover_that():
    def moody(histogram):
        if histogram.total == 2:
            raise ValueError(f"secret {histogram.total}")
        return 50 + histogram.total

    one = trusted(moody)
    assert one.value(Histogram.dense(SMALL, [2, 0, 0, 0, 0, 0])) == 0
    assert largest_move(one, ADDED, rows=3) == 53  # not the 1 that was promised
    assert largest_move(trusted(moody, lower=50), ADDED, rows=3) == 3


@pytest.mark.parametrize("odd", [None, "7", math.nan, math.inf, True, [1], 1j, np.array([1, 2])], ids=repr)
def test_what_is_no_number_counts_as_the_lower_bound(odd):
    assert trusted(lambda histogram: odd, lower=-3).value(Histogram.dense(SMALL, [1] * 6)) == -3


def test_values_are_clamped_and_so_is_the_sensitivity():
    one = trusted(lambda histogram: 1000 * histogram.total - 500, sensitivity=1000, lower=-1, upper=2)
    assert [one.value(Histogram.dense(SMALL, [k, 0, 0, 0, 0, 0])) for k in (0, 1)] == [-1, 2]
    assert one.sensitivity(ADDED) == 3 == largest_move(one, ADDED, rows=2)
    with pytest.raises(NeighboursMismatch, match="promised for adding"):
        one.sensitivity(CHANGED)


@given(
    st.fractions(-20, 20, max_denominator=50),
    st.fractions(0, 5, max_denominator=50),
    st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(7, 5)]),
)
def test_rounding_to_the_grid_moves_no_value_by_more_steps_than_counted(start, move, unit):
    grid = Grid(unit)
    moved = grid.to_units(start + move, 1) - grid.to_units(start, 1)
    assert abs(moved) <= (grid.shift(move, 1) if move else 0)


def mode(**given):
    public = {
        "universe": SMALL,
        "caps": Caps(analysts=3, queries=2),
        "sensitivity": 1,
        "epsilon": 1,
        "delta": 1e-6,
        "neighbours": CHANGED,
    }
    return AnyQueries(**public | given)


TABLE = Histogram.dense(SMALL, [30, 10, 50, 20, 40, 60])
BUSIEST, PRESENT, MIDDLE = Ranked(CELLS, rank=1), HowMany(CELLS, at_least=1), Ranked(AGES, rank=2)


def asked(of, last=()):
    # Who changes her mind comes last, so that a shared seeded generator gives the others the same noise.
    return AskedStatistics(TABLE, of.book({"acme": [BUSIEST, MIDDLE], "cork": [PRESENT], "blue": last}))


def test_two_guarantees_and_answers_to_their_owners():
    one = mode(epsilon=100)
    release = one.release(asked(one), rng=unsafe_seeded(1))
    assert release.guarantee.implies(epsilon=100, delta=1e-6)
    assert release.guarantee.neighbours == CHANGED
    assert is_perfect(release.analyst_guarantee)
    book = asked(one).book
    answers = release.value.answers("acme", book)
    assert list(answers) == list(book.list_asked("acme")) == [0, 1]
    assert [answers[0], answers[1]] == pytest.approx([60, 70], abs=one.error(1e-9))
    assert list(release.value.answers("cork", book)) == [2]
    assert release.value.answers("blue", book) == {}
    with pytest.raises(InvalidParameter, match="analyst"):
        release.value.answers("dent", book)
    assert "nothing shared" in repr(release)


def test_nothing_is_shared():
    shared = mode().release(asked(mode())).value.shared
    for act in (lambda: shared.answer(AGES.query(0)), shared.synthetic, lambda: shared.total):
        with pytest.raises(Refused, match="her own answers only"):
            act()


def test_others_get_the_same_bytes_whatever_one_asks():
    one = mode()
    views = [
        one.release(asked(one, last), rng=unsafe_seeded(7)).value.seen_by(("acme", "cork"))
        for last in ([], [PRESENT], [MIDDLE, BUSIEST])
    ]
    assert views[0] == views[1] == views[2]
    whole = [one.release(asked(one, last), rng=unsafe_seeded(7)).value for last in ([], [PRESENT])]
    assert whole[0] != whole[1]


def test_every_pair_of_books_is_seen_alike():
    """The exact law of the other's view does not depend on one analyst's statistic."""
    coin = Universe([("x", (0, 1))])
    sides = Marginals(coin, [["x"]])
    one = mode(universe=coin, caps=Caps(analysts=2, queries=1), epsilon=30, delta=0)
    table = Histogram.dense(coin, [1, 1])
    choices = [[], [Ranked(sides, rank=1)], [HowMany(sides, at_least=1)], [Ranked(sides, rank=2)]]
    for own, left, right in itertools.product(choices, choices, choices):
        books = [one.book({"first": own, "second": other}) for other in (left, right)]
        report = audit.exact(
            SeenByOthers(one, ("first",)), [tuple(AskedStatistics(table, book) for book in books)]
        )
        assert report.holds, report


def test_too_few_steps_would_be_caught(monkeypatch):
    """The audit that the card passes fails once rounding is forgotten: 3/2 units are two steps, not one."""
    rounded = list(CARD.tiny())[3]
    assert rounded.mechanism.steps == 2
    assert audit.exact(rounded.mechanism, rounded.pairs).holds
    monkeypatch.setattr(AnyQueries, "steps", 1)
    lost = list(CARD.tiny())[3]
    assert not audit.exact(lost.mechanism, lost.pairs).holds


def test_one_place_too_few_would_be_caught():
    """So it does with noise, and a claim, for one place where there are two."""
    tiny = next(iter(CARD.tiny()))
    assert tiny.mechanism.noise == Laplace(sensitivity=2, epsilon=12, size=2, neighbours=ADDED)
    quiet = Laplace(sensitivity=1, epsilon=12, size=2, neighbours=ADDED)
    object.__setattr__(tiny.mechanism, "noise", quiet)
    assert not audit.exact(tiny.mechanism, tiny.pairs).holds


def test_the_noise_follows_the_limits_and_not_the_book():
    assert isinstance(mode(delta=0).noise, Laplace)
    assert isinstance(mode(caps=Caps(3, 40)).noise, Gaussian)
    small, large = (mode(caps=Caps(3, places)).error(0.05) for places in (40, 160))
    assert large / small == pytest.approx(2, rel=0.15)
    assert mode(sensitivity=5, caps=Caps(3, 40)).error(0.05) == pytest.approx(5 * small, rel=0.02)
    fine = mode(grid=Fraction(1, 10), caps=Caps(3, 40))
    assert fine.error(0.05) == pytest.approx(small, rel=0.02)
    assert mode().release(asked(mode())).error(0.05) == mode().error(0.05)


@pytest.mark.parametrize("places", [4, 100, 2500])
def test_lemma_2_5_the_printed_noise_is_enough_and_more_than_is_needed(places):
    """[HRU13]: Laplace noise of scale sqrt(8 k ln(1 / delta)) / epsilon for k statistics that move by 1."""
    delta, beta = 1e-6, 0.05
    scale = math.sqrt(8 * places * math.log(1 / delta))
    assert compose(LaplaceLoss(Fraction(1 / scale)), counts=[places]).epsilon(delta) < 0.5
    ours = mode(caps=Caps(analysts=1, queries=places), epsilon=1, delta=delta, sensitivity=1)
    assert ours.error(beta) < scale * math.log(places / beta) / 3


def test_the_stated_error_holds_and_half_of_it_would_not():
    """300 releases; false-alarm rate 1e-9, and half the error is missed far more often than one in ten."""
    one = mode(grid=Fraction(1, 4), caps=Caps(analysts=2, queries=2))
    halves = [Combined([(Fraction(1, 3), statistic)]) for statistic in (BUSIEST, MIDDLE)]
    truth = [statistic.value(TABLE) for statistic in halves]
    data = AskedStatistics(TABLE, one.book({"acme": halves, "blue": halves}))
    rng, off = unsafe_seeded(3), []
    for _ in range(300):
        answers = one.release(data, rng=rng).value.private
        off.append(max(abs(own.count - truth[own.place % 2]) for _, all_own in answers for own in all_own))
    misses = [sum(worst > bound for worst in off) for bound in (one.error(0.1), one.error(0.1) / 2)]
    low, high = (proportion_bounds(count, 300, alpha=1e-9)[0] for count in misses)
    assert low <= 0.1 < high


def test_the_budget_for_a_wanted_error():
    public = {"universe": SMALL, "caps": Caps(3, 2), "sensitivity": 1, "delta": 1e-6, "neighbours": CHANGED}
    found = AnyQueries.for_error(alpha=10, beta=0.05, **public)
    assert found.error(0.05) <= 10
    assert mode(epsilon=found.epsilon * Fraction(9, 10)).error(0.05) > 10


class Flatterer:
    """A function that claims to be any other."""

    def __call__(self, histogram):
        return 1000 * histogram.total

    def __eq__(self, other):
        return True

    __hash__ = None


class Boastful(Ranked):
    """A kind of its own."""

    def sensitivity(self, neighbours):
        """Claim anything."""
        return Fraction(1, 1000)


def test_the_book_refuses_what_the_public_limits_forbid():
    vouched = trusted(neighbours=CHANGED)
    book = mode(trusted=[vouched], grid=1).book({"acme": [], "blue": []})
    for statistic, why in (
        (Boastful(AGES, rank=1), "no known kind"),
        (Combined([(1, Boastful(AGES, rank=1))]), "no known kind"),
        (trusted(neighbours=CHANGED, upper=7), "nobody has vouched"),
        (trusted(Flatterer(), neighbours=CHANGED), "nobody has vouched"),
        (Combined([(1, trusted(neighbours=CHANGED, upper=7))]), "nobody has vouched"),
        (Distance(SMOKERS, OTHERS, norm=1), "more than the public limit, 1"),
        (HowMany(BOTH, at_least=1), "more than the public limit, 1"),
    ):
        with pytest.raises(Refused, match=why):
            book.with_statistics("acme", [statistic])
    half = Combined([(Fraction(1, 2), Distance(SMOKERS, OTHERS, norm=1))])
    assert len(book.with_statistics("acme", [half, vouched]).list_asked("acme")) == 2
    with pytest.raises(Refused, match="number 3 of one analyst"):
        book.with_statistics("acme", [MIDDLE, MIDDLE, MIDDLE])
    with pytest.raises(InvalidParameter, match="universe"):
        book.with_statistics("acme", [Ranked(Marginals(Universe([("a", (0, 1))]), [["a"]]), rank=1)])
    with pytest.raises(InvalidParameter, match="analyst"):
        book.with_statistics("cork", [MIDDLE])
    with pytest.raises(InvalidParameter, match="statistic"):
        book.with_statistics("acme", [AGES.query(0)])
    with pytest.raises(InvalidParameter, match="at most 3"):
        mode().book({name: [] for name in "abcd"})


def test_real_values_need_a_grid():
    third = Combined([(Fraction(1, 3), MIDDLE)])
    for real in (third, trusted(neighbours=CHANGED)):
        with pytest.raises(Refused, match="Declare a grid"):
            mode(trusted=[*real.trusted]).book({"acme": [real]})
    with pytest.raises(InvalidParameter, match="Declare a grid"):
        mode(sensitivity=0.5)
    fine = mode(grid=0.1, sensitivity=Fraction(1, 3), epsilon=200)
    delivery = fine.release(AskedStatistics(TABLE, fine.book({"acme": [third]})), rng=unsafe_seeded(2)).value
    (found,) = delivery.answers("acme", None).values()
    assert found == pytest.approx(70 / 3, abs=fine.error(1e-9))
    assert 10 * found == pytest.approx(round(10 * found))


def test_a_failing_function_costs_its_owner_her_answer_and_tells_nobody():
    def fails(histogram):
        raise RuntimeError(f"the table has {histogram.total} rows")

    bad = trusted(fails, neighbours=CHANGED, lower=5)
    one = mode(trusted=[bad], grid=1, epsilon=100)
    book = one.book({"acme": [bad], "cork": [BUSIEST]})
    made = one.release(AskedStatistics(TABLE, book), rng=unsafe_seeded(4))
    assert made.value.answers("acme", book)[0] == pytest.approx(5, abs=one.error(1e-9))
    assert made.value.answers("cork", book)[2] == pytest.approx(60, abs=one.error(1e-9))
    assert made.guarantee == one.guarantee


def test_the_book_says_who_and_not_what():
    one = mode()
    empty, full = one.book({"acme": []}), one.book({"acme": [BUSIEST, MIDDLE]})
    assert repr(empty) == repr(full)
    assert str(TABLE.total) not in repr(AskedStatistics(TABLE, full))
    assert isinstance(full, StatisticBook)


def test_other_data_are_refused():
    one = mode()
    for odd in (TABLE, None, asked(mode(epsilon=2))):
        with pytest.raises(InvalidParameter, match="data"):
            one.release(odd)
    narrow = Histogram.dense(Universe([("a", (0, 1))]), [1, 1])
    with pytest.raises(InvalidParameter, match="universe"):
        one.release(AskedStatistics(narrow, one.book({})))
    several = Histogram(SMALL, np.ones(6, dtype=int), rows_per_unit=2)
    person = mode(neighbours=Replace("person"))
    with pytest.raises(NeighboursMismatch, match="rows"):
        person.release(AskedStatistics(several, person.book({})))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ranked(AGES, rank=0),
        lambda: Ranked(AGES, rank=4),
        lambda: Ranked(AGES.query(0), rank=1),
        lambda: HowMany(AGES, at_least=0),
        lambda: HowMany(WEIGHTED, at_least=1),
        lambda: Distance(SMOKERS, AGES.subset([0]), norm=1),
        lambda: Distance(SMOKERS, OTHERS, norm=2),
        lambda: Ranked(Queries(SMALL, [TableQuery(SMALL, (0,), "real", table=[0.5, 1, 2])]), rank=1),
        lambda: Combined([]),
        lambda: Combined([(math.nan, MIDDLE)]),
        lambda: Combined([(1, AGES)]),
        lambda: trusted(function=7),
        lambda: trusted(sensitivity=0),
        lambda: trusted(lower=3, upper=3),
        lambda: mode(trusted=[size]),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(DiscreetError):
        make()


def test_many_attributes_need_no_array_over_all_cells():
    wide = Universe([(f"a{place}", range(4)) for place in range(40)])
    codes = np.arange(40 * 500).reshape(500, 40) % 4
    table = Histogram.from_records(wide, codes)
    pairs = Marginals(wide, [["a0", "a7"]])
    one = mode(universe=wide, epsilon=100)
    book = one.book({"acme": [HowMany(pairs, at_least=1), Ranked(pairs, rank=1)]})
    found = one.release(AskedStatistics(table, book), rng=unsafe_seeded(5)).value.answers("acme", book)
    truth = [statistic.value(table) for statistic in book.list_asked("acme").values()]
    assert list(found.values()) == pytest.approx(truth, abs=one.error(1e-9))


def test_sums_of_large_counts_do_not_wrap():
    huge = Histogram.dense(SMALL, [2**60, 0, 2**60, 0, 2**60, 0])
    gaps = Distance(UP_TO, Predicates(SMALL, [(["age"], np.zeros(3, dtype=bool))] * 3), norm=1)
    assert gaps.value(huge) == 6 * 2**60  # more than 2**62, the most a place holds
    one = mode(sensitivity=10, neighbours=ADDED)
    answers = one.release(AskedStatistics(huge, one.book({"acme": [gaps]}))).value.answers("acme", None)
    assert answers[0] == pytest.approx(2**62, rel=1e-9)
