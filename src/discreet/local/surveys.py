"""What all local protocols share: a survey for devices, reports on the wire, and who is protected."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import LocalReport
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive
from discreet.local.batches import ReportBatch, read_column, read_one
from discreet.local.laws.domains import Domain
from discreet.local.laws.kernel import Kernel
from discreet.local.laws.kinds import make_kernel
from discreet.local.laws.wire import (
    Header,
    SentReport,
    digest_domain,
    refuse,
    require_short,
    split_bytes,
    write_survey,
)
from discreet.local.steps import DrawReports, Payload, from_payload

_LOCAL = LocalReport()

Sent = ReportBatch | bytes | Iterable[SentReport | str | bytes]
"""Reports: a batch, its bytes, or reports one by one, as values or as lines of JSON."""


@frozen
class LocalSurvey(Mechanism[Any, Any]):
    """The base of all local protocols.

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.
    """

    epsilon: Exact = public(checks.positive)
    people: int = public(checks.integer, 1, default=1)
    neighbours: LocalReport = derived()
    measures: ClassVar[bool] = False  # a report is no estimate
    kind: ClassVar[str]
    """The name on the wire."""

    def _complete(self) -> None:
        require_short(epsilon=self.epsilon)
        self._set(neighbours=_LOCAL)
        self._check(self.kernel)

    def _check(self, kernel: Kernel) -> None:
        """Refuse tables that are too large to be worked with."""

    @property
    @abstractmethod
    def values(self) -> Domain:
        """What may be reported."""

    @property
    def kernel(self) -> Kernel:
        """The exact table of probabilities."""
        return make_kernel(self.kind, self.values, self.epsilon)

    @property
    def loss(self) -> Loss:
        """The cost of one report: pure."""
        return PureLoss(self.epsilon)

    @property
    def bits(self) -> int:
        """How long a report is."""
        return self.kernel.bits

    @property
    def survey(self) -> str:
        """What devices need to know, as one line of JSON: `discreet.local.client.open_survey` reads it."""
        return write_survey(self.kind, self.epsilon, self.values.describe())

    @property
    def header(self) -> Header:
        """What stands on every report."""
        return Header(self.kind, digest_domain(self.values.describe()), self.epsilon)

    def encode(self, value: Any, *, rng: Rng = SYSTEM) -> SentReport:
        """Draw one person's report. It costs that person epsilon, whatever comes out."""
        code = self.release(value, rng=rng).value
        return SentReport(self.header, code.to_bytes(self.kernel.width, "little"))

    def encode_many(self, values: Any, *, rng: Rng = SYSTEM) -> ReportBatch:
        """Draw a report for each value of a column, each under its own person's guarantee."""
        checks.instance(Rng, rng=rng)
        return self.encode_places(read_column(self.values, Sensitive.wrap(values).reveal()), rng)

    def encode_places(self, places: NDArray[Any], rng: Rng) -> ReportBatch:
        """Draw a report for each place in the domain."""
        drawn = np.asarray(rng.perform(DrawReports(self.kernel), places), dtype=np.uint8)
        drawn.flags.writeable = False
        return ReportBatch(self.header, drawn, rng.unsafe)

    def read_reports(self, reports: Sent) -> Payload:
        """Return the payloads of reports; one that does not belong here is refused.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        width = self.kernel.width
        if isinstance(reports, bytes):
            header, data = split_bytes(reports)
            self._require(header)
            if len(data) % width:
                raise refuse(f"its payloads are not of {width} bytes each")
            payload = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
        elif isinstance(reports, ReportBatch):
            self._require(reports.header)
            payload = reports.payload
        elif isinstance(reports, str) or not isinstance(reports, Iterable):
            rule = "a batch, its bytes, or a list of reports or lines"
            raise InvalidParameter(name="reports", rule=rule, got=f"a {type(reports).__name__}")
        else:
            payload = np.frombuffer(b"".join(map(self._read_one, reports)), dtype=np.uint8).reshape(-1, width)
        if not len(payload):
            raise refuse("there is none")
        if payload.ndim != 2 or payload.shape[1] != width:
            raise refuse(f"there is none of {width} bytes")
        self._check_payload(payload)
        return payload

    def _read_one(self, report: SentReport | str | bytes) -> bytes:
        if not isinstance(report, SentReport):
            report = SentReport.from_json(report)
        self._require(report.header)
        if len(report.payload) != self.kernel.width:
            raise refuse(f"its payload is not of {self.kernel.width} bytes")
        return report.payload

    def _require(self, header: Header) -> None:
        mine = self.header
        for name in ("kind", "domain", "epsilon"):
            if getattr(header, name) != getattr(mine, name):
                raise refuse(f"its {name} is another one than this survey's")

    def _check_payload(self, payload: Payload) -> None:
        """Refuse what no device sends."""
        if int(from_payload(payload).max()) >= self.kernel.size:
            raise refuse("its payload is no report of this survey")

    def _draw(self, data: Any, rng: Rng) -> Any:
        return rng.perform(DrawReports(self.kernel), read_one(self.values, data))
