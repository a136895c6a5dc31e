"""A file of reports: one line with the survey, then the payloads, each of the same number of bytes.

A writer who dies in the middle of an append leaves a part of a payload at the end. Readers leave it out, the
next writer cuts it off; nothing else can be torn, since a file is only ever appended to, by one writer at a
time.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet import local
from discreet.core.errors import InvalidParameter, Refused
from discreet.local import client
from discreet.local.batches import ReportBatch
from discreet.local.laws.coordinates import Vectors
from discreet.local.laws.domains import BitStrings, RepeatedNames, Span, ValueNames
from discreet.local.laws.parities import BitRecords
from discreet.local.laws.records import RecordWeights
from discreet.local.laws.wire import LONGEST, SentReport
from discreet.local.surveys import LocalSurvey
from discreet.queries.universe import Universe

_AT_ONCE = 4096
_HEX = re.compile(rb"(?:[0-9a-f]{2})+")


def open_collector(survey: str | bytes) -> LocalSurvey:
    """Return the protocol that estimates from the reports of a survey, given as its JSON.

    Raises
    ------
    Refused
        When it is of another version or of a kind that is not known here.
    """
    device = client.open_survey(survey)
    found = (getattr(local, name) for name in dir(local))
    kind: Any = next(
        one
        for one in found
        if isinstance(one, type) and issubclass(one, LocalSurvey) and getattr(one, "kind", "") == device.kind
    )
    domain = device.domain
    if isinstance(domain, Span):
        made = kind(epsilon=device.epsilon, lower=domain.lower, upper=domain.upper, steps=domain.steps)
    elif isinstance(domain, Vectors):
        span = domain.span
        bounds = {"lower": span.lower, "upper": span.upper, "steps": span.steps}
        made = kind(epsilon=device.epsilon, dimensions=domain.dimensions, **bounds)
    elif isinstance(domain, BitStrings):
        made = kind(epsilon=device.epsilon, length=domain.bits, salt=domain.salt)
    elif isinstance(domain, RecordWeights):
        made = kind(epsilon=device.epsilon, query=domain)
    elif isinstance(domain, BitRecords):
        made = kind(epsilon=device.epsilon, universe=Universe(domain.attributes), width=domain.width)
    elif isinstance(domain, RepeatedNames):
        names = ValueNames(domain.count, domain.names)
        made = kind(epsilon=device.epsilon, once=domain.once, domain=names)
    else:
        made = kind(epsilon=device.epsilon, domain=domain)
    return cast("LocalSurvey", made)


class Collection:
    """Reports in a file, open for one writer. Use `open_collection`.

    Attributes
    ----------
    survey
        What was asked.
    refused
        How many reports were refused, for each reason. It names no value.
    """

    def __init__(self, survey: LocalSurvey, handle: int, held: int) -> None:
        self.survey, self.held = survey, held
        self.refused: Counter[str] = Counter()
        self._handle, self._width = handle, survey.kernel.width
        plain = SentReport(survey.header, b"\0" * self._width).to_json().encode()
        self._head, _, self._foot = plain.partition(b"00" * self._width)

    def append(self, lines: Iterable[bytes]) -> Iterator[int]:
        """Append reports, a line of JSON each; yield how many were read. What does not belong is counted."""
        rest = iter(lines)
        while some := list(islice(rest, _AT_ONCE)):
            payloads = [one for one in map(self._read, some) if one is not None]
            kept = self._keep(payloads)
            self._write(b"".join(kept))
            self.held += len(kept)
            yield len(some)
        os.fsync(self._handle)

    def _read(self, line: bytes) -> bytes | None:
        line = line.strip()
        inner = line[len(self._head) : len(line) - len(self._foot)]
        if (
            line.startswith(self._head)
            and line.endswith(self._foot)
            and len(inner) == 2 * self._width
            and _HEX.fullmatch(inner)
        ):
            return bytes.fromhex(inner.decode())  # as devices write it: no need to parse
        try:
            report = SentReport.from_json(line)
            self.survey.read_reports([report])
        except Refused as error:
            self.refused[error.why] += 1
            return None
        return report.payload

    def _keep(self, payloads: list[bytes]) -> list[bytes]:
        """Return what a device can have sent: all at once, or one by one where one of them is not."""
        if not payloads:
            return []
        try:
            self.survey.read_reports(_gather(self.survey, b"".join(payloads)))
        except Refused as error:
            if len(payloads) == 1:
                self.refused[error.why] += 1
                return []
            half = len(payloads) // 2
            return self._keep(payloads[:half]) + self._keep(payloads[half:])
        return payloads

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._handle, data) :]


@contextmanager
def open_collection(path: Path, survey: LocalSurvey) -> Iterator[Collection]:
    """Open a file of reports to append to it; it is made where there is none.

    Raises
    ------
    InvalidParameter
        When it belongs to another survey, is no plain file, or another writer has it open.
    """
    first = survey.survey.encode() + b"\n"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidParameter(name="file", rule="a plain file", got="something else")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidParameter(
                name="file", rule="open for one writer", got="a second", hint="Wait until the other is done"
            ) from None
        size, had = os.fstat(handle).st_size, os.pread(handle, len(first), 0)
        if size < len(first) and first.startswith(had):
            os.ftruncate(handle, 0)  # new, or torn before there was any report
            os.write(handle, first)
            size = len(first)
        elif had != first:
            raise InvalidParameter(
                name="file", rule="one of this survey's", got="another", hint="Take a file for each survey"
            )
        width = survey.kernel.width
        held = (size - len(first)) // width
        os.ftruncate(handle, len(first) + held * width)  # a torn payload is no report
        yield Collection(survey, handle, held)
    finally:
        os.close(handle)


def read_collection(path: Path) -> tuple[LocalSurvey, ReportBatch]:
    """Return the survey and the reports of a file, also while somebody appends to it.

    Raises
    ------
    Refused
        When it does not begin with a survey.
    """
    with path.open("rb") as file:
        survey = open_collector(file.readline(LONGEST))
        data = file.read()
    return survey, _gather(survey, data[: len(data) - len(data) % survey.kernel.width])


def _gather(survey: LocalSurvey, data: bytes) -> ReportBatch:
    payload = np.frombuffer(data, dtype=np.uint8).reshape(-1, survey.kernel.width)
    return ReportBatch(survey.header, payload)
