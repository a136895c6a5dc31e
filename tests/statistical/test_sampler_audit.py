"""Every primitive of the package draws what its law says, by the audit that users run.

A right sampler is refused with probability at most 1e-9 a case (exact binomial tails), so a fresh set of
seeds raises a false alarm with probability below 1e-7. Power, in both directions: a sampler whose scale, rate
or epsilon is 10 % off, or where nothing has a scale one that moves a tenth of the probability of half of the
outcomes to the others, passes with probability at most MISS, which the tests compute from the two laws.
"""

import dataclasses
import importlib
import math
import pkgutil
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet import audit
from discreet.audit.inputs import INPUTS, NOISY
from discreet.audit.museum.protocol import Coin
from discreet.audit.museum.sparse_vector import NoisyAboveOnly
from discreet.audit.museum.streams import Toss
from discreet.audit.rows import collect_steps
from discreet.audit.runs import freeze
from discreet.catalogue import catalogue, find
from discreet.core.errors import InvalidParameter
from discreet.core.rng import Primitive
from discreet.data.pricing.modes import ModeChoices
from discreet.data.pricing.quantiles import QuantileChoices
from discreet.data.pricing.thresholds import KeysAbove
from discreet.learning.experts.lazy_majority import KeepCoin
from discreet.local.frequencies.memoised_unary import TurnBits
from discreet.local.laws.answers import AnswerKernel
from discreet.local.laws.memos import MemoKernel
from discreet.local.laws.prefixes import PrefixKernel
from discreet.local.laws.responses.direct import DirectKernel
from discreet.local.laws.responses.projective import ProjectiveKernel
from discreet.local.laws.responses.subsets import SubsetKernel
from discreet.local.laws.responses.unary import UnaryKernel
from discreet.local.steps import DrawReports
from discreet.mechanisms.randomized_response import Respond
from discreet.mechanisms.subsample_aggregate import Partition
from discreet.noise import (
    AddNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    NoisyComparison,
    OneSidedGeometric,
    oracle,
    samplers,
)
from discreet.noise.selection import (
    ExponentialChoice,
    FlippedChoice,
    NoisyArgmax,
    NoisyArgmaxGap,
    PeeledChoices,
)
from discreet.optimisation.common.best_of_runs import RunCount
from discreet.optimisation.common.orders import UniformOrder
from discreet.optimisation.min_cut.choice import CutChoice
from discreet.query_release.median.median_thesis import Steps
from discreet.query_release.online.gate import FirstAbove
from discreet.testing import unsafe_seeded

MISS = 2e-3
F = Fraction
ONE = F(1)


@dataclasses.dataclass(frozen=True)
class Tilted(Primitive):
    """The law of a sampler that moves a tenth of the probability of every other outcome to the rest."""

    right: Primitive
    tenth: Fraction
    sensitivity: Fraction = ONE

    def law(self, value):
        found = list(self.right.law(value))
        odd = {freeze(outcome) for outcome, _ in sorted(found, key=lambda pair: -pair[1])[1::2]}
        light = sum(p for outcome, p in found if freeze(outcome) in odd)
        for outcome, p in found:
            moved = self.tenth if freeze(outcome) in odd else -self.tenth * light / (1 - light)
            yield outcome, p * (1 + moved)

    def sample(self, value, rng):
        raise NotImplementedError

    def distance(self, value, other):
        return F(0)


def scaled(primitive, factor):
    """Return the primitive with another scale of its noise, or rate, or epsilon."""
    names = {field.name for field in dataclasses.fields(primitive)}
    (name,) = names & {"noise", "rate", "epsilon", "stop"}
    given = getattr(primitive, name)
    if name != "noise":
        return dataclasses.replace(primitive, **{name: given * factor})
    if isinstance(given, DiscreteGaussian):
        return dataclasses.replace(primitive, noise=DiscreteGaussian(given.variance * factor**2))
    return dataclasses.replace(primitive, noise=type(given)(given.scale * factor))


