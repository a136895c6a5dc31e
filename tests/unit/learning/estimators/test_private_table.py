"""Estimators of the columns of a private table: its own unit, its declared values, and nothing else of it."""

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.core.errors import BudgetExceeded, InvalidParameter, NeighboursMismatch
from discreet.data import Boolean, Category, Identifier, Integer, Row, Schema, User
from discreet.learning import AdditiveClassifier, Choices, LogisticClassifier, Range, RidgeRegressor
from discreet.testing import unsafe_seeded

COLUMNS = (
    Integer("age", lower=18, upper=90),
    Category("region", values=("north", "south")),
    Boolean("votes"),
    Identifier("who"),
)
PUBLIC = {
    "epsilon": 1,
    "delta": 1e-9,
    "columns": {"age": Range(18, 90), "region": Choices(("north", "south"))},
}


def people(count=4000):
    generator = np.random.default_rng(1)  # noqa: TID251
    age, region = generator.integers(18, 90, count), generator.choice(["north", "south"], count)
    votes = age / 20 + (region == "south") + generator.logistic(size=count) > 3
    frame = pd.DataFrame({"age": age.astype(float), "region": region, "votes": votes})
    frame.loc[::50, "age"] = np.nan
    frame.loc[1::50, "region"] = "elsewhere"
    return frame.assign(who=np.arange(count) // 2)


def open_table(frame, unit=None, neighbours=None):
    unit = unit or Row()
    neighbours = neighbours or dp.AddRemove(unit.name)
    return dp.Table(frame, schema=Schema("people", columns=COLUMNS, unit=unit, neighbours=neighbours))


def test_a_fit_to_a_table_is_one_to_its_rows():
    frame = people()
    with open_table(frame) as table:
        for face in (AdditiveClassifier, LogisticClassifier):
            there, here = (face(**PUBLIC, classes=(False, True)) for _ in range(2))
            there.fit(table, "votes", rng=unsafe_seeded(1))
            here.fit(frame[["age", "region"]], frame["votes"], rng=unsafe_seeded(1))
            assert there.model_ == here.model_
            assert there.guarantee_ == here.guarantee_
            assert there.feature_names_in_.tolist() == ["age", "region"]
            assert there.score(frame[["region", "age"]][["age", "region"]], frame["votes"]) > 0.6
        model = RidgeRegressor(
            epsilon=1, delta=1e-9, columns=table.schema, target=Range(18, 90), neighbours=table.neighbours
        ).fit(table, "age")
        assert model.feature_names_in_.tolist() == ["region", "votes"]  # an identifier says nothing


def test_only_the_tables_own_unit_can_be_hidden_and_only_with_one_row():
    frame = people(200)
    with open_table(frame, neighbours=dp.Replace("row")) as table:
        with pytest.raises(NeighboursMismatch, match="Pass neighbours=Replace"):
            LogisticClassifier(**PUBLIC, classes=(False, True)).fit(table, "votes")
        LogisticClassifier(**PUBLIC, classes=(False, True), neighbours=dp.Replace("row")).fit(table, "votes")
    for most in (2, 1):
        unit = User(column="who", max_rows=most, max_groups=1)
        model = LogisticClassifier(**PUBLIC, classes=(False, True), neighbours=dp.AddRemove("who"))
        with open_table(frame, unit) as table:
            if most > 1:
                with pytest.raises(NeighboursMismatch, match="max_rows=1"):
                    model.fit(table, "votes")
            else:
                assert str(model.fit(table, "votes").guarantee_.neighbours) == "adding or removing one who"


def test_a_table_is_never_foretold_and_wrong_names_are_refused():
    with open_table(people(200)) as table:
        model = LogisticClassifier(**PUBLIC, classes=(False, True)).fit(table, "votes")
        for ask in (model.predict, model.decision_function, model.predict_proba):
            with pytest.raises(InvalidParameter, match="2D array"):
                ask(table)
        with pytest.raises(InvalidParameter, match="2D array"):
            model.score(table, "votes")
        for target in ("nothing", "who", None, [0, 1], people(200)["votes"]):
            with pytest.raises(InvalidParameter, match="name of the column"):
                model.fit(table, target)
        with pytest.raises(InvalidParameter, match="zip"):
            model.set_params(columns={"zip": Range(0, 1)}).fit(table, "votes")


def test_fits_to_a_table_are_charged():
    budget = dp.ApproxFilter(epsilon=2, delta=1e-6)
    with open_table(people(200)) as table:
        model = LogisticClassifier(**PUBLIC, classes=(False, True), budget=budget)
        model.fit(table, "votes").fit(table, "votes")
        with pytest.raises(BudgetExceeded):
            model.fit(table, "votes")
