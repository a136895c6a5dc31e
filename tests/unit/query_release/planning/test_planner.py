"""The planner looks at public facts only, prefers what is best, and inverts its own predictions."""

import dataclasses
import math
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries import Histogram, Marginals, Matrix, Prefixes, Union, Universe
from discreet.queries.written import write_workload
from discreet.query_release.asked import TableWorkload, marginals
from discreet.query_release.linear import independent
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.linear.split import Split
from discreet.query_release.planning import planner
from discreet.query_release.planning import predict as predictions
from discreet.query_release.planning.candidates import CANDIDATES, ReleaseFacts
from discreet.query_release.planning.planner import plan
from discreet.query_release.planning.population import alike, population
from discreet.query_release.planning.predict import ALIKE, MODELLED, Prediction, choose, predict, say_why
from discreet.query_release.synopses import marginal_tables as tables
from discreet.query_release.synopses.synopsis import Weights
from discreet.query_release.synopses.synthetic import SyntheticTable
from discreet.testing import unsafe_seeded

LINE = Universe([("age", range(2048))])
AGES = Prefixes(LINE, ["age"])
PEOPLE = Universe(
    [("sex", ("f", "m")), ("region", ("n", "s", "w")), ("age", range(8)), ("smoker", (False, True))]
)
PAIRS = Marginals.of_order(PEOPLE, 2)


class Poisoned:
    """A table that nobody may read."""

    neighbours, rows_per_unit = AddRemove("person"), 1

    def universe(self, columns=None):
        del columns
        return PEOPLE

    def histogram(self, columns=None):
        raise AssertionError("private data were read")


def planned(workload=PAIRS, **changes):
    return plan(workload, **{"epsilon": 1, "delta": 1e-6, "rows": 2000} | changes)


