"""The six wrong sparse-vector variants are caught, each with the loss it really has.

That the right ones pass on the same pairs is tested with all exhibits together.
"""

import pytest

from discreet import audit
from discreet.audit.museum import EXHIBITS
from discreet.audit.museum.sparse_vector import EXHIBITS as SPARSE
from discreet.audit.museum.sparse_vector import no_cutoff, reused_noise, unpaid_redraw
from discreet.core.card import Tiny
from discreet.core.errors import ConversationClosed
from discreet.sparse.tiny import each_value
from discreet.testing import unsafe_seeded

MEASURED = {
    "sparse-reused-noise": 2.0,
    "sparse-unscaled-noise": 2.4,
    "sparse-no-query-noise": 19.0,  # infinite: as much as the enumeration can certify
    "sparse-no-cutoff": 1.5,
    "sparse-unpaid-redraw": 1.5,
    "sparse-threshold-from-data": 1.5,
}
"""The exact loss over the claim, on the exhibit's own pair."""


def report(tiny):
    return audit.exact(tiny.mechanism, tiny.pairs, tiny.script)


def test_all_six_are_on_show():
    assert {exhibit.name for exhibit in SPARSE} == set(MEASURED)
    assert set(SPARSE) <= set(EXHIBITS)


@pytest.mark.parametrize("exhibit", SPARSE, ids=str)
def test_the_wrong_one_is_caught(exhibit):
    found = report(exhibit.broken())
    assert not found.holds
    assert found.ratio >= MEASURED[exhibit.name] - 0.01


def test_without_a_cutoff_the_loss_grows_with_the_questions():
    losses = [
        report(
            Tiny(no_cutoff(2), [((0,) * half + (1,) * half, (1,) * half + (0,) * half)], each_value(2 * half))
        )
        for half in (1, 2)
    ]
    measured = [found.measured for found in losses]
    assert measured[0] < 2 < measured[1]


def test_reused_noise_loses_one_more_share_for_every_negative_answer():
    for negatives in (2, 3):
        pair = ((0,) * negatives + (1,), (1,) * negatives + (0,))
        found = report(Tiny(reused_noise(4, 1), [pair], each_value(negatives + 1)))
        assert found.measured == pytest.approx((negatives + 1) * 2, rel=0.01)


def test_the_broken_ones_run_and_close_like_the_right_ones():
    conversation = unpaid_redraw(8, 2).open((0, 10**6, 10**6), rng=unsafe_seeded(1))
    assert [conversation.ask(lambda data, i=i: data[i]) for i in (1, 2)] == [True, True]
    with pytest.raises(ConversationClosed):
        conversation.ask(len)
    shown = reused_noise(4, 1).open((10**6, -(10**6)), rng=unsafe_seeded(2))
    assert shown.ask(lambda data: data[1]) is None
    assert abs(shown.ask(lambda data: data[0]) - 10**6) < 100
    assert shown.mechanism.error(0.05) == float("inf")
