"""`discreet audit` refuses samplers and conversations that are wrong on some inputs only.

Each mutant is planted in memory: laws stay right, and tiny instances would not meet it. Right ones are
refused with probability at most 1e-9 a row.
"""

import math

import numpy as np
import pytest

from discreet import audit
from discreet.audit.inputs import INPUTS, NOISY, list_inputs
from discreet.audit.rows import collect_steps, list_inputs_for
from discreet.audit.samplers import count_at_once
from discreet.catalogue import find
from discreet.core.errors import InvalidParameter
from discreet.mechanisms.randomized_response import Respond
from discreet.noise import DiscreteLaplace, selection
from discreet.noise.selection import PeeledChoices
from discreet.sparse.conversation import SparseConversation
from discreet.sparse.plan import Form
from discreet.testing import unsafe_seeded

DRAWS = 6_400


def report_the_truth(monkeypatch):
    right = Respond.sample

    def sample(self, value, rng):
        return value.copy() if isinstance(value, np.ndarray) else right(self, value, rng)

    monkeypatch.setattr(Respond, "sample", sample)


def halve_wide_noise(monkeypatch):
    right = DiscreteLaplace.draws

    def draws(self, count, rng):
        drawn = right(self, count, rng)
        return drawn if self.scale < 8 else drawn // 2

    monkeypatch.setattr(DiscreteLaplace, "draws", draws)


def choose_the_best_of_many(monkeypatch):
    right = PeeledChoices.sample

    def sample(self, value, rng):
        return right(self, value, rng) if len(value) < 6 else tuple(np.argsort(-value)[: self.count].tolist())

    monkeypatch.setattr(PeeledChoices, "sample", sample)


def flip_no_coin_for_many(monkeypatch):
    right = selection._flip

    def flip(gaps, rate, rng):
        return right(gaps, rate, rng) if len(gaps) < 6 else np.flatnonzero(gaps == 0)

    monkeypatch.setattr(selection, "_flip", flip)


SAMPLERS = [
    (report_the_truth, "randomized-response"),
    (halve_wide_noise, "laplace"),
    (halve_wide_noise, "noisy-histogram"),
    (choose_the_best_of_many, "exponential"),
    (choose_the_best_of_many, "top-k"),
    (flip_no_coin_for_many, "permute-and-flip"),
]


def sampler_rows(card):
    met = collect_steps(list(find(card).tiny()), unsafe_seeded(1))
    for step, value in [*met, *list_inputs_for(met)]:
        at_once = count_at_once(step, value)
        yield audit.sampler(step, value, draws=math.ceil(DRAWS / at_once), rng=unsafe_seeded(2))


@pytest.mark.parametrize(("plant", "card"), SAMPLERS, ids=lambda given: getattr(given, "__name__", given))
def test_a_sampler_that_is_wrong_on_some_inputs_is_refused(plant, card, monkeypatch):
    assert all(report.holds for report in sampler_rows(card))
    plant(monkeypatch)
    assert not all(report.holds for report in sampler_rows(card))


def one_positive_too_many(self):
    self._positives += 1
    if self._plan.form is Form.REDRAWN:
        self._hidden = None
    if self._positives > self._public.cutoff:
        self.close("too late")


def is_refused(tiny):
    """Tell whether the audit of an instance fails, or gives up on what has become too large to enumerate."""
    try:
        return not audit.exact(tiny.mechanism, tiny.pairs, tiny.script, limit=20_000).holds
    except InvalidParameter as problem:
        return "paths" in str(problem)


@pytest.mark.parametrize("card", ["above-threshold", "sparse", "numeric-sparse"])
def test_one_positive_answer_too_many_is_refused(card, monkeypatch):
    # Two questions, one of either kind, for each positive answer that is paid for and one more.
    enough = [tiny for tiny in find(card).tiny() if len(tiny.pairs[0][0]) >= 2 * (tiny.mechanism.cutoff + 1)]
    quick = next(tiny for tiny in enough if getattr(tiny.mechanism, "form", None) is not Form.REDRAWN)
    assert not is_refused(quick)
    monkeypatch.setattr(SparseConversation, "_count", one_positive_too_many)
    assert is_refused(quick)


@pytest.mark.parametrize("kind", [*INPUTS, *NOISY], ids=lambda kind: kind.__name__)
def test_declared_inputs_are_of_their_kind(kind):
    laws = {type(getattr(step, "noise", None)) for step, _ in list_inputs(kind, DiscreteLaplace)}
    assert laws == ({DiscreteLaplace} if kind in NOISY else {type(None)})
    assert all(type(step) is kind for step, _ in list_inputs(kind, DiscreteLaplace))
    assert not (kind in NOISY and list(list_inputs(kind)))
