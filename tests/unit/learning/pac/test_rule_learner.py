"""Rules of finite classes: how they are counted, learned, and turned into queries and back."""

import math

import numpy as np
import pytest

from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import AddRemove, Replace
from discreet.learning import (
    AllOf,
    DecisionLists,
    GridHalfspaces,
    RuleLearner,
    SmallTrees,
    Stumps,
    TableLearner,
    find_distinguisher,
    learn_by_answers,
)
from discreet.queries import Universe
from discreet.testing import unsafe_seeded

PEOPLE = Universe([("age", range(4)), ("region", range(3)), ("ill", ("no", "yes")), ("smokes", (0, 1))])
KINDS = [
    Stumps(PEOPLE, "ill"),
    AllOf(PEOPLE, "ill", 2),
    DecisionLists(PEOPLE, "ill", 2),
    GridHalfspaces(PEOPLE, "ill", 1),
    SmallTrees(PEOPLE, "ill"),
]


def draw(count=300, seed=1):
    generator = np.random.default_rng(seed)  # noqa: TID251
    codes = np.stack([generator.integers(0, size, count) for size in PEOPLE.shape], axis=1)
    codes[:, 2] = (codes[:, 0] >= 2) ^ (generator.random(count) < 0.1)
    return codes


def records(codes):
    values = [attribute.values for attribute in PEOPLE.attributes]
    return [tuple(each[code] for each, code in zip(values, row, strict=True)) for row in codes]


def learner(rules, **changed):
    given = {"rows": 300, "epsilon": 2, "neighbours": AddRemove("person")}
    return RuleLearner(rules=rules, **{**given, **changed})


