"""The planner: public quantities in, a recommendation out."""

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.analysts import planner
from discreet.analysts.planner import ServiceSetting, candidates, outlook, price_plot, talks
from discreet.analysts.promises import ManyToOne, OneAnalystToMany, OneQueryToMany, is_perfect
from discreet.analysts.query_book import Caps
from discreet.core.errors import InvalidParameter, NoBound
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([(f"b{place}", (0, 1)) for place in range(6)])
SETTING = ServiceSetting(
    universe=UNIVERSE,
    rows=100_000,
    caps=Caps(analysts=3, queries=100),
    epsilon=1,
    delta=1e-6,
    analyst_epsilon=1,
    analyst_delta=1e-6,
    order=2,
)


def by_name(view):
    return {mode.name: mode for mode in view.modes}


def test_modes_are_ranked_and_can_be_made():
    view = outlook(SETTING, OneAnalystToMany())
    errors = [mode.error for mode in view.modes]
    assert errors == sorted(errors)
    assert view.best is view.modes[0]
    assert set(by_name(view)) == {"public synopsis", "private answers", "separate budgets", "analyst game"}
    for mode in view.modes:
        made = mode.make()
        assert made.guarantee.implies(epsilon=1, delta=1e-6)
        assert is_perfect(made.analyst_guarantee) == (mode.name != "analyst game")
        assert made.analyst_guarantee.implies(epsilon=1, delta=1e-6)
        assert 0 < mode.error < SETTING.rows or mode.name in ("separate budgets", "analyst game")
    assert by_name(view)["separate budgets"].error == by_name(view)["analyst game"].error == math.inf


def test_the_ends_of_the_budget_have_an_outlook():
    """At epsilon 0.001 and delta 1/100 nothing is left for a part of rho; at 1000 noise all but vanishes."""
    tiny = outlook(replace(SETTING, epsilon=0.001, delta=0.01), OneQueryToMany())
    assert "separate budgets" not in by_name(tiny)
    huge = outlook(replace(SETTING, epsilon=1000), OneQueryToMany())
    assert huge.best.error < 1


def test_each_promise_has_its_own_game():
    assert "query game" in by_name(outlook(SETTING, OneQueryToMany()))
    alone = replace(SETTING, caps=Caps(analysts=1, queries=100))
    assert len(outlook(alone, OneQueryToMany()).modes) == 3
    with pytest.raises(InvalidParameter, match="promise"):
        outlook(SETTING, ManyToOne())


def test_online_queries_are_offered_where_they_do_not_refuse():
    def names(promise, analysts):
        setting = replace(SETTING, caps=Caps(analysts=analysts, queries=100))
        return {mode.name for mode in candidates(setting, promise)}

    assert "online queries" in names(OneQueryToMany(), 3)
    assert "online queries" not in names(OneAnalystToMany(), 3), "it hides one query"
    assert "online queries" not in names(OneQueryToMany(), 300), "refused: too many for so few rows"


def test_a_game_is_recommended_where_noise_is_too_much():
    """Few rows, a large universe and a million questions: neither tables nor answers have room for noise."""
    wide = Universe([(f"b{place}", (0, 1)) for place in range(18)])
    hard = replace(SETTING, universe=wide, rows=10**4, caps=Caps(analysts=1000, queries=1000), order=None)
    found = sorted(candidates(hard, OneQueryToMany()), key=lambda mode: mode.error)
    assert found[0].name == "query game" and found[0].error < hard.rows / 2


def test_shared_conversations_are_those_of_the_setting():
    for order in (None, 2):
        found = talks(replace(SETTING, order=order))
        assert [talk.name.split(",")[0] for talk in found] == ["warm", "warm", "cold"]
        assert outlook(replace(SETTING, order=order), OneAnalystToMany()).data_only == min(
            talk.error for talk in found
        )
        for talk in found:
            made = talk.make()
            assert made.guarantee.implies(epsilon=1, delta=1e-6)
            assert (made.start is None) == talk.name.startswith("cold")


