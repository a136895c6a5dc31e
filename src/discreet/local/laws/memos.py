"""Reports that are repeated: bits that are drawn once and kept, and shown through fresh noise each time."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.errors import InvalidParameter
from discreet.local.laws.kernel import Below, Kernel, toss
from discreet.local.laws.odds import bound_odds
from discreet.local.laws.responses.unary import UnaryKernel
from discreet.local.laws.wire import HEX, Header, SentReport, read_object, refuse, write_line

REPEATS = "this survey is answered again and again, from a memo that is drawn once"
KEEP = "Call memoise(value) once, keep the memo, and call its encode() each time"


@dataclass(frozen=True, slots=True)
class MemoKernel(Kernel):
    """The table of one report: the kept bits, each of them turned with probability `flip`.

    The kept bits are those of optimised unary encoding for the budget of all reports together, and the noise
    is such that one report alone has the law of optimised unary encoding for its own budget.
    """

    kept: UnaryKernel
    flip: Fraction

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction, once: Fraction) -> MemoKernel:
        """Return the table for the budgets of all reports together and of one."""
        if not once < epsilon:
            raise InvalidParameter(
                name="once",
                rule=f"below epsilon={epsilon}",
                value=once,
            )
        odds, shown = bound_odds(epsilon), bound_odds(once)
        return cls(UnaryKernel.optimised(inputs, epsilon), (odds - shown) / ((shown + 1) * (odds - 1)))

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """How many values there are."""
        return self.kept.inputs

    @property
    def size(self) -> int:
        """All strings of bits."""
        return self.kept.size

    @property
    def shown(self) -> UnaryKernel:
        """The law of one report alone: a coin for each bit, from the kept coin and the noise."""
        yes, no = (self.flip + kept * (1 - 2 * self.flip) for kept in (self.kept.yes, self.kept.no))
        return UnaryKernel(self.inputs, yes, no)

    @property
    def ratio(self) -> Fraction:
        """That of one report alone."""
        return self.shown.ratio

    def ratio_after(self, reports: int) -> Fraction:
        """Return the largest quotient of the probabilities of several reports from one memo.

        Bits are independent, and how often a bit was 1 says all about it; the quotient grows with that
        number. So the worst is one bit that was always 1 and another that never was.
        """
        same, turned = (1 - self.flip) ** reports, self.flip**reports
        always = [kept * same + (1 - kept) * turned for kept in (self.kept.yes, self.kept.no)]
        never = [kept * turned + (1 - kept) * same for kept in (self.kept.yes, self.kept.no)]
        return always[0] / always[1] * never[1] / never[0]

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every report of somebody who reports once."""
        yield from self.shown.law(value)

    def draw(self, value: int, below: Below) -> int:
        """Draw a memo and one report from it."""
        return self.turn(self.kept.draw(value, below), below)

    def turn(self, memo: int, below: Below) -> int:
        """Draw one report from a memo."""
        return memo ^ sum(toss(self.flip, below) << place for place in range(self.inputs))

    def list_turns(self, memo: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every report from a memo."""
        for report in range(self.size):
            turned = (memo ^ report).bit_count()
            yield report, self.flip**turned * (1 - self.flip) ** (self.inputs - turned)


@dataclass(frozen=True, slots=True, repr=False)
class Memo:
    """What a device keeps for a survey that is answered again and again. It is secret, and stays there.

    Privacy: (epsilon, 0) for all reports that are ever drawn from it together; a single one costs `once`.
    """

    header: Header
    kernel: MemoKernel
    kept: int

    def encode(self, *, below: Below = secrets.randbelow) -> SentReport:
        """Draw one more report; however many there are, all of them together cost epsilon."""
        report = self.kernel.turn(self.kept, below)
        return SentReport(self.header, report.to_bytes(self.kernel.width, "little"))

    def to_json(self) -> str:
        """Write one line of JSON for the device's own storage. It is no report: never send it."""
        kept = self.kept.to_bytes(self.kernel.width, "little").hex()
        return write_line({**self.header.describe(), "memo": kept})

    @classmethod
    def from_json(cls, text: str | bytes, header: Header, kernel: MemoKernel) -> Memo:
        """Read what `to_json` wrote for the same survey."""
        given = read_object(text, {"version", "kind", "domain", "epsilon", "memo"})
        written = given["memo"]
        if Header.read(given) != header or not isinstance(written, str) or len(written) != 2 * kernel.width:
            raise refuse("it is a memo of another survey")
        if not HEX.fullmatch(written):
            raise refuse("its memo is not written in hexadecimal digits")
        kept = int.from_bytes(bytes.fromhex(written), "little")
        if kept >= kernel.size:
            raise refuse("its memo has bits beyond the last value")
        return cls(header, kernel, kept)

    def __repr__(self) -> str:
        return f"<a memo, {self.header.kind}, epsilon {self.header.epsilon} for ever>"
