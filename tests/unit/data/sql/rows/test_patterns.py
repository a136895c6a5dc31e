"""Patterns match what they say, in time that does not explode."""

from __future__ import annotations

import itertools
import re
import time

import pytest

from discreet.core.errors import Refused
from discreet.data.sql.rows.patterns import Regexp, like

PATTERNS = (
    r"a;^a;b$;^ab$;.;a.b;a*b;a+b;^a?b$;(ab)+;a|b;^(a|bb)*$;[ab];[^a];[a-b]+$;\d;\w\s\w;\.;a{2};a{1,2}b;^a{2,}$"
    r";(a|b)(b|a);;(?:ab)|1;[a-];x|^$;[\d ]$"
).split(";")
TEXTS = ["".join(letters) for size in range(4) for letters in itertools.product("ab1 .", repeat=size)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regular_expressions_are_those_of_python(pattern: str) -> None:
    ours, theirs = Regexp(pattern), re.compile(pattern)
    assert [ours.found_in(text) for text in TEXTS] == [bool(theirs.search(text)) for text in TEXTS]


def test_case_is_folded_on_request() -> None:
    assert Regexp("(?i)NORTH").found_in("up north") and Regexp("[A-C]", fold=True).found_in("b")
    assert not Regexp("NORTH").found_in("north")


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "a**", "*a", r"\1", "(?=a)", "(?P<x>a)", "[[:alpha:]]", "[a", "a{2,1}", "a{99}", r"\b", "]"],
)
def test_what_is_not_known_is_refused(pattern: str) -> None:
    with pytest.raises(Refused):
        Regexp(pattern)


def test_no_pattern_takes_long() -> None:
    began = time.process_time()
    assert not Regexp("(a*)*(a*)*(a|aa)+c").found_in("a" * 3_000)
    with pytest.raises(Refused):
        Regexp("((((a{50}){50}){50}){50}){50}")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("value", "pattern", "escape", "expected"),
    [
        ("10%", "%!%", "!", True),
        ("100", "%!%", "!", False),
        ("a_b", "a!_b", "!", True),
        ("axb", "a!_b", "!", False),
    ],
)
def test_like_with_an_escape(value: str, pattern: str, escape: str, expected: bool) -> None:
    assert like(value, pattern, escape) is expected
