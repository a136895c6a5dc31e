"""An answer's own error: public, the same every time, never more than what is proved."""

import numpy as np
import pytest

from discreet.core.neighbours import AddRemove, Replace
from discreet.noise.trial_noise import TrialNoise
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.query import ProductQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online import warm_start
from discreet.query_release.online.boxes import read_workload
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.query_release.online.own_errors import OwnErrors, draw_boxes, draw_counts
from discreet.query_release.online.warm_start import Known, all_marginals
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", range(5)), ("b", range(3)), ("c", (0, 1)), ("d", range(4))])
GENERATOR = np.random.default_rng(8)  # noqa: TID251
DATA = Histogram.dense(UNIVERSE, GENERATOR.poisson(GENERATOR.gamma(0.5, 60, UNIVERSE.shape)))


def start(neighbours=AddRemove("row"), order=2, epsilon=1):  # noqa: B008
    sets, weights = all_marginals(UNIVERSE, order)
    return ResidualMarginals(
        workload=Marginals(UNIVERSE, sets),
        epsilon=epsilon,
        delta=1e-9,
        neighbours=neighbours,
        weights=weights,
    )


def opened(**named):
    mechanism = MultiplicativeWeights(
        universe=UNIVERSE,
        epsilon=2,
        delta=1e-8,
        updates=4,
        neighbours=AddRemove("row"),
        start=start(),
        **named,
    )
    return mechanism.open(DATA, rng=unsafe_seeded(5))


def test_made_up_rows_have_the_law_of_a_sample():
    weights = np.repeat([0.05, 0.7, 4.0, 60.0, 5e6], 20_000)
    drawn = draw_counts(weights, TrialNoise("rows")).reshape(5, -1)
    for expected, counts in zip((0.05, 0.7, 4.0, 60.0, 5e6), drawn, strict=True):
        assert counts.mean() == pytest.approx(expected, rel=6 / np.sqrt(expected * 20_000))
        assert counts.var() == pytest.approx(expected, rel=0.1)
    assert drawn.min() >= 0


def test_made_up_questions_are_about_the_sets_they_are_drawn_from():
    boxes = draw_boxes(UNIVERSE, 200, sets=[(0, 1), (1, 3)], orders=(1, 2), stream=TrialNoise("asked"))
    assert {tuple(sorted(box)) for box in boxes} == {("a",), ("b",), ("d",), ("a", "b"), ("b", "d")}
    assert any(first != last for box in boxes for first, last in box.values())
    wide = draw_boxes(UNIVERSE, 50, sets=[(0, 1, 2, 3)], orders=(3, 9), stream=TrialNoise("asked"))
    assert {len(box) for box in wide} == {3, 4}


@pytest.mark.parametrize("neighbours", [AddRemove("row"), Replace("row")], ids=["add", "replace"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_they_are_the_same_every_time_and_grow_with_the_noise(neighbours, order):
    def widths(epsilon):
        mechanism = start(neighbours, order, epsilon)
        known = Known(mechanism, mechanism.release(DATA, rng=unsafe_seeded(2)).value, beta=0.05)
        boxes = draw_boxes(UNIVERSE, 60, sets=[(0,), (3,)], orders=(1, 1), stream=TrialNoise("boxes"))
        deviations = np.sort(known.deviations(read_workload(Rectangles(UNIVERSE, boxes)).boxes))[[20, 40, 58]]
        return known.own_errors(np.full(4, 200.0), np.append(deviations, np.inf))

    once = widths(1)
    assert (widths(1) == once).all() and (once > 0).all() and np.isfinite(once).all()
    assert (np.diff(once[:3]) >= 0).all() and once[0] < once[2], "more noise, a wider interval"
    assert (widths(10)[:3] < once[:3]).all()


def test_no_private_number_is_looked_at(monkeypatch):
    """The rows that are measured again are made up: those of the release itself are not there any more."""
    mechanism = start()
    synopsis = mechanism.release(DATA, rng=unsafe_seeded(2)).value
    real = warm_start.learn_own_errors
    seen = []

    def learn(*given, **named):
        seen.append(given)
        return real(*given, **named)

    monkeypatch.setattr(warm_start, "learn_own_errors", learn)
    known = Known(mechanism, synopsis, beta=0.05)
    assert not seen, "learnt when asked for"
    assert isinstance(known.own, OwnErrors) and known.own is known.own
    [(measured, weights, estimates)] = seen
    assert measured is mechanism and weights is known.weights.array and estimates is known.array


def test_a_batch_has_the_own_errors_of_its_questions():
    asked = Marginals(UNIVERSE, [["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]])
    talk = opened()
    many = talk.ask_many(asked)
    free = many.kinds == "free"
    assert free.mean() > 0.7
    for place in np.flatnonzero(free):
        assert talk.last(asked.query(int(place))) == many[int(place)]
    assert (many.owns <= many.errors).all()
    assert (many.owns[free] < many.errors[free]).mean() > 0.9


def test_measured_and_unchecked_answers_have_their_own_error_too():
    talk = opened(threshold=1)  # nothing passes
    three = Marginals(UNIVERSE, [["a", "b", "c"]])
    answers = talk.ask_many(three)
    measured = answers.kinds == "measured"
    assert measured.sum() == 4 and len(set(answers.owns[measured])) == 1
    assert 0 < answers.owns[measured][0] < answers.errors[measured][0]
    assert talk.closed
    stale = talk.last(TableQuery(UNIVERSE, (0, 1), "odd", table=np.eye(5, 3, dtype=bool)))
    assert stale.kind == "stale" and stale.error == np.inf and 0 < stale.own < np.inf
    low, high = stale.interval()
    assert 0 <= low <= stale.value <= high < stale.interval(together=True)[1]


def test_nothing_is_off_by_nothing():
    never = ProductQuery(UNIVERSE, (0,), "never", masks=[np.zeros(5, dtype=bool)])
    assert opened().ask(never).interval() == (0, 0)


def test_without_a_warm_start_the_own_error_is_the_proved_one():
    mechanism = MultiplicativeWeights(
        universe=UNIVERSE, epsilon=2, delta=1e-8, updates=4, neighbours=AddRemove("row")
    )
    answers = mechanism.open(DATA, rng=unsafe_seeded(5)).ask_many(Marginals(UNIVERSE, [["a"]]))
    free = answers.kinds == "free"
    assert (answers.owns[free] == answers.errors[free]).all()