def test_a_conversation_may_start_from_the_whole_table():
    setting = replace(SETTING, order=None)
    table = Histogram.dense(UNIVERSE, np.full(64, setting.rows // 64) + (np.arange(64) < setting.rows % 64))
    talk = talks(setting)[1]
    asked = Predicates(UNIVERSE, [(UNIVERSE.names, lambda *codes: sum(codes) % 2 == 1)])
    said = talk.make().open(table, rng=unsafe_seeded(3)).ask_many(asked).values
    assert said == pytest.approx(asked.answers(table), abs=talk.error)


def test_few_questions_on_many_cells_are_answered_one_by_one():
    wide = Universe([(f"b{place}", (0, 1)) for place in range(14)])
    few = replace(SETTING, universe=wide, caps=Caps(analysts=3, queries=5), order=None)
    assert outlook(few, OneAnalystToMany()).best.name == "private answers"
    many = replace(few, universe=UNIVERSE, caps=Caps(analysts=300, queries=500))
    assert outlook(many, OneAnalystToMany()).best.name == "public synopsis"


def test_predictions_move_with_public_quantities_as_they_should():
    at = {epsilon: outlook(replace(SETTING, epsilon=epsilon), OneAnalystToMany()) for epsilon in (0.5, 2)}
    for name in ("public synopsis", "private answers"):
        assert by_name(at[2])[name].error < by_name(at[0.5])[name].error / 2
    more = outlook(replace(SETTING, caps=Caps(analysts=300, queries=100)), OneAnalystToMany())
    less = outlook(SETTING, OneAnalystToMany())
    assert by_name(more)["private answers"].error > 9 * by_name(less)["private answers"].error
    assert by_name(more)["public synopsis"].error < 2 * by_name(less)["public synopsis"].error


def test_a_synopsis_measured_with_the_whole_budget_costs_no_more_than_a_shared_conversation():
    view = outlook(SETTING, OneAnalystToMany())
    assert 0 < view.price <= 1
    assert view.best.error == pytest.approx(view.price * view.data_only)


def test_only_public_quantities_are_asked_for():
    given = set(inspect.signature(ServiceSetting).parameters)
    budgets = {"epsilon", "delta", "analyst_epsilon", "analyst_delta"}
    assert given == budgets | {"universe", "rows", "caps", "order"}
    # `public` is a public histogram of people like one's own.
    assert set(inspect.signature(outlook).parameters) == {"setting", "promise", "simulate", "public"}


def test_budgets_are_given_by_name():
    """Two pairs of like numbers follow each other: by place, one person's budget is soon another's."""
    with pytest.raises(TypeError, match="positional"):
        ServiceSetting(UNIVERSE, 100_000, Caps(analysts=3, queries=100), 1, 1e-6, 1, 1e-6)


def test_it_says_what_it_recommends():
    text = str(outlook(SETTING, OneQueryToMany()))
    assert "recommended: public synopsis" in text
    assert "one query of one analyst" in text
    assert "(nothing hidden)" in text
    assert "separate budgets   no useful bound" in text


def test_where_no_mode_is_of_use_none_is_recommended():
    view = outlook(replace(SETTING, rows=3), OneAnalystToMany())
    assert str(view).endswith("recommended: none")
    with pytest.raises(NoBound, match="3 rows"):
        _ = view.best


def test_the_price_is_drawn():
    picture = price_plot(SETTING, [0.5, 2])
    assert picture.startswith("<svg")
    for line in ("nothing hidden", "one query hidden", "one analyst hidden"):
        assert line in picture


@pytest.mark.parametrize(
    "bad", [{"rows": 0}, {"epsilon": 0}, {"delta": 0}, {"analyst_delta": 1}, {"order": 0}]
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(InvalidParameter):
        replace(SETTING, **bad)


def test_predicted_errors_of_noise_are_those_of_the_mechanisms():
    found = by_name(outlook(SETTING, OneAnalystToMany()))
    answers = found["private answers"]
    assert answers.error == answers.make().error(planner.BETA)
    synopsis = found["public synopsis"]
    assert synopsis.error == pytest.approx(synopsis.make().measured_error(planner.BETA), rel=0.15)
