"""What runs on a device: the standard library alone, no array library, one value at a time.

>>> from discreet.local import client
>>> survey = '{"version":1,"kind":"direct-response","epsilon":"1","domain":["bus","car","bicycle"]}'
>>> device = client.open_survey(survey)
>>> device.kind, device.epsilon
('direct-response', Fraction(1, 1))
>>> line = device.encode("car").to_json()

The tables of probabilities and the wire format are those of the collector, from the same modules, and a
report is drawn from the operating system's randomness with whole numbers only: its law is the table, exactly.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.errors import Refused
from discreet.local.laws.coordinates import Vectors
from discreet.local.laws.domains import BitStrings, Domain, RepeatedNames, Span, ValueNames, make_scalar
from discreet.local.laws.kernel import Below, Kernel
from discreet.local.laws.kinds import (
    DISTRIBUTIONS,
    FREQUENCIES,
    MEANS,
    PARITIES,
    QUESTIONS,
    REPEATED,
    SEARCHES,
    VECTORS,
    make_kernel,
)
from discreet.local.laws.memos import KEEP, REPEATS, Memo, MemoKernel
from discreet.local.laws.parities import BitRecords
from discreet.local.laws.records import RecordWeights
from discreet.local.laws.wire import (
    Header,
    SentReport,
    digest_domain,
    read_epsilon,
    read_survey,
    refuse,
)

_VECTOR = {"lower", "upper", "steps", "dimensions"}
_QUESTION = {"attributes", "axes", "weights", "steps"}


@dataclass(frozen=True, slots=True)
class Device:
    """A survey as a device sees it. It keeps no answers: whoever reports twice about one fact pays twice.

    Where reports are repeated by design, `memoise` is what is called once, and its memo is what is kept.
    """

    kind: str
    epsilon: Fraction
    domain: Domain

    @property
    def kernel(self) -> Kernel:
        """The table of probabilities."""
        return make_kernel(self.kind, self.domain, self.epsilon)

    def encode(self, value: object, *, below: Below = secrets.randbelow) -> SentReport:
        """Draw a report about one's own value.

        Privacy: (epsilon, 0) for this person, towards everybody.

        Parameters
        ----------
        value
            One of the domain; anything else counts as its first value, as the middle of its range, or as 0.
        below
            Where uniform whole numbers come from. For tests alone.
        """
        kernel = self.kernel
        if isinstance(kernel, MemoKernel):
            raise Refused(what="report", why=REPEATS, way_out=KEEP)
        code = kernel.draw(self.domain.read(make_scalar(value)), below)
        return SentReport(self.header, code.to_bytes(kernel.width, "little"))

    def memoise(self, value: object, *, below: Below = secrets.randbelow) -> Memo:
        """Draw, once and for ever, what all reports to a survey that is repeated are made from.

        Privacy: (epsilon, 0) for this person, towards everybody, for all reports together. Whoever calls it
        again for the same survey pays again: keep the memo, and read it back with `read_memo`.

        Parameters
        ----------
        value
            One of the domain; anything else counts as its first value.
        below
            Where uniform whole numbers come from. For tests alone.
        """
        kernel = self._repeated
        return Memo(self.header, kernel, kernel.kept.draw(self.domain.read(make_scalar(value)), below))

    def read_memo(self, text: str | bytes) -> Memo:
        """Return the memo that was kept as text: what its `to_json` wrote.

        Raises
        ------
        Refused
            When it is a memo of another survey, or none.
        """
        return Memo.from_json(text, self.header, self._repeated)

    @property
    def header(self) -> Header:
        """What stands on every report."""
        return Header(self.kind, digest_domain(self.domain.describe()), self.epsilon)

    @property
    def _repeated(self) -> MemoKernel:
        kernel = self.kernel
        if not isinstance(kernel, MemoKernel):
            raise refuse("this survey is answered once, without a memo")
        return kernel


def open_survey(survey: str | bytes) -> Device:
    """Return what answers a survey, from the JSON that a collector publishes.

    Raises
    ------
    Refused
        When it is of another version or of a kind that is not known here.
    """
    kind, epsilon, described = read_survey(survey)
    if kind in FREQUENCIES and isinstance(described, int | list):
        return Device(kind, epsilon, ValueNames.of(described))
    if kind in REPEATED and isinstance(described, dict) and set(described) == {"values", "once"}:
        names, once = ValueNames.of(described["values"]), read_epsilon(described["once"])
        if once >= epsilon:
            raise refuse("one of its reports costs as much as all of them")
        return Device(kind, epsilon, RepeatedNames(names.count, names.names, once))
    if (
        kind in (*MEANS, *DISTRIBUTIONS)
        and isinstance(described, dict)
        and set(described) == {"lower", "upper", "steps"}
    ):
        return Device(kind, epsilon, _read_span(described))
    if kind in VECTORS and isinstance(described, dict) and set(described) == _VECTOR:
        return Device(kind, epsilon, Vectors(_read_span(described), described["dimensions"]))
    if kind in SEARCHES and isinstance(described, dict) and set(described) == {"bits", "salt"}:
        if type(described["bits"]) is not int or type(described["salt"]) is not int:
            raise refuse("its bits or its salt are no whole numbers")
        return Device(kind, epsilon, BitStrings(**described))
    if kind in QUESTIONS and isinstance(described, dict) and set(described) == _QUESTION:
        return Device(kind, epsilon, RecordWeights.restore(described))
    if kind in PARITIES and isinstance(described, dict) and set(described) == {"attributes", "width"}:
        return Device(kind, epsilon, BitRecords.restore(described))
    raise refuse("this version knows no such kind, or not with such a domain")


def _read_span(described: dict[str, object]) -> Span:
    lower, upper, steps = described["lower"], described["upper"], described["steps"]
    if type(steps) is not int:
        raise refuse("its steps are no whole number")
    return Span(_read_bound(lower), _read_bound(upper), steps)


def _read_bound(given: object) -> Fraction:
    """Read an exact number of either sign."""
    if given == "0":
        return Fraction(0)
    if isinstance(given, str) and given.startswith("-"):
        return -read_epsilon(given[1:])
    return read_epsilon(given)
