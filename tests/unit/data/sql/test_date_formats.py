"""Days that have one mark have one text, in every format."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

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
