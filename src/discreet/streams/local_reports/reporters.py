"""Who reports the elements of a stream: a randomizer of somebody's own, or a survey of the local model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import LocalReport
from discreet.core.rng import Rng
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.streams.elements import ElementReader

_SURVEY = ("survey", "encode_many", "estimate")
_OTHER = ("categories",)


class Reporter(ABC):
    """Turns elements into reports, and what was reported how often into an estimate."""

    @abstractmethod
    def report(self, elements: Any, rng: Rng) -> Iterable[Any]:
        """Report elements. Nothing about one may decide an exception."""

    @abstractmethod
    def show(self, reports: Counter[Any]) -> dict[Any, int]:
        """Return the numbers of all reports as plain values."""

    @abstractmethod
    def read(self, shown: Iterable[Any]) -> Counter[Any]:
        """Return the numbers of reports that were shown."""

    @abstractmethod
    def estimate(self, reports: Counter[Any], **how: Any) -> Any:
        """Return what follows from the reports."""


class NumberReporter(Reporter):
    """Reports categories, which are 0, 1, 2, ..., as whole numbers."""

    def __init__(self, randomizer: Any) -> None:
        self._randomizer = randomizer
        self._reader = ElementReader(Fraction(1), 0, int(randomizer.categories))

    def report(self, elements: Any, rng: Rng) -> Iterable[int]:
        """Report elements. What is no category is reported as the first."""
        one, units = self._randomizer, self._reader.read_many(elements)
        answers = np.where(units < self._reader.high, units, 0)
        if type(one) is RandomizedResponse and answers.size > 1:
            reports: list[int] = one.release_many(answers, rng=rng).value.tolist()
            return reports
        encode = getattr(one, "encode", None)
        if encode is not None:
            return [int(encode(answer, rng=rng)) for answer in answers.tolist()]
        return [int(one.release(answer, rng=rng).value) for answer in answers.tolist()]

    def show(self, reports: Counter[Any]) -> dict[Any, int]:
        """Return the numbers of all reports."""
        return dict(reports)

    def read(self, shown: Iterable[Any]) -> Counter[Any]:
        """Return the numbers of all reports."""
        return Counter(dict(shown))

    def estimate(self, reports: Counter[Any], **how: Any) -> Any:
        """Return what the randomizer makes of the reports; their numbers where it makes nothing."""
        if not reports or not hasattr(self._randomizer, "estimate"):
            return dict(sorted(reports.items()))
        return self._randomizer.estimate(np.repeat(*np.array(sorted(reports.items())).T), **how)


class SurveyReporter(Reporter):
    """Reports the values of a survey as the bytes that devices send."""

    def __init__(self, survey: Any) -> None:
        self._survey = survey
        self._header, _, _ = survey.encode_many([]).to_bytes().partition(b"\n")

    def report(self, elements: Any, rng: Rng) -> Iterable[bytes]:
        """Report elements. What is no value of the survey is reported as its domain says."""
        count = len(elements)
        if not count:
            return []
        given = list(elements) if isinstance(elements, tuple) else elements
        _, _, payload = self._survey.encode_many(given, rng=rng).to_bytes().partition(b"\n")
        width = len(payload) // count
        return [payload[place : place + width] for place in range(0, count * width, width)]

    def show(self, reports: Counter[Any]) -> dict[Any, int]:
        """Return the numbers of all reports, which are written in hexadecimal digits."""
        return {report.hex(): count for report, count in reports.items()}

    def read(self, shown: Iterable[Any]) -> Counter[Any]:
        """Return the numbers of all reports."""
        return Counter({bytes.fromhex(report): count for report, count in shown})

    def estimate(self, reports: Counter[Any], **how: Any) -> Any:
        """Return what the survey makes of the reports; nothing where there is none."""
        if not reports:
            return None
        payload = b"".join(report * count for report, count in sorted(reports.items()))
        return self._survey.estimate(self._header + b"\n" + payload, **how)


def read_randomizer(**named: object) -> Any:
    """Return a randomizer of one's own answer: it says its loss, and whom it protects.

    Raises
    ------
    InvalidParameter
        For what is none; and for a survey whose reports are not drawn for values alone, in its own words.
    """
    ((name, value),) = named.items()
    has = {part: hasattr(value, part) for part in (*_SURVEY, *_OTHER, "loss", "release", "encode")}
    able = all(map(has.get, _SURVEY)) or (has["categories"] and (has["release"] or has["encode"]))
    if able and has["loss"] and type(getattr(value, "neighbours", None)) is LocalReport:
        if _is_survey(value):
            make_reporter(value)  # which encodes nobody, in its own words
        return value
    raise InvalidParameter(
        name=name,
        rule="a survey, or a randomizer of one's own answer with categories, loss, and release or encode",
        got=f"a {type(value).__name__}",
        hint="Leave it out for randomized response",
    )


def make_reporter(randomizer: Any) -> Reporter:
    """Return who reports by a randomizer."""
    return SurveyReporter(randomizer) if _is_survey(randomizer) else NumberReporter(randomizer)


def _is_survey(randomizer: Any) -> bool:
    return all(hasattr(randomizer, part) for part in _SURVEY)
