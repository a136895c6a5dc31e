"""From answers to rows: the nearest table, by hand and by its theorem."""

import math

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, Refused
from discreet.queries import Histogram, Marginals, Universe
from discreet.query_release.synopses.fitted_table import fit_table

CELLS = Universe([("x", range(3)), ("y", range(4))])
TABLES = Marginals(CELLS, [["x"], ["y"]])


def test_answers_of_a_real_table_are_met():
    counts = np.arange(12).reshape(3, 4)
    exact = TABLES.answers(Histogram.dense(CELLS, counts))
    fitted = fit_table(TABLES, exact, rows=int(counts.sum()))
    assert fitted.misfit == pytest.approx(0, abs=1e-6)
    assert fitted.answers(TABLES) == pytest.approx(exact)
    assert len(fitted.synthetic()) == counts.sum()


def test_noisy_answers_are_met_within_the_noise_and_the_truth_within_twice_that():
    source = np.random.default_rng(3)  # noqa: TID251 - test data
    counts = source.integers(0, 50, (3, 4))
    exact = TABLES.answers(Histogram.dense(CELLS, counts))
    for alpha in (1, 7):
        noisy = exact + source.integers(-alpha, alpha + 1, exact.size)
        fitted = fit_table(TABLES, noisy)
        assert fitted.misfit <= alpha + 1e-6
        assert np.abs(fitted.answers(TABLES) - exact).max() <= 2 * alpha + 1e-6


def test_what_no_table_answers_is_missed_by_as_little_as_possible():
    line = Universe([("x", range(2))])
    both = Marginals(line, [["x"]])
    assert fit_table(both, [-4, 10], rows=10).misfit == pytest.approx(4)  # (4, 6) or less of a negative count
    assert fit_table(both, [-4, 10]).weights == pytest.approx([0, 10], abs=4.001)


def test_odd_answers_and_large_programs_are_refused():
    with pytest.raises(InvalidParameter, match="7 numbers"):
        fit_table(TABLES, [1, 2])
    with pytest.raises(InvalidParameter, match="answers"):
        fit_table(TABLES, [math.nan] * 7)
    wide = Universe([(name, range(32)) for name in "abcd"])
    with pytest.raises(Refused, match="linear program"):
        fit_table(Marginals(wide, [["a"]]), [1.0] * 32)


@pytest.mark.parametrize("unit", [1e-9, 1, 1e200])
def test_answers_of_any_size_are_met(unit):
    answers = [unit * count for count in (3, 4, 5, 3, 3, 3, 3)]
    fitted = fit_table(TABLES, answers, rows=12 * unit)
    assert fitted.misfit <= 1e-6 * unit
    assert fitted.weights.sum() == pytest.approx(12 * unit)


def test_answers_beyond_floats_are_refused():
    with pytest.raises(InvalidParameter, match="larger ones"):
        fit_table(TABLES, [10**400] * 7)
