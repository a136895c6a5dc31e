"""Dates as text: the signs of `strftime` and of BigQuery, and the words of `TO_CHAR` and `DATE_FORMAT`.

Names of months and days are English, whatever the machine speaks.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.data.sql.rows.comparing import EPOCH
from discreet.data.sql.text import refuse, shorten

_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FORMATS: dict[str, Callable[[datetime.date], str]] = {
    "%Y": lambda day: f"{day.year:04}",
    "%y": lambda day: f"{day.year % 100:02}",
    "%m": lambda day: f"{day.month:02}",
    "%d": lambda day: f"{day.day:02}",
    "%B": lambda day: _MONTH_NAMES[day.month - 1],
    "%b": lambda day: _MONTH_NAMES[day.month - 1][:3],
    "%A": lambda day: _DAY_NAMES[day.weekday()],
    "%a": lambda day: _DAY_NAMES[day.weekday()][:3],
    "%j": lambda day: f"{day.timetuple().tm_yday:03}",
    "%F": lambda day: day.isoformat(),
    "%Q": lambda day: str((day.month + 2) // 3),
    "%G": lambda day: f"{day.isocalendar().year:04}",
    "%V": lambda day: f"{day.isocalendar().week:02}",
    "%u": lambda day: str(day.isoweekday()),
    "%%": lambda day: "%",
}
BEYOND = "some of its days lie beyond the calendar, which ends with the year 9999"
_YEARS = 10_000
"""More than there are years before 1970."""
_WORDS: dict[str, dict[str, str]] = {
    "TO_CHAR": {
        "YYYY": "%Y", "yyyy": "%Y", "IYYY": "%G", "Q": "%Q", "MM": "%m", "FMMonth": "%B", "Mon": "%b",
        "IW": "%V", "DDD": "%j", "DD": "%d", "dd": "%d", "FMDay": "%A", "Dy": "%a", "ID": "%u",
    },
    "DATE_FORMAT": {
        "yyyy": "%Y", "Q": "%Q", "MMMM": "%B", "MMM": "%b", "MM": "%m", "dd": "%d",
        "EEEE": "%A", "EEE": "%a", "EE": "%a", "E": "%a",
    },
}  # fmt: skip
"""Words of formats without %. PostgreSQL pads Month and Day with blanks, so they are not among them."""


def read_format(name: str, pattern: str) -> list[str]:
    """Return the signs of a format and what stands between them; refuse a sign that is not known."""
    words = _WORDS.get(name, {}) if "%" not in pattern else {}
    shown = shorten(pattern)
    if words:
        longest = sorted(words, key=len, reverse=True)
        pattern = re.sub("|".join(longest), lambda found: words[found[0]], pattern)
    parts = re.findall(r"%.|[^%A-Za-z]+|.", pattern, flags=re.DOTALL)
    if any(part not in _FORMATS for part in parts if part[0] == "%" or part.isalpha()):
        known = ", ".join(words) if words else "%Y %m %d %b %B %a %A %j"
        raise refuse(f"{name} {shown}", "it has a sign that is not known", f"Use {known}")
    return parts


def spell_day(number: int, parts: Sequence[str]) -> str:
    """Return a day, counted from 1970-01-01, in a format."""
    try:
        day = datetime.date.fromordinal(number + EPOCH)
    except (ValueError, OverflowError):
        raise refuse("a date as text", BEYOND, "Add or subtract less") from None
    return "".join(_FORMATS[part](day) if part in _FORMATS else part for part in parts)


def tell_apart(numbers: NDArray[np.int64], parts: Sequence[str]) -> NDArray[np.int64]:
    """Return a number of at least 0 for each day, another one where a format writes another text."""
    months = numbers.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    signs = {part for part in parts if part in _FORMATS}
    if signs <= {"%Y", "%y", "%%"}:
        return months // 12 + _YEARS
    if signs <= {"%Y", "%y", "%m", "%B", "%b", "%Q", "%%"}:
        years = months // 12 + _YEARS if signs & {"%Y", "%y"} else np.zeros_like(months)
        return years * 12 + months % 12
    if is_weekly(parts):
        return (numbers + 3) % 7
    if signs <= {"%d", "%%"}:
        return numbers - months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return numbers + _YEARS * 400


def is_weekly(parts: Sequence[str]) -> bool:
    """Say whether a format writes the day of the week and nothing else of a day."""
    return {part for part in parts if part in _FORMATS} <= {"%A", "%a", "%u", "%%"}
