"""Additive logistic regression: what it learns, what a row can move, and what data may hold."""

import dataclasses

import numpy as np
import pytest

import discreet as dp
from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.learning import AdditiveLogistic
from discreet.learning.additive_logistic import _list_pulls
from discreet.testing import unsafe_seeded

PUBLIC = {"epsilon": 1, "delta": 1e-9, "neighbours": dp.AddRemove("person")}


def table(rows, seed=0):
    """Labels that depend on two of three columns."""
    generator = np.random.default_rng(seed)  # noqa: TID251
    codes = np.stack([generator.integers(0, size, rows) for size in (8, 3, 5)], axis=1)
    odds = 1.2 * (codes[:, 0] - 3.5) + 1.5 * (codes[:, 1] - 1)
    return codes, (generator.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def learner(**changed):
    return AdditiveLogistic(**{"shape": (8, 3, 5), "steps": 12, **PUBLIC, **changed})


def accuracy(model, rows=4000):
    codes, labels = table(rows, seed=9)
    return float(((model.log_odds(codes) > 0) == labels).mean())


def test_it_learns_what_can_be_learnt():
    model = learner().release(table(20_000), rng=unsafe_seeded(1)).value
    codes, labels = table(4000, seed=9)
    best = ((1.2 * (codes[:, 0] - 3.5) + 1.5 * (codes[:, 1] - 1) > 0) == labels).mean()
    assert accuracy(model) > best - 0.01
    steep, _, idle = model.tables
    assert np.ptp(steep) > 10 * np.ptp(idle)


def test_it_estimates_its_own_error_rate_within_its_noise():
    codes, labels = table(20_000)
    for seed in range(5):
        model = learner().release((codes, labels), rng=unsafe_seeded(seed)).value
        wrong = ((model.log_odds(codes) > 0) != labels).mean()
        assert model.error_rate_deviation < 0.01
        assert abs(model.error_rate - wrong) < 6 * model.error_rate_deviation + 0.01  # the width of a cell


def test_log_odds_are_calibrated():
    model = learner(epsilon=5).release(table(40_000), rng=unsafe_seeded(3)).value
    codes, labels = table(20_000, seed=9)
    p = 1 / (1 + np.exp(-model.log_odds(codes)))
    for low in (0.1, 0.3, 0.7):
        inside = (p > low) & (p < low + 0.2)
        assert abs(p[inside].mean() - labels[inside].mean()) < 0.05


def test_more_budget_learns_more():
    little, much = (
        learner(epsilon=epsilon).release(table(3000), rng=unsafe_seeded(5)).value for epsilon in (0.02, 2)
    )
    assert accuracy(little) < accuracy(much) - 0.02


@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")])
@pytest.mark.parametrize("odd", [((0, 0, 0), 0), ((7, 2, 4), 1), ((-1, 9, 2), 1), ((0, 0, 0), 7)])
def test_no_row_moves_a_step_further_than_it_allows_for(neighbours, odd):
    codes, labels = table(60)
    mechanism = learner(neighbours=neighbours, steps=6)
    if neighbours == dp.Replace("row"):
        other = (np.vstack([codes[:-1], odd[0]]), np.append(labels[:-1], odd[1]))
    else:
        other = (np.vstack([codes, odd[0]]), np.append(labels, odd[1]))
    report = audit.replay(mechanism, ((codes, labels), other), rng=unsafe_seeded(1))
    assert report.holds, report
    assert len(report.distances) == 6 + 2


def test_the_other_label_moves_a_replaced_row_twice_as_far():
    mechanism = learner(neighbours=dp.Replace("row"), steps=1, counted=False, judged=False)
    codes, labels = table(20)
    flipped = labels.copy()
    flipped[0] = 1 - flipped[0]
    report = audit.replay(mechanism, ((codes, labels), (codes, flipped)))
    assert report.holds
    assert float(max(report.distances)) == pytest.approx(2 * 512 * 3**0.5, rel=1e-9)


def corners(count=6000, seed=0):
    """Four labels that two columns decide together, and none alone."""
    generator = np.random.default_rng(seed)  # noqa: TID251
    codes = generator.integers(0, 6, (count, 2))
    return codes, 2 * (codes[:, 0] > 2) + (codes[:, 1] > 2)


def many(labels=4, **changed):
    return learner(shape=(6, 6), labels=labels, **changed)


@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")])
def test_several_labels_are_learnt_together(neighbours):
    codes, labels = corners()
    mechanism = many(neighbours=neighbours)
    models = mechanism.release((codes, labels), rng=unsafe_seeded(1)).value
    fresh, wanted = corners(seed=9)
    wrong = (models.log_odds(fresh).argmax(axis=1) != wanted).mean()
    assert wrong < 0.02
    assert abs(models.error_rate - wrong) < 5 * models.error_rate_deviation + 0.01
    assert models.error_rate_deviation < 0.05
    assert mechanism.guarantee.implies(epsilon=1, delta=1e-9)
    assert not mechanism.guarantee.implies(epsilon=0.999, delta=1e-9)


@pytest.mark.parametrize("labels", [3, 4, 9])
@pytest.mark.parametrize("neighbours", [dp.AddRemove("row"), dp.Replace("row")])
@pytest.mark.parametrize("odd", [((0, 0), 0), ((5, 5), 2), ((0, 0), 7), ((9, 0), 1), ((0, -1), -1)])
def test_no_row_moves_the_steps_of_several_labels_further(labels, neighbours, odd):
    codes, wanted = corners(60)
    mechanism = many(min(labels, 9), neighbours=neighbours, steps=3)
    fewer = slice(None, -1) if neighbours == dp.Replace("row") else slice(None)
    other = np.vstack([codes[fewer], odd[0]]), np.append(wanted[fewer], odd[1])
    report = audit.replay(mechanism, ((codes, wanted), other), rng=unsafe_seeded(1))
    assert report.holds, report
    assert len(report.distances) == 3 + 3


def test_the_worst_rows_of_several_labels_reach_their_bound():
    """Another label turns two models around; of many labels, other codes move more."""
    row = lambda code, label: (np.array([[code, code]]), np.array([label]))  # noqa: E731
    plain = {"steps": 1, "counted": False, "judged": False, "neighbours": dp.Replace("row")}
    for labels, pair, square in ((3, (row(0, 0), row(0, 1)), 8), (9, (row(0, 0), row(1, 0)), 18)):
        report = audit.replay(many(labels, **plain), pair, rng=unsafe_seeded(1))
        assert report.holds
        assert float(report.distances[0]) == pytest.approx(512 * (2 * square) ** 0.5, rel=1e-6)
        assert float(report.allowed[0]) ** 2 <= 512**2 * 2 * (square + 1) * 1.0001


def test_nobody_at_all_has_several_labels_too():
    nobody = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)
    models = many().release(nobody, rng=unsafe_seeded(1)).value
    assert np.isfinite(models.log_odds(corners(10)[0])).all()
    bare = many(counted=False, judged=False).release(corners(100), rng=unsafe_seeded(1)).value
    assert np.isnan(bare.error_rate)
    with pytest.raises(InvalidParameter):
        many(1)


