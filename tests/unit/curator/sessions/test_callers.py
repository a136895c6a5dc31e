"""Hostile and clumsy callers of a session, threads, and what its history tells."""

import threading
from contextlib import nullcontext
from fractions import Fraction

import pandas
import pytest
from tests.unit.curator.conftest import BY_USER, REPLACED
from tests.unit.curator.sessions.opened import ALL, LINE, REGIONS, ROWS, laplace, line, opened, total

import discreet as dp
from discreet.core.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidParameter,
    LedgerRefused,
    NeighboursMismatch,
)
from discreet.core.loss import PureLoss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Bidder, BidderToOthers
from discreet.curator.sessions.session import Session
from discreet.games import PostedPrice
from discreet.queries import Marginals
from discreet.query_release.linear.independent import Independent
from discreet.testing import unsafe_seeded


class Screaming:
    """Says that it is whatever is wanted, and keeps what it is called with."""

    def __init__(self):
        object.__setattr__(self, "called", [])

    def __getattr__(self, name):
        if name == "__class__":
            return Mechanism
        object.__getattribute__(self, "called").append(name)
        return lambda *given, **named: self

    @property
    def __class__(self):
        return dp.Laplace


def test_an_object_that_says_it_is_a_mechanism_is_refused_before_it_is_asked():
    with Session(line(), epsilon=1, delta=0) as one:
        for ask in (one.run, one.open):
            liar = Screaming()
            with pytest.raises(InvalidParameter, match="mechanism must be"):
                ask(liar, total)
            assert "release" not in liar.called and "_draw" not in liar.called
        assert one.left == 1


def test_a_guarantee_that_is_none_is_refused():
    class Vague(Mechanism):
        neighbours = ROWS
        loss = PureLoss(Fraction(1))

        @property
        def guarantee(self):
            return type("Guarantee", (), {"loss": PureLoss(Fraction(0)), "neighbours": ROWS})()

        def error(self, beta):
            return 0

        def _draw(self, data, rng):
            raise AssertionError("data were read")

        def __repr__(self):
            return "Vague()"

    with Session(line(), epsilon=1, delta=0) as one, pytest.raises(InvalidParameter, match="Guarantee"):
        one.run(Vague(), total)


def test_a_plan_that_was_changed_is_refused():
    with opened() as one:
        planned = one.plan(ALL, epsilon=0.5)
        forged = object.__new__(type(planned))
        for name in ("budget", "columns", "bounds"):
            object.__setattr__(forged, name, getattr(planned, name))
        with pytest.raises(InvalidParameter, match="plan"):
            one.sql(forged)
        with opened(REPLACED) as other, pytest.raises(InvalidParameter, match="schemas"):
            other.sql(planned)
        assert one.left == 1


def test_a_release_plan_with_another_mechanism_is_charged_for_that():
    """Plans can be written into: what is charged is what is run, and not what the plan says."""
    with Session(line(), epsilon=1, delta=0) as one:
        workload = Marginals.of_order(LINE, 1)
        cheap, dear = (one.plan(workload, epsilon=each, delta=0, rows=20) for each in (0.25, 4))
        cheap.best = dear.best
        with pytest.raises(DiscreetError):
            one.release(cheap)
        assert one.left == 1


def test_threads_together_never_spend_more_than_there_is():
    with Session(line(), epsilon=1, delta=0) as one:
        gate, done, refused = threading.Barrier(16), [], []

        def ask():
            gate.wait()
            for _ in range(3):
                try:
                    done.append(one.run(laplace(Fraction(1, 10)), total))
                except BudgetExceeded as problem:
                    refused.append(problem)

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(done) == 10 and len(refused) == 38
        assert one.left == 0 and len(one.history) == 10


def test_threads_that_ask_the_same_at_once_pay_once():
    with opened() as one:
        gate, found = threading.Barrier(8), []

        def ask():
            gate.wait()
            found.append(one.sql(REGIONS, epsilon=0.1))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8 and all(answer is found[0] for answer in found)
        assert one.left == 0.9 and len(one.history) == 1


def test_a_reader_may_ask_the_session_and_pays_for_both():
    with opened() as one:

        def read(table):
            one.sql(ALL, epsilon=0.25)
            return table.histogram(["region"]).total

        one.run(laplace(Fraction(1, 4)), read)
        assert one.left == 0.5