@dataclasses.dataclass(frozen=True)
class Case:
    primitive: Primitive
    value: object
    draws: int
    has_scale: bool = True

    def case(self):
        return self

    def wrong(self):
        for factor in (F(9, 10), F(11, 10)):
            yield scaled(self.primitive, factor) if self.has_scale else Tilted(self.primitive, factor - 1)


@dataclasses.dataclass(frozen=True)
class Step:
    """A step of a card's tiny instances on the input that leaves most open, found when it is needed."""

    card: str
    kind: str
    draws: int

    def case(self):
        steps = (step for tiny in find(self.card).tiny() for step in collect_steps([tiny], unsafe_seeded(1)))
        found = max((step for step in steps if type(step[0]).__name__ == self.kind), key=entropy)
        return Case(*found, self.draws, has_scale=False)


def entropy(step):
    return -sum(float(p) * math.log(p) for _, p in step[0].law(step[1]) if p)


SCORES = np.array([0, 3, 6, 7])
FAR = np.array([0, 40, 55, 63])
CUTS = np.array([[0, 6, 4], [6, 0, 5], [4, 5, 0]])
KEYS = {("a",): 3, ("b",): 1, ("c",): 0}
ROWS = ({1: 3, 4: 2, 9: 1},)
MODES = ({0: 2, 2: 1},)
CASES = {
    "laplace": Case(AddNoise(DiscreteLaplace(F(2)), ONE), 3, 16_000),
    "laplace, huge value": Case(AddNoise(DiscreteLaplace(F(2)), ONE), 10**30, 16_000),
    "laplace, few": Case(AddNoise(DiscreteLaplace(F(7)), ONE), np.array([5, -9]), 9_000),
    "laplace, many": Case(AddNoise(DiscreteLaplace(F(70)), ONE), np.arange(4_000), 6),
    "geometric": Case(AddNoise(OneSidedGeometric(F(5, 2)), ONE), 0, 20_000),
    "geometric, many": Case(AddNoise(OneSidedGeometric(F(90)), ONE), np.arange(4_000), 5),
    "gaussian": Case(AddNoise(DiscreteGaussian(F(9)), ONE, 2), -4, 12_000),
    "gaussian, rejection": Case(AddNoise(DiscreteGaussian(F(150)), ONE, 2), 0, 12_000),
    "gaussian, many": Case(AddNoise(DiscreteGaussian(F(9)), ONE, 2), np.zeros((50, 40), dtype=int), 8),
    "gaussian, many by rejection": Case(
        AddNoise(DiscreteGaussian(F(150**2)), ONE, 2), np.zeros(4_000, dtype=int), 4
    ),
    "comparison": Case(NoisyComparison(DiscreteLaplace(F(2)), ONE), (0, 5), 40_000),
    "comparison, one-sided": Case(NoisyComparison(OneSidedGeometric(F(2)), ONE), (0, 3), 25_000),
    "exponential": Case(ExponentialChoice(F(1, 2), F(2)), SCORES, 30_000),
    "exponential, base": Case(ExponentialChoice(F(1, 20), F(2), (F(8), F(3), F(1), F(1, 2))), FAR, 20_000),
    "peeled": Case(PeeledChoices(F(1, 20), F(2), 2), FAR, 16_000, has_scale=False),
    "flipped": Case(FlippedChoice(F(1, 20), F(2)), FAR[:2], 40_000),
    "noisy argmax": Case(NoisyArgmax(DiscreteLaplace(F(2)), F(2)), np.array([0, 5]), 30_000),
    "gap": Case(NoisyArgmaxGap(DiscreteLaplace(F(1)), F(2)), np.array([0, 2, 3]), 20_000),
    "respond": Case(Respond(F(3), 5), 2, 9_000),
    "respond, many": Case(Respond(F(2), 3), np.array([0, 2, 1]), 9_000),
    "partition": Case(Partition(3), 3, 15_000, has_scale=False),
    "first above": Case(
        FirstAbove(OneSidedGeometric(F(2)), ONE), np.array([[0, 1, 0, 2], [3, 5, 4, 6]]), 8_000
    ),
    "how many": Case(RunCount(F(1, 5)), None, 16_000),
    "steps": Case(Steps(6), None, 20_000, has_scale=False),
    "uniform order": Case(UniformOrder(), 4, 15_000, has_scale=False),
    "keys above": Case(KeysAbove(DiscreteLaplace(ONE), 2, ONE), KEYS, 20_000),
    "quantiles": Case(QuantileChoices(F(1, 2), (0, 12), F(1, 3), ONE), ROWS, 14_000, has_scale=False),
    "modes": Case(ModeChoices(4, F(1, 2), ONE), MODES, 14_000, has_scale=False),
    "staying": Case(KeepCoin(F(3, 4), F(1, 2), ONE), 1, 30_000, has_scale=False),
    "coin": Case(Coin(), 1, 30_000, has_scale=False),
    "toss": Case(Toss(F(1, 4)), 1, 30_000, has_scale=False),
    "noisy above only": Case(NoisyAboveOnly(DiscreteLaplace(F(2)), ONE), (0, 2), 40_000),
    "capped": Step("analyst-game", "CappedChoice", 15_000),
    "degree order": Step("vertex-cover", "DegreeOrder", 15_000),
    "sampled order": Step("vertex-cover-sampled", "SampledOrder", 12_000),
    "scored order": Step("vertex-cover-weighted", "ScoredOrder", 15_000),
    "sampled greedy": Step("public-projects-sampled", "SampledGreedy", 12_000),
    "sampled run": Step("set-cover-sampled", "SampledRun", 12_000),
    "local, one": Case(DrawReports(DirectKernel.make(4, F(1))), 2, 40_000, has_scale=False),
    "local, bits": Case(
        DrawReports(UnaryKernel.optimised(3, F(1))), np.array([0, 2]), 20_000, has_scale=False
    ),
    "local, sets": Case(
        DrawReports(SubsetKernel.make(5, F(1, 2))), np.array([1, 4]), 20_000, has_scale=False
    ),
    "local, points": Case(
        DrawReports(ProjectiveKernel.make(5, F(1))), np.array([0, 3]), 20_000, has_scale=False
    ),
    "local, prefixes": Case(
        DrawReports(PrefixKernel(4, F(5), 2, 1, 1)),
        np.array([1, 2], dtype=np.uint64),
        20_000,
        has_scale=False,
    ),
    "local, answers": Case(
        DrawReports(AnswerKernel.make(3, F(2), (0, 1, 4), 4)), np.array([1, 2]), 40_000, has_scale=False
    ),
    "local, memos": Case(
        TurnBits(MemoKernel.make(3, F(3), F(1))),
        np.array([[2], [5]], dtype=np.uint8),
        20_000,
        has_scale=False,
    ),
    "cut": Case(CutChoice(F(1, 8), F(16)), CUTS, 20_000, has_scale=False),
    "cell": Step("query-game", "CellChoice", 50_000),
}


