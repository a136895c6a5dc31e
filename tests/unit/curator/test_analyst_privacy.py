"""What one analyst asks does not reach another: every channel of the curator, with and without a promise."""

import contextlib
import hashlib
import itertools
import threading
from dataclasses import replace
from fractions import Fraction

import pandas
import pytest
from tests.unit.curator.conftest import BY_ROW, BY_USER, REPLACED, curator, people

from discreet.analysts.promises import ManyToOne, OneAnalystToMany, OneQueryToMany, is_perfect
from discreet.core.errors import BudgetExceeded, DiscreetError, EngineFailed, InvalidParameter, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.curator import Curator
from discreet.curator.hypotheses.published import Published
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ticks import Ticks
from discreet.data import Identifier, Integer, Schema, Table, User
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.testing import unsafe_seeded

MEAN = "SELECT AVG(income) AS mean FROM people"
EAST = "SELECT COUNT(*) AS n FROM people WHERE region = 'east'"
NORTH = "SELECT COUNT(*) AS n FROM people WHERE region = 'north'"
PURE = {"epsilon": 20, "delta": 0}
HALF = Fraction(1, 2)


def ask_mean(rival):
    rival.sql(MEAN)


def ask_counts(rival):
    rival.sql(EAST)
    rival.ask(Marginals(rival.universe, [["region"]]))


def ask_until_refused(rival):
    with pytest.raises(BudgetExceeded):
        for place in itertools.count():
            rival.sql(f"{MEAN} WHERE income > {place}")


def ask_nonsense(rival):
    for text in ("DROP TABLE people", "SELECT income FROM people", ""):
        with pytest.raises(Refused):
            rival.sql(text)


def ask_what_fails(rival):
    whole = Table.answer

    def fail(self, prepared, **given):
        raise EngineFailed

    Table.answer = fail
    try:
        with pytest.raises(EngineFailed):
            rival.sql(MEAN)
    finally:
        Table.answer = whole


def ask_nothing(rival):
    del rival


RIVALS = (ask_mean, ask_counts, ask_until_refused, ask_nonsense, ask_what_fails)


@pytest.fixture(scope="module")
def published():
    """One published hypothesis for all worlds: what else they send must not depend on the rival."""
    with Table(people(), schema=BY_ROW) as table:
        return Published.open(
            table, epsilon=Fraction(15), delta=Fraction(0), columns=("region", "age", "smoker")
        )


@pytest.fixture
def same_noise(monkeypatch, published):
    """Noise that depends on the question alone, so that worlds can be compared byte by byte."""
    whole = Table.answer

    def answer(self, plan, **given):
        text = repr((plan.question.outputs, plan.question)).encode()
        rng = unsafe_seeded(int(hashlib.sha256(text).hexdigest()[:8], 16))
        return whole(self, plan, rng=rng, **given)

    monkeypatch.setattr(Table, "answer", answer)
    monkeypatch.setattr(Published, "open", lambda *args, **given: published)


def told(reply):
    return repr(reply), reply.rows, reply.kind, dict(reply.cost), reply.repeated, dict(reply.intervals)


def probe_record(own):
    return own.plan(MEAN).kind


def probe_reply(own):
    return told(own.sql(MEAN))


def probe_quote(own):
    return repr(own.plan(EAST)), repr(own.plan(MEAN))


def probe_hypothesis(own):
    answers = own.ask(Marginals(own.universe, [["region"], ["region", "smoker"]]))
    return repr(answers), told(own.sql(NORTH))


def probe_budget(own):
    return own.left


def probe_cutoff(own):
    try:
        return told(own.sql(MEAN + " WHERE age < 23"))
    except BudgetExceeded as error:
        return str(error)


def probe_words_of_refusal(own):
    with pytest.raises(DiscreetError) as caught:
        for place in itertools.count():
            own.sql(f"{MEAN} WHERE income > {place}")
    return str(caught.value), place


def probe_history(own):
    own.sql(EAST)
    own.sql(MEAN)
    return own.history, repr(own)