def test_seeded_noise_is_marked():
    with opened() as one:
        assert one.sql(ALL, epsilon=0.25, rng=unsafe_seeded(1)).unsafe_seeded
        assert not one.sql(ALL, epsilon=0.25, fresh=True).unsafe_seeded


def test_seeded_noise_is_not_charged_to_a_budget_that_is_kept(tmp_path):
    path = tmp_path / "budget.db"
    with opened(ledger=path) as one:
        for ask in (
            lambda rng: one.sql(ALL, epsilon=0.25, rng=rng),
            lambda rng: one.run(laplace(Fraction(1, 4)), lambda table: 1, rng=rng),
        ):
            with pytest.raises(InvalidParameter, match="foretold"):
                ask(unsafe_seeded(1))
        assert one.left == 1
        assert one.sql(ALL, epsilon=0.25).rows


# --- history ------------------------------------------------------------------------------------------
def test_the_history_is_a_frame_of_prices_and_losses():
    with opened(BY_USER, epsilon=2, delta=1e-6) as one:
        one.sql(REGIONS, epsilon=0.5)
        one.run(laplace(Fraction(1, 4)), lambda table: table.histogram(["region"]).total)
        history = one.history
        frame = history.to_pandas()
        assert isinstance(frame, pandas.DataFrame)
        assert list(frame.columns) == [
            *("number", "kind", "what", "epsilon", "delta", "loss"),
            *("charged_epsilon", "charged_rho", "charged_delta", "state"),
        ]
        assert frame["epsilon"].tolist() == [0.5, 0.5]
        assert frame["charged_epsilon"].sum() == 1
        assert "COUNT(*)" in frame["what"][0] and "Laplace" in frame["what"][1]
        assert "2 at once" in frame["loss"][1]
        assert "sql" in repr(history) and "<table>" in history._repr_html_()
        assert history[0].number == 0 and len(list(history)) == 2
        assert "epsilon 1 left" in repr(one)
    empty = Session(line(), epsilon=1, delta=0).history
    assert len(empty.to_pandas()) == 0 and "kind" in repr(empty)


def test_progress_is_shown_where_it_is_wanted(monkeypatch):
    shown = []
    monkeypatch.setattr("discreet.core.progress.bars", lambda wanted: shown.append(wanted) or nullcontext())
    workload = Marginals.of_order(LINE, 1)
    with Session(line(), epsilon=1, delta=0) as one:
        for wanted in (True, False):
            mechanism = Independent(workload=workload, epsilon=Fraction(1, 4), delta=0, neighbours=ROWS)
            one.run(mechanism, progress=wanted)
    assert shown == [True, False]


def test_a_budget_in_a_file_outlives_the_session(tmp_path):
    path = tmp_path / "budget.db"
    for life in range(4):
        with Session(line(), epsilon=1, delta=0, ledger=path) as session:
            assert session.left == 1 - life * 0.25
            session.release(Marginals.of_order(LINE, 1), epsilon=Fraction(1, 4), delta=0)
    with Session(line(), epsilon=1, delta=0, ledger=path) as session:
        with pytest.raises(BudgetExceeded):
            session.release(Marginals.of_order(LINE, 1), epsilon=Fraction(1, 4), delta=0)
        with pytest.raises(LedgerRefused, match="open in another process"):
            Session(line(), epsilon=1, delta=0, ledger=path)
    with pytest.raises(LedgerRefused, match="a budget is set once"):
        Session(line(), epsilon=2, delta=0, ledger=path)
    with pytest.raises(InvalidParameter, match="given: a budget has no default"):
        Session(line(), ledger=path)


def test_what_only_players_may_see_is_nothing_for_a_session():
    price = PostedPrice(prices=[1, 2], epsilon=0.5, neighbours=Bidder())
    with pytest.raises(NeighboursMismatch, match="pass Bidder"):
        Session([1, 2, 2], epsilon=1, delta=0, neighbours=BidderToOthers())
    held = Session([1, 2, 2], epsilon=1, delta=0, neighbours=Bidder())
    with pytest.raises(NeighboursMismatch):
        held.run(price.seen_by_others(0, players=3))
    assert held.left == 1
    assert held.run(price).value in (1, 2)
