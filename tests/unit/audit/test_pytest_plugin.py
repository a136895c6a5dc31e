"""The pytest plugin, in a pytest of its own."""

import subprocess
import sys

pytest_plugins = "pytester"

HEAD = """
import discreet as dp
from discreet.audit.museum.protocol import TwoCounts
from fractions import Fraction
"""


def test_sound_and_broken_mechanisms(pytester):
    pytester.makepyfile(
        HEAD
        + """
def test_sound(audit_private):
    report = audit_private(dp.Laplace(sensitivity=1, epsilon=1), [(0, 1), (1, 2)], tight=True)
    assert report.claimed == 1

def test_broken(audit_private):
    audit_private(TwoCounts(Fraction(2)), [((1, 0), (1, 1))])

def test_not_neighbours(audit_private):
    audit_private(dp.Laplace(sensitivity=1, epsilon=1), [(0, 2)])

def test_loose(audit_private):
    audit_private(dp.Laplace(sensitivity=2, epsilon=1), [(0, 1)], tight=True)

def test_plain():
    pass
"""
    )
    result = pytester.runpytest("--strict-markers", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        ["*the guarantee does not stand: TwoCounts*BROKEN*", "*the guarantee is loose*"]
    )
    chosen = pytester.runpytest("--strict-markers", "-m", "audit", "-p", "no:cacheprovider")
    chosen.assert_outcomes(passed=1, failed=3, deselected=1)


def test_steps_are_replayed(pytester):
    pytester.makepyfile(
        HEAD
        + """
from dataclasses import dataclass
from discreet.audit.museum.exhibit import Exhibited
from discreet.noise import AddNoise, DiscreteLaplace

@dataclass(frozen=True, slots=True, repr=False)
class WrongDeclaration(Exhibited):
    def _draw(self, data, rng):
        return rng.perform(AddNoise(DiscreteLaplace(Fraction(2)), Fraction(1)), 2 * data)

def test_moves_two_declares_one(audit_private):
    audit_private(WrongDeclaration(Fraction(1)), [(0, 1)])
"""
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*neighbours do not take the same steps on (0, 1)*moved by 2*"])


def test_one_pair_is_not_a_list_of_pairs(pytester):
    pytester.makepyfile(
        HEAD
        + """
def test_one_pair(audit_private):
    audit_private(dp.Laplace(sensitivity=1, epsilon=1), (0, 1))
"""
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*pairs must be a list of pairs of data sets*Write ?(left, right)?*"])


def test_a_failure_probability_allows_single_runs_to_differ(pytester):
    pytester.makepyfile(
        HEAD
        + """
from discreet.catalogue import find

def test_propose_test_release(audit_private):
    tiny = next(iter(find("propose-test-release").tiny()))
    audit_private(tiny.mechanism, list(tiny.pairs)[:20])
"""
    )
    pytester.runpytest("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_it_costs_nothing_when_unused():
    script = (
        "import sys, discreet.audit.pytest_plugin as p; "
        "heavy = [m for m in ('scipy', 'hypothesis', 'rich', 'discreet.catalogue') if m in sys.modules]; "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