PROBES = (
    probe_record,
    probe_reply,
    probe_quote,
    probe_hypothesis,
    probe_budget,
    probe_cutoff,
    probe_words_of_refusal,
    probe_history,
)


def world(rival, probe, **given):
    with curator(**PURE, **given) as one:
        share = HALF if one.promise is not None else None
        doors = [one.analyst(name, share=share) for name in ("rival", "own")]
        rival(doors[0])
        return repr(probe(doors[1])).encode()


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("promise", [OneAnalystToMany()])
@pytest.mark.usefixtures("same_noise")
def test_nothing_a_rival_does_changes_a_byte(promise, rival, probe):
    assert world(rival, probe, promise=promise) == world(ask_nothing, probe, promise=promise)


@pytest.mark.parametrize(
    ("rival", "probe"),
    [
        (ask_mean, probe_record),
        (ask_mean, probe_reply),
        (ask_mean, probe_quote),
        (ask_mean, probe_budget),
        (ask_mean, probe_words_of_refusal),
        (ask_mean, probe_history),
        (ask_counts, probe_hypothesis),
        (ask_until_refused, probe_cutoff),
        (ask_what_fails, probe_budget),
    ],
)
@pytest.mark.usefixtures("same_noise")
def test_without_a_promise_each_of_these_channels_is_open(rival, probe):
    assert world(rival, probe) != world(ask_nothing, probe)


@pytest.mark.usefixtures("same_noise")
def test_questions_between_ones_own_change_nothing_either():
    """A whole conversation of one analyst, interleaved with another's in two ways."""

    def conversation(texts):
        with curator(**PURE, promise=OneAnalystToMany()) as one:
            rival, own = one.analyst("rival", share=HALF), one.analyst("own", share=HALF)
            seen = []
            for text in (MEAN, EAST, MEAN, NORTH, MEAN + " WHERE age < 23"):
                for other in texts:
                    with contextlib.suppress(DiscreetError):
                        rival.sql(other)
                seen.append((told(own.sql(text)), own.left, repr(own.plan(NORTH))))
            return repr((seen, own.history)).encode()

    quiet = conversation([])
    assert conversation([MEAN]) == quiet
    assert conversation([EAST, "DROP TABLE people", NORTH, MEAN + " WHERE age < 23"]) == quiet


def test_two_analysts_pay_for_and_get_noise_of_their_own():
    with curator(promise=OneAnalystToMany()) as one:
        acme, blue = one.analyst("acme", share=HALF), one.analyst("blue", share=HALF)
        texts = [f"{MEAN} WHERE age < {age}" for age in (22, 24, 26)]
        mine, theirs = [acme.sql(text) for text in texts], [blue.sql(text) for text in texts]
        assert [reply.rows for reply in mine] != [reply.rows for reply in theirs]
        assert not any(reply.repeated for reply in theirs)
        assert one.ledger.spent("acme") == one.ledger.spent("blue")
        assert acme.sql(texts[0]).repeated  # her own record


def test_the_hypothesis_is_the_same_object_whatever_is_asked():
    with curator(promise=OneQueryToMany()) as one:
        before = one._shared.synopsis.weights.tobytes()
        acme = one.analyst("acme", share=1)
        for place in range(20):
            acme.sql(f"SELECT COUNT(*) AS n FROM people WHERE age = {20 + place % 10} AND smoker = 'yes'")
        acme.ask(Marginals.of_order(one.universe, 3))
        assert one._shared.synopsis.weights.tobytes() == before
        assert not one._shared.synopsis.weights.flags.writeable


def test_the_promise_is_a_value():
    for promise in (OneAnalystToMany(), OneQueryToMany(), ManyToOne()):
        with curator(shared=0, promise=promise) as one:
            assert is_perfect(one.analyst_guarantee)
            assert one.analyst_guarantee.neighbours == promise
    with curator(shared=0) as one:
        assert one.analyst_guarantee is None