@pytest.fixture(scope="module", autouse=True)
def few_trials():
    """Nothing here rests on the last per cents of a predicted error: a few fits will do instead of forty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictions, "_FITS", (4, 6))
        yield


@pytest.fixture(scope="module")
def pairs(few_trials):
    return planned()


@pytest.fixture(scope="module")
def ages(few_trials):
    return planned(AGES, delta=0, by="largest")


@pytest.mark.usefixtures("few_trials")
def test_no_private_data_are_read():
    wanted = marginals(Poisoned(), order=2)
    found = planned(wanted)
    assert found.facts.workload is write_workload(wanted.workload)
    with pytest.raises(AssertionError, match="private"):
        wanted.data.histogram()


def test_ranges_go_to_the_tree(ages):
    assert ages.best.name == "range-tree"
    assert ages.of("independent").largest > 3 * ages.best.largest
    assert ages.of("adaptive").mechanism is None and "delta" in ages.of("adaptive").why_not


def test_the_recommendation_is_about_as_good_as_the_best(pairs):
    errors = [each.average for each in pairs.applicable]
    assert errors == sorted(errors)
    assert pairs.best.average <= ALIKE * MODELLED * errors[0]
    assert pairs.best.makes_rows
    assert pairs.mechanism is pairs.best.mechanism
    assert pairs.mechanism.guarantee.implies(epsilon=1, delta=1e-6)


def test_predictions_of_plain_noise_are_its_closed_form(pairs):
    independent = pairs.of("independent")
    noise = Independent(workload=PAIRS, epsilon=1, delta=1e-6, neighbours=AddRemove("row")).noise
    mean = noise.sigma * math.sqrt(2 / math.pi) if hasattr(noise, "sigma") else float(noise.scale)
    assert independent.average == pytest.approx(mean, rel=0.15)
    assert independent.largest <= independent.bound


@pytest.mark.usefixtures("few_trials")
@pytest.mark.parametrize(("workload", "delta"), [(AGES, 0), (PAIRS, 1e-6)])
def test_the_same_facts_have_the_same_plan(workload, delta):
    one, two = (planned(workload, delta=delta) for _ in range(2))
    assert str(one) == str(two)
    assert [(e.average, e.largest) for e in one.predictions] == [
        (e.average, e.largest) for e in two.predictions
    ]
    assert one.at(2).best.average == two.at(2).best.average


def test_errors_of_noise_alone_are_what_they_are_on_any_data():
    """A tree answers all prefixes from few draws, so a few trials would say little."""
    line = Universe([("hours", range(99))])
    asked, heap = Prefixes(line, ["hours"]), np.ones(99, dtype=np.int64)
    heap[40] = 20_000
    found = planned(asked, epsilon=0.1, delta=0, rows=48_842)
    tree, data = found.of("range-tree"), Histogram.dense(line, heap)
    assert found.best is tree and tree.is_exact
    off = [
        np.abs(tree.mechanism.release(data, rng=unsafe_seeded(n)).value.answers(asked) - asked.answers(data))
        for n in range(400)
    ]
    assert np.mean(off) == pytest.approx(tree.average, rel=0.12)
    assert np.max(off, axis=1).mean() == pytest.approx(tree.largest, rel=0.12)


def prediction(name, error, *, is_exact, makes_rows=True):
    return Prediction(name, None, error, 2 * error, is_exact=is_exact, makes_rows=makes_rows)


FACTS = ReleaseFacts(PAIRS, Fraction(1), Fraction(0), AddRemove("row"), 100, "average")


def test_a_model_must_be_clearly_better_than_what_is_known():
    known = prediction("known", 10.0, is_exact=True)
    close = prediction("model", 10 / (ALIKE * MODELLED) + 0.01, is_exact=False)
    better = prediction("model", 10 / (ALIKE * MODELLED) - 0.01, is_exact=False)
    assert choose([known, close], FACTS) is known
    assert choose([known, better], FACTS) is better
    like_public = dataclasses.replace(FACTS, made_up=False)
    assert choose([known, close], like_public) is close, "public data are believed"
    assert "noise alone" in say_why(known, close, FACTS)
    few = prediction("few", 9.6, is_exact=True, makes_rows=False)
    assert choose([known, few], FACTS) is known and "no synthetic rows" in say_why(known, few, FACTS)
    assert "about the same" in say_why(close, prediction("other", 8.0, is_exact=False), FACTS)


def test_a_plan_says_why_it_does_not_recommend_the_smallest_error(monkeypatch, ages):
    def a_little_better(candidate, facts, people):
        if candidate.name == "residual-marginals":
            return predict(candidate, facts, people)
        if candidate.name != "max-entropy":
            return Prediction(candidate.name, None, why_not="not tried here")
        known = predict(CANDIDATES[0], facts, people)
        return dataclasses.replace(known, name="max-entropy", average=0.95 * known.average, is_exact=False)

    monkeypatch.setattr(planner, "predict", a_little_better)
    found = planned()
    monkeypatch.undo()
    assert found.best.name == "residual-marginals" and found.applicable[0].name == "max-entropy"
    line = next(line for line in str(found).splitlines() if "is recommended" in line)
    assert found.why in line and "residual-marginals" in line and found.why in found._repr_html_()
    assert ages.best is ages.applicable[0] and not ages.why and "is recommended" not in str(ages)


def test_a_plan_loads_only_what_it_tries():
    """In a process of its own: here everything is loaded already."""
    code = """
import sys
import discreet as dp
from discreet.queries import Histogram, Prefixes, Universe
loaded = lambda: {name.rpartition(".")[2] for name in sys.modules if "discreet.query_release." in name}
kinds = {"max_entropy", "adaptive", "residual_marginals", "range_tree", "rectangle_tree", "projection",
         "mwem", "small_database", "interval_search", "independent", "split", "factored_learner"}
dp.plan, dp.release
assert not loaded() & kinds, loaded() & kinds
line = Universe([("age", range(20))])
dp.release(Prefixes(line, ["age"]), Histogram.dense(line, [5] * 20), epsilon=1, delta=0)
unused = {"adaptive", "residual_marginals", "rectangle_tree", "interval_search", "split", "factored_learner"}
assert not loaded() & unused, loaded() & unused
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_predictions_hold_on_other_data_of_the_same_kind(pairs):
    """What is predicted for a population is what happens on another one like it."""
    data = population(PEOPLE, 2001)
    for name in ("max-entropy", "residual-marginals", "independent"):
        each = pairs.of(name)
        off = np.abs(
            each.mechanism.release(data, rng=unsafe_seeded(5)).value.answers(PAIRS) - PAIRS.answers(data)
        )
        assert off.mean() == pytest.approx(each.average, rel=0.5)