@pytest.mark.parametrize("rules", KINDS, ids=lambda rules: type(rules).__name__)
def test_errors_are_counted_as_rule_by_rule(rules):
    codes = draw()
    errors = rules.count_errors(codes)
    assert len(errors) == len(rules)
    for place in range(0, len(rules), max(1, len(rules) // 40)):
        rule = rules.rule(place)
        assert (rule.predict(codes) != codes[:, 2]).sum() == errors[place]
        assert rule.wrong.at(codes).sum() == errors[place]


@pytest.mark.parametrize("rules", KINDS, ids=lambda rules: type(rules).__name__)
def test_one_record_moves_each_count_by_at_most_one_and_one_way(rules):
    codes = draw(20)
    moved = rules.count_errors(codes) - rules.count_errors(codes[1:])
    assert set(moved.tolist()) <= {0, 1}


def test_the_classes_hold_what_they_say():
    two = Universe([("a", (0, 1)), ("b", (0, 1)), ("y", (0, 1))])
    tables = {kind.__name__: _tables(kind(two, "y")) for kind in (GridHalfspaces, SmallTrees)}
    assert len(_tables(Stumps(two, "y"))) == 6  # a, not a, b, not b, never, always
    assert len(_tables(AllOf(two, "y", 2))) == 8  # one or two given values
    assert len(tables["GridHalfspaces"]) == 14  # all but the two parities
    assert len(tables["SmallTrees"]) == 16  # all
    assert len(_tables(DecisionLists(two, "y", 2))) == 14


def _tables(rules):
    codes = np.indices((2, 2, 1)).reshape(3, -1).T
    return {tuple(rules.rule(place).predict(codes).tolist()) for place in range(len(rules))}


@pytest.mark.parametrize("rules", KINDS, ids=lambda rules: type(rules).__name__)
def test_every_rule_is_listed_once_with_what_it_depends_on(rules):
    """One that is listed twice would count twice in every bound: of 3,456 small trees 486 are different."""
    cells = np.indices(PEOPLE.shape).reshape(4, -1).T
    tables = set()
    for place in range(len(rules)):
        rule = rules.rule(place)
        tables.add(tuple(rule.predict(cells).tolist()))
        table = np.array(rule.second).reshape(rule.shape)
        constant = len(set(rule.second)) == 1
        assert constant or all((table != table.take([0], axis=axis)).any() for axis in range(table.ndim))
    assert len(tables) == len(rules)
    known = {"Stumps": 14, "AllOf": 35, "DecisionLists": 146, "GridHalfspaces": 110, "SmallTrees": 486}
    assert len(rules) == known[type(rules).__name__]


def test_an_attribute_of_one_value_tells_nothing():
    for kind, count in ((Stumps, 2), (AllOf, 1), (DecisionLists, 2), (GridHalfspaces, 2)):
        assert len(kind(Universe([("a", (0,)), ("y", (0, 1))]), "y")) == count
        both = kind(Universe([("a", (0,)), ("b", (0, 1)), ("y", (0, 1))]), "y")
        assert all(both.rule(place).axes in ((0,), (1,)) for place in range(len(both)))
    with pytest.raises(InvalidParameter, match="several values"):
        learner(SmallTrees(Universe([("a", (0,)), ("y", (0, 1))]), "y"))


def test_a_good_rule_is_found_and_says_what_it_is():
    codes = draw()
    rule = learner(Stumps(PEOPLE, "ill")).release(records(codes), rng=unsafe_seeded(1)).value
    assert str(rule) == "ill = 'yes' where (age) is one of (2,), (3,)"
    assert (rule.predict(codes) != codes[:, 2]).mean() < 0.15


def test_a_table_gets_a_label_for_each_cell():
    table = TableLearner(universe=PEOPLE, label="ill", rows=3000, epsilon=5, neighbours=AddRemove("person"))
    codes = draw(3000)
    rule = table.release(records(codes), rng=unsafe_seeded(1)).value
    assert (rule.predict(codes) != codes[:, 2]).mean() < 0.12
    assert rule.predict(codes).tolist() == (codes[:, 0] >= 2).astype(int).tolist()


def test_the_law_of_a_table_is_that_of_the_exponential_mechanism_over_all_rules():
    universe = Universe([("x", (0, 1)), ("y", (0, 1))])
    learned = TableLearner(universe=universe, label="y", rows=4, epsilon=1, neighbours=AddRemove("row"))
    data = [(0, 1), (0, 1), (1, 0), (1, 1)]
    law = audit.output_distribution(lambda given, rng: learned.release(given, rng=rng).value.second, data)
    wrong = {(a, b): 2 * (not a) + 1 for a in (False, True) for b in (False, True)}
    total = sum(math.exp(-each) for each in wrong.values())
    for second, probability in law.items():
        assert float(probability) == pytest.approx(math.exp(-wrong[second]) / total)


def test_sample_sizes_go_both_ways():
    one = learner(Stumps(PEOPLE, "ill"))
    for realizable in (False, True):
        rows = one.rows_for(0.1, 0.05, realizable=realizable)
        for count, enough in ((rows, True), (rows - 1, False)):
            made = learner(Stumps(PEOPLE, "ill"), rows=count)
            bound = (made.realizable_error if realizable else made.error)(0.05)
            assert (bound <= 0.1) is enough
    assert one.rows_for(0.1, 0.05, realizable=True) < one.rows_for(0.1, 0.05) / 4
    cheap = RuleLearner.for_error(
        alpha=0.1, beta=0.05, rules=one.rules, rows=2000, neighbours=AddRemove("person")
    )
    assert cheap.error(0.05) <= 0.1 and cheap.epsilon < 1


def test_sample_sizes_of_tables_go_both_ways():
    public = {"universe": PEOPLE, "label": "ill", "epsilon": 2, "neighbours": AddRemove("person")}
    rows = TableLearner(rows=1, **public).rows_for(0.1, 0.05)
    assert TableLearner(rows=rows, **public).error(0.05) <= 0.1
    assert TableLearner(rows=rows - 1, **public).error(0.05) > 0.1
    with pytest.raises(InvalidParameter, match="alpha"):
        TableLearner(rows=1, **public).rows_for(0, 0.05)


def test_release_gives_a_learner():
    codes = draw(2000)
    rule = learn_by_answers(KINDS[0], lambda query: float(query.at(codes).mean()))
    assert str(rule) == "ill = 'yes' where (age) is one of (2,), (3,)"


def test_a_learner_finds_where_a_guess_errs():
    """Of the real records none is young; the guess thinks that ages are even."""
    universe = Universe([("age", range(4)), ("real", (0, 1))])
    real, guess = [(2 + place % 2, 0) for place in range(200)], [(place % 4, 1) for place in range(200)]
    stumps = RuleLearner(rules=Stumps(universe, "real"), rows=400, epsilon=2, neighbours=Replace("person"))
    found = find_distinguisher(stumps, real, guess, rng=unsafe_seeded(1))
    assert found.value.second == (False, False, True, True)
    assert found.guarantee == stumps.guarantee
    with pytest.raises(InvalidParameter, match="guess"):
        find_distinguisher(stumps, real, [])


@pytest.mark.parametrize("hostile", [("odd", None, 1, 2), None, (), (9, 9, "yes", 9), (math.nan,) * 4])
@pytest.mark.parametrize("kind", ["rules", "table"])
def test_hostile_records_take_the_same_steps(hostile, kind):
    given = {"rows": 20, "epsilon": 1, "neighbours": Replace("person")}
    made = (
        RuleLearner(rules=KINDS[0], **given)
        if kind == "rules"
        else TableLearner(universe=PEOPLE, label="ill", **given)
    )
    left = records(draw(20))
    flipped = (*left[0][:2], "no" if left[0][2] == "yes" else "yes", left[0][3])
    for right in ([hostile, *left[1:]], [left[1], *left[1:]], [flipped, *left[1:]]):
        for pair in ((left, right), (right, left)):
            report = audit.replay(made, pair, None, rng=unsafe_seeded(1))
            assert report.holds, report


def test_what_is_no_class_is_refused():
    class Own(Stumps):
        pass

    with pytest.raises(InvalidParameter, match="Stumps, AllOf"):
        learner(Own(PEOPLE, "ill"))
    with pytest.raises(InvalidParameter, match="two values"):
        Stumps(PEOPLE, "age")
    with pytest.raises(InvalidParameter, match="two values"):
        TableLearner(universe=PEOPLE, label="x", rows=5, epsilon=1, neighbours=AddRemove("row"))
    with pytest.raises(InvalidParameter, match="another attribute"):
        Stumps(Universe([("y", (0, 1))]), "y")
    with pytest.raises(InvalidParameter, match="predictions"):
        len(AllOf(Universe([("a", range(20_000)), ("y", (0, 1))]), "y", 1))
    with pytest.raises(InvalidParameter, match="300 records"):
        learner(KINDS[0], neighbours=Replace("person")).release(records(draw(5)))
    with pytest.raises(NoBound):
        learner(KINDS[4], rows=5).error(0.05)