def test_a_promise_says_what_holds_of_time():
    """What was worked out for anybody comes sooner, so the owner chooses ticks, or says there are none."""
    with pytest.raises(InvalidParameter, match="tick must be given under a promise"):
        curator(shared=0, promise=OneAnalystToMany(), tick=None)
    for given in ({"promise": OneAnalystToMany(), "tick": 0}, {"tick": None}, {"tick": 0.5}):
        curator(shared=0, **given).close()


def test_the_data_are_as_safe_as_before():
    with curator(promise=OneAnalystToMany()) as one:
        assert one._shared.guarantee.loss.delta(Fraction(3, 2)) <= 0.75e-6
        assert one.guarantee.implies(epsilon=2, delta=1e-6)
        assert not one.guarantee.implies(epsilon=1.99, delta=1e-6)


@pytest.mark.parametrize("schema", [BY_USER, REPLACED])
def test_other_units_are_paid_for(schema):
    with curator(schema, epsilon=8, promise=OneAnalystToMany()) as one:
        assert one._shared.guarantee.neighbours == schema.neighbours
        assert one._shared.guarantee.loss.delta(6) <= 0.75e-6


@pytest.mark.parametrize("given", [{}, PURE])
def test_answers_are_good(given, frame):
    with curator(promise=OneAnalystToMany(), **given) as one:
        acme = one.analyst("acme", share=1)
        reply = acme.sql("SELECT region, COUNT(*) AS n FROM people GROUP BY region")
        for (region, count), (low, high) in zip(
            reply.rows, reply.interval("n", 0.95, together=True), strict=True
        ):
            truth = (frame.region == region).sum()
            assert low <= truth <= high
            assert abs(count - truth) <= 600
        # A promise about errors is made for boxes of few columns only, and only with Gaussian noise.
        assert reply.kind == ("stale" if given else "free")
        plan = acme.plan(EAST)
        assert plan.error("n") is None if given else 0 < plan.error("n") < 600
        assert ("published" in repr(plan)) == bool(given)


def test_a_question_that_is_no_box_has_no_error(frame):
    with curator(promise=OneAnalystToMany()) as one:
        either = Predicates(
            one.universe, [(["age", "region"], lambda age, region: (age % 2 == 0) | (region == 0))]
        )
        answer = one.analyst("acme", share=1).ask(either.query(0))
        assert (answer.kind, answer.error) == ("stale", float("inf"))
        assert abs(answer.value - ((frame.age % 2 == 0) | (frame.region == "east")).sum()) < 600


@pytest.mark.parametrize("share", [None, 0, 2, Fraction(3, 4)])
def test_shares_are_given_and_add_up(share):
    with curator(shared=0, promise=OneAnalystToMany()) as one:
        one.analyst("first", share=HALF)
        with pytest.raises(InvalidParameter, match="share"):
            one.analyst("second", share=share)
        assert one.analyst("second", share=HALF).left == one.analyst("first").left


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("asked", [0, 0.3, 0.999])
def test_work_below_half_a_tick_is_invisible(clock, asked, fails):
    found = set()
    for work in (0, 0.001, 0.3, 0.499):
        clock.now = 100.0
        held = Ticks(1)
        clock.now += asked
        with contextlib.suppress(Refused), held.hold():
            clock.now += work  # waiting for others included
            if fails:
                raise Refused(what="it", why="no", way_out="Ask")
        found.add(round(clock.now, 9))
    assert found == {102.0 if asked == 0.999 else 101.0}


def test_longer_work_leaves_at_a_tick_too(clock):
    held = Ticks(Fraction(1, 2))
    with held.hold():
        clock.now += 1.7
    assert clock.now == 102.0


def test_without_ticks_nobody_waits(clock):
    with Ticks(0).hold():
        clock.now += 1.7
    assert clock.now == 101.7
    with pytest.raises(InvalidParameter, match="tick"):
        Ticks(-1)


