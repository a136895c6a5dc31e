"""Patterns for Spark: they mean what LIKE means, and are matched without a second try."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.data.engines.spark_patterns import to_regexp
from discreet.data.sql.rows.patterns import like

TEXT = st.text("ab%_!.\\$\n\u00e9", max_size=8)


@example("b%b", "b")
@example("%a_b%a", "aaxbba")
@example("a!%%", "a%\n")
@given(
    st.lists(st.sampled_from(["a", "b", "%", "_", "!%", "!_", "!!", ".", "\\", "$", "\n", "\u00e9"])), TEXT
)
def test_a_regular_expression_says_what_a_pattern_says(parts: list[str] | str, text: str) -> None:
    pattern = "".join(parts)
    assert (re.search(to_regexp(pattern), text) is not None) == like(text, pattern, "!")


@pytest.mark.parametrize("pattern", ["%a%a_b%", "%a_%a_b%", "_%a%a_b%", "%aa%ab"])
def test_what_was_found_is_not_looked_for_again(pattern: str) -> None:
    """A text of 100,000 characters: its square would take minutes."""
    assert "(?>" in to_regexp(pattern)  # what goes back would not end here
    assert re.search(to_regexp(pattern), "a" * 100_000 + "c") is None