def test_more_budget_means_less_error(pairs):
    richer = pairs.at(10)
    assert richer.facts.epsilon == 10
    assert richer.of("independent").average < 0.3 * pairs.of("independent").average
    assert [each.mechanism is None for each in richer.predictions] == [
        each.mechanism is None for each in pairs.predictions
    ]


@pytest.mark.parametrize("error", [20.0, 200.0, 2000.0])
def test_epsilon_for_inverts_the_prediction(ages, error):
    epsilon = ages.epsilon_for(error)
    again = ages.at(epsilon).of(ages.best.name).largest
    assert again == pytest.approx(error, rel=0.35)


def test_an_error_out_of_reach_is_refused(ages):
    with pytest.raises(InvalidParameter, match="reachable"):
        ages.epsilon_for(1e-9)


def test_a_plan_shows_a_table_and_a_picture(pairs, ages):
    text, page = str(pairs), pairs._repr_html_()
    assert text.count("<- recommended") == 1
    assert "range-tree" in text and "does not apply" in text
    assert f"<td>{pairs.best.name}</td>" in page and page.count("recommended") == text.count("recommended")
    assert repr(pairs) == text
    picture = ages.plot([1, 10])
    assert picture.startswith("<svg") and "range-tree" in picture
    assert "independent" in pairs.plot([1])


def only(monkeypatch, *names):
    """Let the planner weigh a few candidates: each trial of a fitted model takes a while."""
    few = tuple(each for each in CANDIDATES if each.name in names)
    assert len(few) == len(names)
    for module in (planner, predictions):
        monkeypatch.setattr(module, "CANDIDATES", few)


PARTS = Union([Marginals(PEOPLE, [["sex", "region"]]), Prefixes(PEOPLE, ["age"])])


def test_a_budget_is_split_among_parts(monkeypatch):
    only(monkeypatch, "residual-marginals", "range-tree", "independent")
    for delta in (0, 1e-6):
        found = planned(PARTS, delta=delta)
        split = found.of("split").mechanism
        assert split.guarantee.implies(epsilon=1, delta=delta)
        assert len(split.mechanisms) == 2
        assert found.of("split").average <= found.of("independent").average
    assert split.loss.epsilon(Fraction(1, 10**6)) > 0.9  # tight composition leaves little unspent


def test_a_split_raises_its_parts_as_far_as_tight_composition_allows():
    """Two Gaussian parts cost about the root of two, not twice as much as one; adding up would waste that."""
    parts = Union([Marginals.of_order(PEOPLE, 2), Marginals.of_order(PEOPLE, 3)])
    people = AddRemove("row")

    def maker(part):
        return lambda e, d: ResidualMarginals(workload=part, epsilon=e, delta=d, neighbours=people)

    public = {"workload": parts, "epsilon": 1, "delta": 1e-6, "neighbours": people}
    split = Split.share(makes=[maker(part) for part in parts.parts], shares=(1, 1), **public)
    assert 1.2 < sum(each.epsilon for each in split.mechanisms) < 1.6
    assert split.error(0.05) >= max(each.error(0.05) for each in split.mechanisms)
    richer = [maker(part)(1, 1e-6) for part in parts.parts]
    with pytest.raises(InvalidParameter, match="together"):
        Split(mechanisms=richer, **public)
    with pytest.raises(InvalidParameter, match="each built for its part"):
        Split(mechanisms=richer[::-1], **public)
    other = Independent(workload=parts.parts[1], epsilon=0.1, delta=0, neighbours=Replace("row"))
    with pytest.raises(NeighboursMismatch):
        Split(mechanisms=[maker(parts.parts[0])(0.1, 1e-7), other], **public)


@pytest.mark.usefixtures("few_trials")
def test_unions_of_tables_can_be_modelled_together(monkeypatch):
    only(monkeypatch, "range-tree", "max-entropy")
    assert planned(PARTS).of("max-entropy").mechanism is not None


def test_a_public_number_of_rows_is_used():
    found = planned(AGES, neighbours=Replace("row"), delta=0, rows=500)
    assert found.of("interval-search").mechanism is not None
    assert found.of("projection").mechanism.rows == 500