def test_every_door_is_held_to_ticks(clock):
    with curator(promise=OneAnalystToMany(), tick=10) as one:
        acme = one.analyst("acme", share=1)
        for act in (
            lambda: acme.plan(EAST),
            lambda: acme.sql(EAST),
            lambda: acme.sql(MEAN),
            lambda: acme.ask(Marginals(one.universe, [["region"]])),
            lambda: acme.sql("DROP TABLE people"),
            lambda: acme.left,
        ):
            clock.now += 3
            with contextlib.suppress(Refused):
                act()
            assert clock.now % 10 == 0


def test_nobody_waits_for_what_another_analyst_makes_the_engine_do(monkeypatch):
    """While one analyst's question is in the engine, plans, counts and budgets of another come at once."""
    with curator(promise=OneAnalystToMany()) as one:
        acme, rival = one.analyst("acme", share=0.5), one.analyst("rival", share=0.5)
        inside, free, answer = threading.Event(), threading.Event(), Table.answer

        def slow(table, prepared, **given):
            inside.set()
            assert free.wait(60)
            return answer(table, prepared, **given)

        monkeypatch.setattr(Table, "answer", slow)
        asking = threading.Thread(target=rival.sql, args=(MEAN,))
        asking.start()
        try:
            assert inside.wait(60)
            seen = []
            mine = threading.Thread(
                target=lambda: seen.extend([acme.plan(MEAN), acme.sql(EAST), acme.left]), daemon=True
            )
            mine.start()
            mine.join(30)
            assert len(seen) == 3
        finally:
            free.set()
            asking.join()


def test_reading_ones_budget_does_not_add_up_what_others_spent():
    ledger = Ledger(epsilon=1, delta=0, neighbours=AddRemove("row"))
    for who in ("acme", "rival"):
        ledger.cap(who, Fraction(1, 2))
    item = Guarantee(PureLoss(Fraction(1, 10**6)), AddRemove("row"))
    ledger.reserve("acme", "q", item)
    for _ in range(50):
        ledger.reserve("rival", "q", item)

    class Untouchable(dict):
        def __iter__(self):
            raise AssertionError("the entries of others were read")

        values = items = keys = list_now = __iter__

    ledger._account.records = Untouchable(ledger._account.records)
    assert ledger.left("acme") == {"epsilon": Fraction(1, 2) - Fraction(1, 10**6)}


VISITS = Schema(
    "visits",
    columns=(Identifier("who"), Integer("spent", lower=0, upper=9)),
    unit=User(column="who", max_rows=20, max_groups=1),
    neighbours=AddRemove("who"),
)
BOUNDED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed={}) SUM({}) FROM {}"
JOINED = BOUNDED.format(1, "income", "people JOIN visits ON people.who = visits.who")


@pytest.mark.parametrize("rival", [0, 7, 40])
def test_whether_one_is_answered_does_not_depend_on_what_others_ask(rival):
    """An engine kept eight relations for all: making one for a question made another one of it fall out."""
    frame = people(200)
    visits = pandas.DataFrame({"who": frame["who"], "spent": [place % 10 for place in range(200)]})
    schema = replace(BY_USER, unit=User(column="who", max_rows=20, max_groups=1))
    table = Table(frame, schema=schema, joined=[(visits, VISITS)])
    stored = table._source._connection.cursor()  # the curator takes the table
    with Curator(
        table,
        epsilon=100,
        delta=0,
        shared=0,
        promise=OneAnalystToMany(),
        tick=0,
        question=(Fraction(1, 10), 0),
    ) as one:
        acme, blue = one.analyst("acme", share=HALF), one.analyst("blue", share=HALF)
        tables = stored.execute("SELECT COUNT(*) FROM duckdb_tables()").fetchall()
        blue.sql(BOUNDED.format(1, "income", "people"))
        for place in range(rival):
            acme.sql(BOUNDED.format(place % 19 + 2, "income", f"people WHERE income <> {place}"))
        assert blue.sql(JOINED).kind == "priced"
        # Nothing of any question is left for the next one, whose time would tell of it.
        assert stored.execute("SELECT COUNT(*) FROM duckdb_tables()").fetchall() == tables
