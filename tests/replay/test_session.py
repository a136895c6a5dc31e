"""What a session lets through, together, stays within its budget: exact laws of transcripts, and replay.

The analyst of the exact tests is adaptive: what she asks next, and for how much, depends on every answer, and
she goes on until she is refused. The law of everything she sees is enumerated on neighbouring tiny data.
"""

import itertools
from fractions import Fraction

import pandas
import pytest
from tests.replay.test_curator import BASE, BY_USER, NAMES, PAID, UNITS, schema_of

import discreet as dp
from discreet.audit.enumeration import output_distribution
from discreet.audit.exact_report import divergences
from discreet.audit.replay_report import replay_run
from discreet.core.errors import BudgetExceeded, Refused
from discreet.curator.ledger.ledger import Ledger
from discreet.data import Table, User
from discreet.mechanisms import NoisyHistogram
from discreet.queries import Histogram, Marginals, Universe
from discreet.query_release.linear.independent import Independent
from discreet.testing import unsafe_seeded

LINE = Universe([("x", ("a", "b"))])
PAIRS = [((9, 0), (9, 1)), ((9, 1), (9, 2)), ((0, 9), (1, 9)), ((0, 0), (0, 1))]


@pytest.fixture(autouse=True)
def one_secret(monkeypatch):
    """Which rows of a user count must be the same on every table."""
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")


def choose(epsilon):
    return dp.Exponential(sensitivity=dp.Monotone(1), epsilon=epsilon, size=2, neighbours=dp.AddRemove("row"))


def ask_until_refused(counts, rng, *, delta):
    """Spend all of epsilon 1: more on whatever was seen last, and less after a refusal."""
    session = dp.Session(Histogram.dense(LINE, list(counts)), epsilon=1, delta=delta, large_delta=True)
    seen, price = [], Fraction(1, 4)
    while len(seen) < 7:
        try:
            drawn = session.run(choose(price), lambda data: data.counts(), rng=rng).value
        except BudgetExceeded:
            seen.append(None)
            if price <= Fraction(1, 8):
                break
            price = Fraction(1, 8)
            continue
        seen.append(drawn)
        price = Fraction(1, 2) if drawn == seen[0] else Fraction(1, 4)
    return tuple(seen)


def worst(delta, *, at):
    """Return the largest epsilon at delta 0, or the largest delta at epsilon 1, over all pairs."""
    found = 0.0
    claim = ("epsilon", 0, 1.0) if at is None else ("delta", at, 1.0)
    for left, right in PAIRS:
        laws = [
            output_distribution(lambda data, rng: ask_until_refused(data, rng, delta=delta), data)
            for data in (left, right)
        ]
        for p, q in itertools.permutations(laws):
            found = max(found, *(measured for _, measured, _ in divergences(p, q, [claim])))
    return found


def test_a_pure_session_is_never_beyond_its_budget_and_comes_close():
    assert 0.8 < worst(0, at=None) <= 1


def test_a_session_with_a_delta_is_never_beyond_its_budget():
    assert worst(Fraction(1, 10), at=1.0) <= 0.1


def test_the_enumeration_sees_a_filter_that_lets_everything_through(monkeypatch):
    monkeypatch.setattr("discreet.accounting.filters.Filter.fits", lambda *given, **named: True)
    assert worst(0, at=None) > 1


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("unit", UNITS)
def test_everything_that_goes_through_a_session_moves_by_no_more_than_was_paid_for(unit, delta):
    """SQL, a mechanism and a release on a table and on its neighbour: the same steps, the same charges."""
    kind, neighbours, rows, pairs = UNITS[unit]
    schema, moved = schema_of(kind, neighbours), Fraction(0)
    texts = (*PAID, BY_USER) if isinstance(kind, User) else PAID
    of_rows = dp.Replace("row") if unit == "replaced row" else dp.AddRemove("row")

    def run(data, rng):
        table = Table(pandas.DataFrame(list(data), columns=NAMES), schema=schema)
        with dp.Session(table, epsilon=60, delta=delta) as session:
            refused, answers = [], []
            for (
                text
            ) in texts:  # what is refused for the sake of an earlier count follows from that count alone
                try:
                    answers.append(session.sql(text, epsilon=1, rng=rng))
                except Refused as refusal:
                    refused.append(str(refusal))
                    answers.append(session.sql(text, epsilon=1, insist=True, rng=rng))
            assert refused
            region = session.universe(["region"])
            counts = NoisyHistogram(size=region.size, epsilon=Fraction(1, 2), neighbours=of_rows)
            drawn = session.run(counts, lambda lent: lent.histogram(["region"]).counts(), rng=rng)
            mechanism = Independent(
                workload=Marginals.of_order(region, 1), epsilon=1, delta=0, neighbours=of_rows
            )
            released = session.run(mechanism, rng=rng)
            told = tuple((one.columns, one.rows) for one in answers), tuple(drawn.value.tolist())
            charges = tuple((entry.loss, tuple(entry.charged.items())) for entry in session.history)
            return (
                told,
                tuple(refused),
                tuple(released.value.answers(mechanism.workload).tolist()),
                charges,
                session.left,
            )

    for seed, pair in enumerate(pairs):
        report = replay_run(run, pair, rng=unsafe_seeded(seed))
        other = [problem for problem in report.problems if " moved by " not in problem]
        assert not other, other
        # What SQL measures is about the unit; the two mechanisms are about rows, and pay for so many.
        for distance, allowed in zip(report.distances[:-2], report.allowed[:-2], strict=True):
            assert distance <= allowed
        for distance, allowed in zip(report.distances[-2:], report.allowed[-2:], strict=True):
            assert distance <= rows * allowed
        moved = max(moved, *(d / a for d, a in zip(report.distances, report.allowed, strict=True) if a))
    assert moved >= Fraction(1, 3)


def test_the_charge_for_a_unit_is_that_for_all_of_its_rows():
    for _, (kind, neighbours, rows, _) in UNITS.items():
        schema = schema_of(kind, neighbours)
        table = Table(pandas.DataFrame(list(BASE), columns=NAMES), schema=schema)
        of_rows = dp.Replace("row") if rows == 1 and neighbours == dp.Replace("row") else dp.AddRemove("row")
        with dp.Session(table, epsilon=10, delta=0) as session:
            size = session.universe(["region"]).size
            mechanism = NoisyHistogram(size=size, epsilon=Fraction(1, 2), neighbours=of_rows)
            session.run(mechanism, lambda lent: lent.histogram(["region"]).counts())
            assert session.history[0].charged["epsilon"] == Fraction(rows, 2)
            assert session.left == float(10 - Fraction(rows, 2))


def test_sessions_that_share_a_ledger_share_its_budget():
    ledger = Ledger(epsilon=1, delta=0, neighbours=dp.AddRemove("row"))
    first, second = (
        dp.Session(Histogram.dense(LINE, [3, 4]), ledger=ledger, name=name) for name in ("first", "second")
    )
    read = lambda data: data.counts()  # noqa: E731
    first.run(choose(Fraction(3, 4)), read)
    assert first.left == second.left == pytest.approx(0.25)
    with pytest.raises(BudgetExceeded):
        second.run(choose(Fraction(1, 2)), read)
    second.run(choose(Fraction(1, 4)), read)
    assert first.left == second.left == pytest.approx(0, abs=1e-9)
    assert [len(one.history) for one in (first, second)] == [1, 1]
