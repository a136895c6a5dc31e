"""Days that have one mark have one text, in every format."""

from __future__ import annotations

import datetime
import itertools

import numpy as np
import pytest

from discreet.core.errors import Refused
from discreet.data.sql.date_formats import read_format, spell_day, tell_apart

SIGNS = ("%Y", "%y", "%m", "%d", "%B", "%b", "%A", "%a", "%j", "%F", "%Q", "%G", "%V", "%u", "%%")
DAYS = np.arange(-400, 1_300, dtype=np.int64)


@pytest.mark.parametrize("pattern", ["".join(pair) for pair in itertools.combinations(SIGNS, 2)])
def test_days_alike_are_written_alike(pattern: str) -> None:
    parts = read_format("FORMAT_DATE", pattern)
    marks = tell_apart(DAYS, parts)
    assert marks.min() >= 0
    texts: dict[int, str] = {}
    for day, mark in zip(DAYS.tolist(), marks.tolist(), strict=True):
        assert texts.setdefault(mark, spell_day(day, parts)) == spell_day(day, parts)
    if pattern in ("%Y%m", "%m%B", "%A%a", "%Y%y"):
        assert len(texts) < len(DAYS) / 20


@pytest.mark.parametrize(
    ("name", "pattern", "text"),
    [
        ("TO_CHAR", "FMDay, DD FMMonth YYYY", "Monday, 30 December 2024"),
        ("TO_CHAR", "Dy DDD Q", "Mon 365 4"),
        ("TO_CHAR", "IYYY-IW-ID", "2025-01-1"),
        ("DATE_FORMAT", "EEEE dd MMMM yyyy", "Monday 30 December 2024"),
        ("DATE_FORMAT", "EEE MMM", "Mon Dec"),
        ("DATE_FORMAT", "%Y-%m", "2024-12"),
    ],
)
def test_words_of_each_dialect(name: str, pattern: str, text: str) -> None:
    day = (datetime.date(2024, 12, 30) - datetime.date(1970, 1, 1)).days
    assert spell_day(day, read_format(name, pattern)) == text


@pytest.mark.parametrize(
    ("name", "pattern"), [("TO_CHAR", "Month"), ("DATE_FORMAT", "DD"), ("STRFTIME", "YYYY")]
)
def test_words_that_mean_something_else_are_refused(name: str, pattern: str) -> None:
    """PostgreSQL pads Month with blanks, and the DD of Spark is the day of the year."""
    with pytest.raises(Refused, match="a sign that is not known"):
        read_format(name, pattern)


@pytest.mark.parametrize("day", [datetime.date.max.toordinal(), -(10**6), 10**12])
def test_days_beyond_the_calendar_have_no_text(day: int) -> None:
    with pytest.raises(Refused, match="beyond the calendar"):
        spell_day(day, ["%Y"])
