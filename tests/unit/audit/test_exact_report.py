"""What the exact audit says, and that it says no when it should."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet import Laplace, audit
from discreet.audit.enumeration import Distribution, output_distribution
from discreet.audit.exact_report import ORDERS, divergences, list_claims, max_divergence
from discreet.audit.museum.exhibit import Exhibited
from discreet.audit.museum.protocol import Coin
from discreet.catalogue import find
from discreet.core.errors import InvalidParameter
from discreet.core.loss import ApproxLoss, GaussianLoss, Loss, PureLoss, RenyiLoss, ZCDPLoss
from discreet.noise import AddNoise, DiscreteGaussian, DiscreteLaplace

PAIRS = [(a, b) for a in range(3) for b in range(3) if abs(a - b) == 1]


@dataclass(frozen=True, slots=True, repr=False)
class Noisy(Exhibited):
    """Any noise with any claim."""

    noise: object = DiscreteLaplace(Fraction(1))
    claim: Loss | None = None

    @property
    def loss(self):
        return self.claim

    def _draw(self, data, rng):
        return rng.perform(AddNoise(self.noise, Fraction(1)), data)


def noisy(noise, claim):
    return Noisy(Fraction(1), noise=noise, claim=claim)


def test_the_laplace_mechanism_uses_all_of_its_claim():
    report = audit.exact(Laplace(sensitivity=1, epsilon=1), PAIRS)
    assert report.holds
    assert report.tight
    assert 0.999999 < report.ratio <= 1
    assert report.pairs == 4
    assert report.resolved > 1 - 1e-10
    assert repr(report).startswith("Laplace(sensitivity=1, epsilon=1")
    assert "claimed 1, exact 1" in repr(report)


@pytest.mark.parametrize("scale", ["0.9", "0.99", "0.999999"])
def test_a_little_less_noise_is_found(scale):
    report = audit.exact(noisy(DiscreteLaplace(Fraction(scale)), PureLoss(1)), PAIRS)
    assert not report.holds
    assert report.worst.view == "epsilon"
    assert report.measured == pytest.approx(1 / float(Fraction(scale)), rel=1e-9)
    assert "BROKEN" in repr(report)


def test_much_more_noise_holds_but_is_not_tight():
    report = audit.exact(noisy(DiscreteLaplace(Fraction(2)), PureLoss(1)), PAIRS)
    assert report.holds
    assert not report.tight
    assert report.ratio == pytest.approx(0.5)


@pytest.mark.parametrize(("rho", "holds"), [("0.125", True), ("0.1249", False)])
def test_zcdp_claims_are_checked_at_every_order(rho, holds):
    # Discrete Gaussian noise of variance 4 and shift 1 has D_a = a / 8 exactly.
    report = audit.exact(noisy(DiscreteGaussian(Fraction(4)), ZCDPLoss(Fraction(rho))), PAIRS)
    assert report.holds is holds
    renyi = {finding.at: finding for finding in report.findings if finding.view == "renyi"}
    assert set(renyi) == set(ORDERS)
    for order, finding in renyi.items():
        assert finding.measured == pytest.approx(order / 8, rel=1e-6)


def test_renyi_claims():
    gaussian = DiscreteGaussian(Fraction(4))
    assert audit.exact(noisy(gaussian, RenyiLoss(((2.0, 0.25), (8.0, 1.0)))), PAIRS).holds
    assert not audit.exact(noisy(gaussian, RenyiLoss(((2.0, 0.2499), (8.0, 1.0)))), PAIRS).holds


def test_approximate_claims_are_checked_on_the_whole_curve():
    # The discrete Gaussian of variance 4 is a little worse than the continuous one: the slack pays for it.
    slack = (1 - Fraction(1, 16)) ** -2
    report = audit.exact(noisy(DiscreteGaussian(Fraction(4)), GaussianLoss(Fraction(1, 2), slack)), PAIRS)
    assert report.holds
    assert report.tight
    report = audit.exact(noisy(DiscreteGaussian(Fraction(4)), GaussianLoss(Fraction(45, 100))), PAIRS)
    assert not report.holds


@pytest.mark.parametrize(("mass", "holds"), [("0.04", True), ("0.03", False)])
def test_a_delta_that_is_too_small_is_found(mass, holds):
    # Reveals the truth with probability 0.04 and otherwise answers zero.
    @dataclass(frozen=True, slots=True, repr=False)
    class Leak(Exhibited):
        @property
        def loss(self):
            return ApproxLoss(0, Fraction(mass))

        def _draw(self, data, rng):
            return data if rng.perform(Percent(), None) < 4 else 0

    report = audit.exact(Leak(Fraction(1)), [(0, 1)])
    assert report.holds is holds


class Percent:
    """A uniform number below 100, away from all data."""

    sensitivity = Fraction(0)

    def law(self, value):
        return [(k, Fraction(1, 100)) for k in range(100)]

    def __eq__(self, other):
        return isinstance(other, Percent)

    def __hash__(self):
        return 0


def test_a_huge_epsilon_is_audited_without_overflow():
    claim = ApproxLoss(800, Fraction(1, 100))
    report = audit.exact(noisy(DiscreteLaplace(Fraction(1, 2)), claim), PAIRS)
    assert report.holds
    assert all(math.isfinite(finding.measured) for finding in report.findings)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        audit.guess  # noqa: B018


def test_both_directions_are_audited():
    # Data 1 can give an outcome that data 0 cannot; the other way round nothing is infinite.
    class OneSided(Exhibited):
        def _draw(self, data, rng):
            return rng.perform(Coin(), 0) * data

    for pair in ((0, 1), (1, 0)):
        report = audit.exact(OneSided(Fraction(1)), [pair])
        assert report.measured == math.inf
        assert (report.worst.left, report.worst.right, report.worst.outcome) == (1, 0, 1)


def test_float_zeros_are_two_data_sets_and_two_outcomes():
    class Sign(Exhibited):
        def _draw(self, data, rng):
            return rng.perform(Coin(), 0) * data

    assert not audit.exact(Sign(Fraction(1)), [(-0.0, 0.0)]).holds


def test_array_data():
    mechanism = Laplace(sensitivity=1, epsilon=4, size=2)
    report = audit.exact(
        mechanism, [(np.array([0, 1]), np.array([1, 1])), (np.array([0, 1]), np.array([0, 0]))]
    )
    assert report.holds
    assert report.tight


def test_nothing_to_audit_is_an_error():
    with pytest.raises(InvalidParameter, match="at least one pair"):
        audit.exact(Laplace(sensitivity=1, epsilon=1), [])
    with pytest.raises(
        InvalidParameter,
        match="pairs must be made of data sets the mechanism answers on, got InvalidParameter",
    ):
        audit.exact(Laplace(sensitivity=1, epsilon=1), [("a", "b")])


def test_wrong_arguments_say_what_is_wanted():
    laplace = Laplace(sensitivity=1, epsilon=1)
    with pytest.raises(
        InvalidParameter, match=r"Mechanism or Interactive, got function\. For a plain function use"
    ):
        audit.exact(lambda data, rng: data, [(0, 1)])
    sparse = find("sparse").example()[0]
    with pytest.raises(
        InvalidParameter, match=r"^script must be given for an interactive mechanism, got none$"
    ):
        audit.exact(sparse, PAIRS)
    for wrong in ((0, 1), 5, "ab", [(0, 1, 2)], [0]):
        with pytest.raises(
            InvalidParameter, match=r"pairs must be a list of pairs.*Write \[\(left, right\)\]"
        ):
            audit.exact(laplace, wrong)


class HiddenResponse(Exhibited):
    """Randomized response at log 9, with a coin of its own."""

    def _draw(self, data, rng):
        return data ^ (COIN.random() < 0.1)


COIN = np.random.default_rng(7)  # noqa: TID251 - what must be found


def test_a_coin_of_its_own_is_refused():
    # Missed by both data sets with probability 0.9**130, about 1e-6, each time.
    for _ in range(40):
        with pytest.raises(InvalidParameter, match=r"rng\.perform.*same random steps.*epsilon_lower_bound"):
            audit.exact(HiddenResponse(Fraction(1, 10)), [(0, 1)])


def test_no_random_step_is_said():
    class Parity(Exhibited):
        def _draw(self, data, rng):
            return data % 2

    same, other = (audit.exact(Parity(Fraction(1)), [pair]) for pair in ((0, 2), (0, 1)))
    assert same.holds
    assert not other.holds
    for report in (same, other):
        assert report.steps == 0
        assert "no random step: the output is a function of the data" in repr(report)
    assert "no random step" not in repr(audit.exact(Laplace(sensitivity=1, epsilon=1), PAIRS))


def test_public_names_are_listed():
    assert set(dir(audit)) == set(audit.__all__)
    assert all(hasattr(audit, name) for name in dir(audit))


def test_left_out_mass_never_invents_a_violation():
    # q has half of its mass left out: it could all lie on the one outcome that p has.
    p = Distribution({"a": Fraction(1)}, Fraction(0), Fraction(0), 1, 1)
    q = Distribution({"b": Fraction(1, 2)}, Fraction(1, 2), Fraction(0), 1, 1)
    assert max_divergence(p, q)[0] == pytest.approx(math.log(2))
    found = {
        (view, at): measured for (view, at, _), measured, _ in divergences(p, q, list_claims(PureLoss(1)))
    }
    assert found["delta", 0.0] == pytest.approx(0.5)
    assert found["renyi", 2.0] == pytest.approx(math.log(2))


def test_every_number_is_below_the_truth():
    # Randomized response at log 3, in closed form.
    run = output_distribution(lambda data, rng: rng.perform(Coin(), data), 0)
    other = output_distribution(lambda data, rng: rng.perform(Coin(), data), 1)
    claim = PureLoss(Fraction(1098612289, 10**9))
    for (view, at, claimed), measured, _ in divergences(run, other, list_claims(claim)):
        truth = {
            "epsilon": lambda at: math.log(3),
            "delta": lambda at: (3 - math.exp(at)) / 4,
            "renyi": lambda at: math.log((3**at + 3 ** (1 - at)) / 4) / (at - 1),
        }[view](at)
        assert measured <= truth * (1 + 1e-15) + 1e-15
        assert measured == pytest.approx(truth, rel=1e-6, abs=1e-9)
        assert measured <= claimed


def test_rows_for_the_command_line():
    from discreet.testing import unsafe_seeded

    rows = audit.audit_card(find("laplace"), samples=2_000, draws=0, rng=unsafe_seeded(1))
    assert {row.method for row in rows} == {"exact", "samples"}
    assert audit.audit_card(find("laplace"), draws=0) == tuple(row for row in rows if row.method == "exact")
    assert all(row.holds and 0 <= row.measured <= row.claimed for row in rows)
    assert all(row.ratio > 0.99 for row in rows if row.method == "exact")
    assert all(row.ratio > 0.5 for row in rows if row.method == "samples" and row.claimed <= 3)


class TypedByData(Laplace):
    """Releases a whole number on data 0 and a float on any other: the type tells the data."""

    __slots__ = ()

    def _draw(self, data, rng):
        value = super()._draw(data, rng)
        return value if data == 0 else float(value)


def test_the_type_of_an_answer_is_part_of_it():
    mechanism = TypedByData(sensitivity=1, epsilon=1)
    assert not audit.exact(mechanism, [(0, 1)]).holds
    assert not audit.replay(mechanism, (0, 1)).holds
    assert audit.exact(Laplace(sensitivity=1, epsilon=1), [(0, 1)]).holds