def test_public_data_take_the_place_of_the_population(monkeypatch):
    counts = np.zeros(PEOPLE.size, dtype=np.int64)
    counts[5] = 900
    spike = Histogram.dense(PEOPLE, counts)
    table = Weights(PEOPLE, counts, transcript=None)
    for public in (spike, table, table.synthetic(900)):
        assert (alike(PEOPLE, public, None).counts() == spike.counts()).all()
    only(monkeypatch, "max-entropy")
    found = planned(public=table, rows=None)
    assert found.facts.rows == 900 and "public data" in str(found)
    assert found.of("max-entropy").average < 0.5 * planned(rows=900).of("max-entropy").average
    assert alike(PEOPLE, spike, 4000).total == 4000
    with pytest.raises(InvalidParameter, match="public"):
        planned(public=Histogram.dense(LINE, np.zeros(2048, dtype=np.int64)))
    with pytest.raises(InvalidParameter, match="public"):
        planned(public="people.csv")


def test_what_no_mechanism_can_do_is_refused():
    real = Matrix(PEOPLE, np.full((1, PEOPLE.size), 0.25))
    with pytest.raises(Refused, match="no mechanism applies"):
        planned(real)


@pytest.mark.parametrize(
    "changes", [{"by": "luck"}, {"rows": 0}, {"epsilon": 0}, {"delta": -1}, {"workload": "SELECT"}]
)
def test_bad_parameters_are_refused(changes):
    with pytest.raises(InvalidParameter):
        planned(**changes)


def test_the_population_is_reproducible_skewed_and_dependent():
    wide = Universe([(f"a{k}", tuple("abcdefgh")) for k in range(30)])
    one, two = population(wide, 3000), population(wide, 3000)
    assert one.total == 3000 and not one.is_dense
    assert all((a == b).all() for a, b in zip(one.entries(), two.entries(), strict=True))
    single = one.marginal(["a3"]).counts()
    assert single.max() > 2 * np.median(single)
    joint = population(PEOPLE, 20_000).marginal(["sex", "region"]).counts() / 20_000
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert np.abs(joint - apart).sum() > 0.02
    assert population(LINE, 2_500_000).total == 2_500_000


def test_a_pair_of_data_and_workload_can_be_planned():
    people = Histogram.dense(LINE, np.zeros(2048, dtype=np.int64))
    assert planned((people, AGES), delta=0).facts.workload is write_workload(AGES)
    assert "Prefixes" in repr(TableWorkload(people, AGES))


def test_rows_are_scored_where_rows_are_wanted(monkeypatch):
    """Tables that are measured one by one answer well; here the rows that are made from them are poor."""

    def all_alike(universe, tables, *, total, rows, rng):
        del tables, rows, rng
        return SyntheticTable(universe, np.zeros((round(total), len(universe.shape)), dtype=np.int64))

    for module in (tables, independent):
        monkeypatch.setattr(module, "synthetic_rows", all_alike)
    wide = Marginals.of_order(Universe([(f"c{n}", range(4)) for n in range(12)]), 2)
    facts = {"epsilon": 10, "delta": 1e-9, "rows": 5000}
    of_answers, of_rows = plan(wide, **facts), plan(wide, score="rows", **facts)
    assert "errors of answers" in str(of_answers) and "errors of synthetic rows" in str(of_rows)
    assert of_answers.best.name == "residual-marginals"
    assert of_rows.best.name == "adaptive"
    assert of_rows.of("residual-marginals").average > of_rows.best.average > 1.5 * of_answers.best.average
    assert of_rows.best.bound == math.inf, "no theorem is about rows"
    mechanism = of_rows.mechanism
    people = population(wide.universe, 5000)
    rows = mechanism.release(people, rng=unsafe_seeded(2)).value.synthetic(rng=unsafe_seeded(3))
    assert np.abs(rows.answers(wide) - wide.answers(people)).mean() < 1.3 * of_rows.best.average


def test_what_makes_no_rows_is_not_scored_by_them():
    ages = Prefixes(Universe([("age", range(40))]), ["age"])
    found = plan(ages, epsilon=1, delta=0, score="rows", rows=500)
    assert found.of("independent").mechanism is None and "synthetic" in found.of("independent").why_not
    assert found.best.average < math.inf


def test_what_is_too_much_for_a_projection_is_said_in_cells_and_queries():
    workload = Prefixes(Universe([("age", range(200_000))]), ["age"])
    projection = next(one for one in CANDIDATES if one.name == "projection")
    with pytest.raises(Refused, match="200000 cells and 200000 queries: with more than 100000 of both"):
        projection.make(SimpleNamespace(workload=workload))