@pytest.mark.parametrize("name", CASES)
def test_draws_follow_the_law_and_no_other(name):
    case = CASES[name].case()
    report = audit.sampler(case.primitive, case.value, draws=case.draws, rng=unsafe_seeded(41))
    assert report.holds, report
    for wrong in case.wrong():
        assert audit.missed(case.primitive, wrong, case.value, draws=case.draws) <= MISS


def primitives():
    """Return every concrete primitive of the package."""
    for module in pkgutil.walk_packages(discreet.__path__, prefix="discreet."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    waiting, found = [Primitive], set()
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("discreet.") and not kind.__abstractmethods__:
                found.add((kind.__module__, kind.__qualname__))
    return found


def test_every_primitive_has_a_case():
    """A new primitive without a case fails here."""
    kinds = {type(case.case().primitive) for case in CASES.values()}
    covered = {(kind.__module__, kind.__qualname__) for kind in kinds}
    assert primitives() <= covered


def test_every_primitive_has_inputs_that_the_audit_declares():
    """A new primitive that `discreet audit` would meet on tiny inputs alone fails here."""
    declared = {(kind.__module__, kind.__qualname__) for kind in (*INPUTS, *NOISY)}
    left = {(module, name) for module, name in primitives() if (module, name) not in declared}
    # SQL has no cards: the audit meets no step of it, and the cases above have its arrays.
    assert all(module.startswith("discreet.data.") for module, _ in left), left


class Wrong(AddNoise):
    """Noise whose sampler is wrong in one way and whose law is right."""

    def __init__(self, how):
        super().__init__(DiscreteLaplace(F(2)), ONE)
        object.__setattr__(self, "how", how)

    def sample(self, value, rng):
        return self.how(value, rng)


def drawn(scale, size=None):
    return lambda value, rng: (
        value
        + (
            DiscreteLaplace(scale).draw(rng)
            if size is None
            else DiscreteLaplace(scale).sample(value.size, rng)
        )
    )


def one_noise_for_all(value, rng):
    return value + DiscreteLaplace(F(2)).draw(rng)


def without_sign(value, rng):
    return value + abs(DiscreteLaplace(F(2)).draw(rng))


def negative_zero_counts_twice(value, rng):
    noise = oracle.geometric(F(2), rng)
    return value - noise if rng.bits(1) else value + noise


WRONG = {
    "halved": (drawn(F(1)), 3, 16_000),
    "ten per cent too small": (drawn(F(9, 5)), 3, 16_000),
    "ten per cent too large": (drawn(F(11, 5)), 3, 16_000),
    "shifted by one": (lambda value, rng: value + 1 + DiscreteLaplace(F(2)).draw(rng), 3, 16_000),
    "no sign": (without_sign, 3, 16_000),
    "zero twice": (negative_zero_counts_twice, 3, 16_000),
    "one noise for all coordinates": (one_noise_for_all, np.zeros(64, dtype=int), 400),
    "now and then an outcome of its own": (
        lambda value, rng: value + (10**6 if rng.bits(12) == 0 else DiscreteLaplace(F(2)).draw(rng)),
        3,
        16_000,
    ),
}


@pytest.mark.parametrize(("how", "value", "draws"), WRONG.values(), ids=WRONG)
def test_wrong_samplers_are_refused(how, value, draws):
    assert not audit.sampler(Wrong(how), value, draws=draws, rng=unsafe_seeded(42)).holds


def test_tilted_samplers_are_refused_as_computed():
    """What `missed` says of a law is what the audit does to its sampler."""
    right = UniformOrder()
    for tenth in (F(-1, 10), F(1, 10)):
        outcomes, chances = zip(*Tilted(right, tenth).law(4), strict=True)
        edges = np.cumsum([float(p) for p in chances[:-1]]) * 2.0**60

        class Pretending(UniformOrder):
            def sample(self, value, rng, outcomes=outcomes, edges=edges):
                return outcomes[int(np.searchsorted(edges, oracle.uniform_below(1 << 60, rng)))]

        assert not audit.sampler(Pretending(), 4, draws=15_000, rng=unsafe_seeded(43)).holds


def test_the_audit_of_a_card_draws_its_steps():
    rows = audit.audit_card(find("laplace"), draws=3_000, rng=unsafe_seeded(44))
    sampled = [row for row in rows if row.method == "sampler"]
    assert {("numbers" in row.mechanism) for row in sampled} == {True, False}
    assert all(row.holds for row in rows)


@pytest.mark.parametrize(("method", "many"), [("laplace_one", False), ("laplace_many", True)])
def test_the_audit_of_a_card_finds_a_sampler_that_is_wrong(method, many, monkeypatch):
    """Its law stays right, so that enumeration finds nothing."""
    right = getattr(samplers, method)
    monkeypatch.setattr(samplers, method, lambda scale: right(scale / 2))
    rows = audit.audit_card(find("count"), draws=6_400, rng=unsafe_seeded(47))
    assert all(row.holds for row in rows if row.method == "exact")
    broken = [row for row in rows if not row.holds]
    assert broken
    assert {"numbers" in row.mechanism for row in broken} == {many}


@pytest.mark.soak
@pytest.mark.parametrize("card", catalogue(), ids=str)
def test_every_card_draws_what_its_laws_say(card):
    steps = collect_steps(list(card.tiny()), unsafe_seeded(45))
    assert steps
    for step, value in steps:
        report = audit.sampler(step, value, draws=200_000 // np.size(value), rng=unsafe_seeded(46))
        assert report.holds, report


def test_a_law_that_is_too_large_is_refused():
    with pytest.raises(InvalidParameter, match="at most 100000 outcomes"):
        audit.sampler(AddNoise(DiscreteLaplace(F(10**6)), ONE), 0, draws=10)
    with pytest.raises(InvalidParameter, match="draws must be an integer >= 1"):
        audit.sampler(Coin(), 0, draws=0)


class Draw(Primitive):
    """A sampler of small integers, against a law."""

    sensitivity = ONE

    def __init__(self, sampler, law):
        self.sample, self.law = (lambda value, rng: sampler(rng)), (lambda value: law)

    def sample(self, value, rng):
        raise NotImplementedError

    law = distance = sample


def oracle_laws():
    yield "coin", Draw(lambda rng: oracle.bernoulli(F(3, 8), rng), [(True, F(3, 8)), (False, F(5, 8))])
    yield "below 5", Draw(lambda rng: oracle.uniform_below(5, rng), [(k, F(1, 5)) for k in range(5)])
    for noise, sampler in (
        (OneSidedGeometric(ONE), oracle.geometric),
        (DiscreteLaplace(ONE), oracle.discrete_laplace),
        (DiscreteGaussian(ONE), oracle.discrete_gaussian),
    ):
        law = [(z, noise.pmf(z)) for z in noise.window()]
        yield type(noise).__name__, Draw(lambda rng, s=sampler: s(ONE, rng), law)


@pytest.mark.parametrize(("name", "primitive"), list(oracle_laws()))
def test_every_string_of_bits_agrees_with_the_law(name, primitive):
    decided, left = audit.every_string(primitive, None)
    assert sum(decided.values()) + left == 1
    assert left < F(3, 5), "too little is decided to say anything"
    assert audit.agrees(primitive, None)


@pytest.mark.parametrize(("primitive", "value"), [(Coin(), 0), (Steps(5), None), (RunCount(F(1, 4)), None)])
def test_every_string_of_bits_agrees_with_the_law_of_primitives(primitive, value):
    assert audit.agrees(primitive, value)


def test_strings_tell_a_wrong_sampler_exactly():
    assert audit.every_string(Coin(), 0) == ({0: F(3, 4), 1: F(1, 4)}, 0)
    third = [(True, F(1, 3)), (False, F(2, 3))]
    assert not audit.agrees(Draw(lambda rng: rng.bits(8) < 86, third), None)  # by one part in 768
    assert not audit.agrees(Draw(lambda rng: rng.bits(2) == 3, [(True, F(1, 4)), (False, F(1, 2))]), None)
    assert not audit.agrees(Draw(lambda rng: rng.bits(2), [(0, F(1, 4)), (1, F(1, 4)), (2, F(1, 2))]), None)
    wide = Draw(lambda rng: rng.bits(64) >> 63, [(0, F(1, 2)), (1, F(1, 2))])
    assert audit.every_string(wide, None) == ({}, 1)  # nothing is decided, so nothing is said
