"""What all frequency oracles share: encode on the device, estimate at the collector, an error beforehand."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import fix_array
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import LocalReport
from discreet.core.parameters import Exact, derived, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import above, below
from discreet.core.sensitive import Sensitive
from discreet.local.batches import ReportBatch, read_column, read_one
from discreet.local.frequencies.estimates import Floats, FrequencyEstimate
from discreet.local.laws.domains import ValueNames
from discreet.local.laws.kernel import Kernel
from discreet.local.laws.kinds import make_kernel
from discreet.local.laws.wire import Header, SentReport, digest_domain, refuse, split_bytes, write_survey
from discreet.local.steps import DrawReports, Payload, from_payload
from discreet.mechanisms.report_tails import Crowd, ReportCoin, smallest_distance

_LOCAL = LocalReport()
_LEAST = 1e-280  # a rarer report changes no bound, and has no logarithm


@dataclass(frozen=True, slots=True)
class Scores:
    """What one person adds to the sum that a value's count is estimated from.

    Attributes
    ----------
    holder, other
        The mean for one who holds the value, and for one who holds another, whichever it is.
    holder_variance, other_variance
        The variances; the largest one over all other values.
    mean_other
        The mean of the variance over all other values.
    coin
        Whether the score is 0 or 1, so that mean and law are one.
    """

    holder: Fraction
    other: Fraction
    holder_variance: Fraction
    other_variance: Fraction
    mean_other: Fraction
    coin: bool = True

    @classmethod
    def of_coins(cls, holder: Fraction, other: Fraction) -> Scores:
        """Return the scores that are 1 with these probabilities, else 0."""
        spread = other * (1 - other)
        return cls(holder, other, holder * (1 - holder), spread, spread)

    @property
    def contrast(self) -> Fraction:
        """What one more holder adds."""
        return self.holder - self.other


def _read_domain(**named: object) -> ValueNames:
    (given,) = named.values()
    return ValueNames.of(int(given) if isinstance(given, np.integer) else given)


@frozen
class FrequencyOracle(Mechanism[Any, Any]):
    """The base of all protocols that estimate how many people hold each value.

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    domain
        What may be reported: a number of values 0 .. domain - 1, or a list of texts or whole numbers.
        Whatever is none of them counts as the first: to refuse it would tell of it.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.
    """

    epsilon: Exact = public(checks.positive)
    domain: Any = public(_read_domain)
    people: int = public(checks.integer, 1, default=1)
    neighbours: LocalReport = derived()
    measures: ClassVar[bool] = False  # a report is no estimate
    kind: ClassVar[str]
    """The name on the wire."""

    def _complete(self) -> None:
        self._set(neighbours=_LOCAL)
        self._check(self.kernel)

    def _check(self, kernel: Kernel) -> None:
        """Refuse tables that are too large to be worked with."""

    @property
    def names(self) -> ValueNames:
        """The domain."""
        names: ValueNames = self.domain
        return names

    @property
    def kernel(self) -> Kernel:
        """The exact table of probabilities."""
        return make_kernel(self.kind, self.names.size, self.epsilon)

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
        return write_survey(self.kind, self.epsilon, self.names.describe())

    @property
    def header(self) -> Header:
        """What stands on every report."""
        return Header(self.kind, digest_domain(self.names.describe()), self.epsilon)

    def encode(self, value: Any, *, rng: Rng = SYSTEM) -> SentReport:
        """Draw one person's report. It costs that person epsilon, whatever comes out."""
        code = self.release(value, rng=rng).value
        return SentReport(self.header, code.to_bytes(self.kernel.width, "little"))

    def encode_many(self, values: Any, *, rng: Rng = SYSTEM) -> ReportBatch:
        """Draw a report for each value of a column, each under its own person's guarantee."""
        checks.instance(Rng, rng=rng)
        places = read_column(self.names, Sensitive.wrap(values).reveal())
        drawn = rng.perform(DrawReports(self.kernel), places)
        return ReportBatch(self.header, fix_array(np.asarray(drawn, dtype=np.uint8)), rng.unsafe)

    def estimate(
        self, reports: ReportBatch | bytes | Iterable[SentReport | str | bytes]
    ) -> FrequencyEstimate:
        """Estimate how many people hold each value, without bias.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        payload = self.read_reports(reports)
        together = type(self)(epsilon=self.epsilon, domain=self.domain, people=len(payload))
        scores = together.scores
        sums = self._sum_scores(payload).astype(np.float64)
        counts = (sums - len(payload) * float(scores.other)) / float(scores.contrast)
        return FrequencyEstimate(together, fix_array(counts))

    def read_reports(self, reports: ReportBatch | bytes | Iterable[SentReport | str | bytes]) -> Payload:
        """Return the payloads of reports; one that does not belong here is refused."""
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
        else:
            payload = np.frombuffer(b"".join(map(self._read_one, reports)), dtype=np.uint8).reshape(-1, width)
        if payload.ndim != 2 or payload.shape[1] != width or not len(payload):
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

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """What one person adds to a value's sum."""

    @abstractmethod
    def _sum_scores(self, payload: Payload) -> NDArray[np.int64]:
        """Return the sum of all scores, for each value."""

    @property
    def mean_square(self) -> float:
        """The mean over all values of the squared error of the counts: the same whatever the data."""
        scores, size = self.scores, self.names.size
        each = (scores.holder_variance + (size - 1) * scores.mean_other) / size
        return float(self.people * each / scores.contrast**2)

    def deviations(self, counts: Floats) -> Floats:
        """Return the standard deviation of estimates of these counts, or an upper bound on it."""
        scores, held = self.scores, np.clip(counts, 0, self.people)
        spread = held * float(scores.holder_variance) + (self.people - held) * float(scores.other_variance)
        return np.sqrt(spread) / float(scores.contrast)

    def error(self, beta: checks.Number) -> float:
        """Return what no estimated count misses its true value by, all at once, but for a probability beta.

        It holds for all data and rests on the law of the reports: exact tails where a score is 0 or 1, else
        Bernstein's inequality.
        """
        b = below(float(checks.probability(beta=beta)))
        scores, values = self.scores, self.names.size
        events = 1 if self._mirrored else values
        log = math.log(2 * events / b)
        most = float(max(scores.holder_variance, scores.other_variance))
        span, reach = (1, 1) if scores.coin else (2, 1 + abs(float(scores.holder)))
        hoeffding = span * math.sqrt(log * self.people / 2)
        bernstein = reach * log / 3 + math.sqrt((reach * log / 3) ** 2 + 2 * self.people * log * most)
        far = min(hoeffding, bernstein)
        if scores.coin:
            crowd = Crowd(self.people, _coin(scores.holder), _coin(scores.other))
            each = b if self._mirrored or values > 2 else b / 2  # two values stray each for itself
            far = smallest_distance(crowd, each, values, far)
        return above(far / float(scores.contrast), steps=32)

    @property
    def _mirrored(self) -> bool:
        """Whether there are two values whose estimates stray together."""
        return False

    def _draw(self, data: Any, rng: Rng) -> Any:
        return rng.perform(DrawReports(self.kernel), read_one(self.names, data))


def _coin(chance: Fraction) -> ReportCoin:
    return ReportCoin(max(_LEAST, float(chance)), max(_LEAST, float(1 - chance)))


def require_small(size: int, most: int, what: str) -> None:
    """Refuse a domain for which a collector would need too much memory."""
    if size > most:
        raise InvalidParameter(
            name="domain",
            rule=f"small enough for {what} of {most} numbers",
            value=size,
            hint="DirectResponse and the others take fewer; search huge domains by their prefixes",
        )