def test_residuals_are_public_whole_numbers_cut_off_at_one_half():
    pulls = _list_pulls(512)
    assert pulls.dtype == np.int64
    assert np.abs(pulls).max() == 512
    middle = pulls.shape[1] // 2
    assert pulls[:, middle].tolist() == [-512, 512]
    assert (np.diff(pulls, axis=1) <= 0).all()


def test_rows_outside_count_nowhere_and_their_order_does_not_matter():
    codes, labels = table(500)
    mechanism = learner(steps=3)
    plain = mechanism.release((codes, labels), rng=unsafe_seeded(2)).value
    odd = np.vstack([codes, [[0, 0, 99], [-5, 0, 0], [0, 0, 0]]]), np.append(labels, [1, 0, 3])
    assert mechanism.release(odd, rng=unsafe_seeded(2)).value == plain
    order = np.random.default_rng(0).permutation(500)  # noqa: TID251
    assert mechanism.release((codes[order], labels[order]), rng=unsafe_seeded(2)).value == plain


def test_nobody_at_all_is_a_table_too():
    nobody = np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64)
    model = learner().release(nobody, rng=unsafe_seeded(1)).value
    assert np.isfinite(model.log_odds(table(10)[0])).all()


def test_the_whole_budget_is_used_and_no_more():
    mechanism = learner()
    assert mechanism.guarantee.implies(epsilon=1, delta=1e-9)
    assert not mechanism.guarantee.implies(epsilon=0.999, delta=1e-9)
    assert dataclasses.replace(mechanism, steps=3).noises[0].variance < mechanism.noises[0].variance


def test_an_epsilon_beyond_all_noise_is_one_too():
    """The search for the least noise found none that was too little, and said so."""
    data = np.zeros((1000, 1), dtype=int), np.ones(1000, dtype=int)
    mechanism = learner(epsilon=1e12, shape=(2,))
    assert mechanism.guarantee.implies(epsilon=1e12, delta=1e-9)
    assert mechanism.release(data, rng=unsafe_seeded(1)).value.error_rate == 0


def test_bad_parameters_are_refused():
    for changed in ({"shape": ()}, {"shape": (0,)}, {"steps": 0}, {"delta": 0}, {"counted": 1}):
        with pytest.raises(InvalidParameter):
            learner(**changed)
    with pytest.raises(NoBound):
        learner().error(0.05)
    with pytest.raises(InvalidParameter, match="whole-number arrays"):
        learner().release((np.zeros((4, 2), dtype=int), np.zeros(4, dtype=int)))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint64])
def test_whole_numbers_of_every_type_are_read(kind):
    codes, labels = table(50)
    (wanted, known), (found, same) = (
        learner()._read((codes, labels)),
        learner()._read((codes.astype(kind), labels.astype(kind))),
    )
    assert (wanted == found).all() and (known == same).all()
    assert not len(learner()._read((np.full((1, 3), 2**64 - 1, dtype=np.uint64), np.zeros(1, int)))[1])
