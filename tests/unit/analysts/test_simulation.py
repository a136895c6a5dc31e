"""What is measured on made-up people, against what happens on tables that nothing was chosen on."""

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.analysts import simulation
from discreet.analysts.planner import ServiceSetting, candidates, outlook
from discreet.analysts.promises import OneAnalystToMany, OneQueryToMany, QueriesAndData
from discreet.analysts.query_book import Caps, book_of
from discreet.analysts.simulation import make_book, simulate_error
from discreet.core.errors import InvalidParameter
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([(f"b{place}", (0, 1)) for place in range(6)])
SETTING = ServiceSetting(
    universe=UNIVERSE,
    rows=1000,
    caps=Caps(analysts=4, queries=50),
    epsilon=1,
    delta=1e-6,
    analyst_epsilon=1,
    analyst_delta=1e-6,
    order=2,
)
NAMES = ("separate budgets", "query game", "analyst game")


def find_mode(name, setting=SETTING):
    modes = (
        mode for promise in (OneQueryToMany(), OneAnalystToMany()) for mode in candidates(setting, promise)
    )
    return next(mode for mode in modes if mode.name == name)


def predict(mechanism, setting=SETTING, public=None):
    tables = None if setting.order is None else setting.tables
    return simulate_error(
        mechanism,
        universe=setting.universe,
        rows=setting.rows,
        caps=setting.caps,
        tables=tables,
        public=public,
    )


def other_tables():
    """Tables of other kinds than the default population: typical people, even shares, ranks, few cells."""
    draw, cells = np.random.default_rng(7), np.arange(64)  # noqa: TID251
    bits = (cells[:, None] >> np.arange(6)) & 1
    centres = draw.random((8, 6)) < 0.5
    away = (centres[:, None, :] != bits).sum(axis=2)
    yield draw.dirichlet(np.ones(8)) @ (0.2**away * 0.8 ** (6 - away))
    yield draw.dirichlet(np.full(64, 0.3))
    yield 1 / draw.permutation(np.arange(1, 65))
    yield (draw.random(64) < 0.1) + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_within_a_factor_of_two_of_what_happens(name):
    mode, draw = find_mode(name), np.random.default_rng(11)  # noqa: TID251
    assert mode.error == math.inf  # no theorem says anything here
    mechanism = mode.make()
    predicted = predict(mechanism)
    workload = SETTING.tables
    for number, shares in enumerate(other_tables()):
        table = Histogram.dense(
            UNIVERSE, draw.multinomial(1000, shares / shares.sum()).reshape(UNIVERSE.shape)
        )
        asked = {f"a{k}": workload.subset(draw.integers(len(workload), size=50)) for k in range(4)}
        book = book_of(UNIVERSE, SETTING.caps, asked)
        runs = []
        for run in range(3):
            delivery = mechanism.release(QueriesAndData(table, book), rng=unsafe_seeded(run)).value
            gaps = [
                np.abs(
                    np.array(list(delivery.answers(who, book).values()))
                    - book.page(who).queries.answers(table)
                )
                for who in book.names
            ]
            runs.append(np.max(gaps))
        assert 1 / 2 <= predicted / np.mean(runs) <= 2, number


@pytest.mark.parametrize("name", NAMES)
def test_people_like_those_asked_about_make_predictions_nearer(name):
    """Six people of ten in one cell, and nearly even shares: far from the default population, both ways."""
    mechanism, draw = find_mode(name).make(), np.random.default_rng(12)  # noqa: TID251
    crowded, even = np.full(64, 0.4 / 63), np.where(np.arange(64) % 2, 1.0, 0.8)
    crowded[20] = 0.6
    for shares in (crowded, even):
        public, private = (
            Histogram.dense(UNIVERSE, draw.multinomial(rows, shares / shares.sum()).reshape(UNIVERSE.shape))
            for rows in (700, 1000)
        )
        predicted = predict(mechanism, public=public)
        book = make_book(UNIVERSE, SETTING.caps, SETTING.tables, 4)
        runs = []
        for run in range(3):
            delivery = mechanism.release(QueriesAndData(private, book), rng=unsafe_seeded(run)).value
            gaps = (
                abs(delivery.answers(who, book)[place] - query.evaluate(private))
                for who in book.names
                for place, query in book.list_asked(who).items()
            )
            runs.append(max(gaps))
        assert 1 / 2 <= predicted / np.mean(runs) <= 2


def test_a_prediction_is_the_same_again_and_moves_with_the_rows():
    one, other = (predict(find_mode("separate budgets").make()) for _ in range(2))
    assert one == other
    many = replace(SETTING, rows=100_000)
    assert predict(find_mode("separate budgets", many).make(), many) / 100_000 < one / 1000 / 2


def test_books_are_full_and_of_the_kind_that_is_planned_for():
    for order in (2, None):
        tables = None if order is None else SETTING.tables
        book = make_book(UNIVERSE, SETTING.caps, tables, 2)
        pages = [book.page(name) for name in book.names]
        assert [len(page.queries) for page in pages] == [50, 50]
        widths = [len(query.axes) for page in pages for query in page.queries]
        assert max(widths) == (2 if order else 6)
        assert make_book(UNIVERSE, SETTING.caps, tables, 2).find_changed(book) == ()


def test_what_takes_too_long_has_no_prediction(monkeypatch):
    monkeypatch.setattr(simulation, "MOST_WORK", 1000)
    assert predict(find_mode("query game").make()) == math.inf


def test_the_outlook_tells_simulated_errors_from_proved_ones():
    plain = outlook(SETTING, OneQueryToMany())
    view = outlook(SETTING, OneQueryToMany(), simulate=True)
    before = {mode.name: mode.error for mode in plain.modes}
    for mode in view.modes:
        assert mode.simulated == (mode.name in NAMES)
        assert mode.error < SETTING.rows if mode.simulated else mode.error == before[mode.name]
    assert str(view).count(", simulated") == 2 and "simulated" not in str(plain)
    assert [mode.error for mode in view.modes] == sorted(mode.error for mode in view.modes)
    even = Histogram.dense(UNIVERSE, np.full(UNIVERSE.shape, 16))
    known = outlook(SETTING, OneQueryToMany(), simulate=True, public=even)
    assert {mode.name: mode.error for mode in known.modes} != {mode.name: mode.error for mode in view.modes}
    with pytest.raises(InvalidParameter, match="simulate=True"):
        outlook(SETTING, OneQueryToMany(), public=even)
    with pytest.raises(InvalidParameter, match="Histogram, SyntheticTable or Synopsis"):
        outlook(SETTING, OneQueryToMany(), simulate=True, public=[1, 2])
    with pytest.raises(InvalidParameter, match="with rows"):
        outlook(SETTING, OneQueryToMany(), simulate=True, public=Histogram.dense(UNIVERSE, even.counts() * 0))
