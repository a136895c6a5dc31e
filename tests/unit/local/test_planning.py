import pytest

from discreet import local
from discreet.core.errors import InvalidParameter
from discreet.local.planning import NEAR, ORACLES


def test_the_best_is_short_and_near_the_least():
    for domain in (2, 6, 40, 1024):
        for epsilon in (0.5, 1, 2, 4):
            found = local.plan(domain, 10_000, epsilon)
            assert len(found.predictions) == len(ORACLES)
            least = min(kind(epsilon=epsilon, domain=domain, people=10_000).mean_square for kind in ORACLES)
            assert found.predictions[0].typical ** 2 == pytest.approx(least)
            assert found.best.mean_square <= NEAR * least * (1 + 1e-9)
            rivals = [each for each in found.predictions if each.typical**2 <= NEAR * least]
            assert found.best.bits == min(each.bits for each in rivals)
            assert "best" in str(found)


def test_reports_may_have_to_be_short():
    assert isinstance(local.plan(1024, 1000, 1, bits=10).best, local.DirectResponse)
    with pytest.raises(InvalidParameter, match="bits must be enough"):
        local.plan(1024, 1000, 1, bits=9)
    with pytest.raises(InvalidParameter, match="bits"):
        local.plan(1024, 1000, 1, bits=0)


def test_protocols_that_a_domain_is_too_large_for_are_left_out():
    found = local.plan(1 << 22, 1000, 1)
    assert {each.name for each in found.predictions} == {
        "DirectResponse",
        "LocalHashing",
        "HadamardResponse",
        "ProjectiveResponse",
    }


def test_what_is_wrong_with_a_survey_is_said():
    with pytest.raises(InvalidParameter, match="epsilon"):
        local.plan(10, 1000, -1)
    with pytest.raises(InvalidParameter, match="domain"):
        local.plan(["a", "a"], 1000, 1)
    with pytest.raises(InvalidParameter, match="people"):
        local.plan(10, 0, 1)
