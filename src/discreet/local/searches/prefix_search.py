"""Prefix search: the values that many people hold, among 2**64, from one report a person."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.parameters import frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import below
from discreet.local.frequencies.direct_response import respond
from discreet.local.frequencies.vectors import multiply, split_digits
from discreet.local.laws.domains import LONGEST_STRING, MOST_SALT, BitStrings
from discreet.local.laws.prefixes import PrefixKernel
from discreet.local.laws.wire import refuse
from discreet.local.searches.agreement import Agreement
from discreet.local.searches.children import LevelReports
from discreet.local.searches.descent import Descent, FoundValues
from discreet.local.steps import Payload, Places, draw_many
from discreet.local.surveys import LocalSurvey, Sent
from discreet.noise import coins

WIDTH = 256
"""Prefixes of a level that may look like those of common values, but for a small probability."""
BEAM = 4096
"""Prefixes that a search follows from one level to the next."""


@frozen
class PrefixSearch(LocalSurvey):
    """Find the values that many people hold, among all strings of up to 64 bits, from one report a person.

    Privacy: (epsilon, 0) for each report, towards everybody. A report is about one prefix of the value, whose
    length is drawn without a look at it [BNST20]; its hash is told as in local hashing.
    Accuracy: every value that more than error(beta) people hold is found, but for a probability beta.
    Time: O(people) to encode; to find, WIDTH transforms of a table a level, and O(people * WIDTH).

    Parameters
    ----------
    epsilon
        Each person's budget for one report.
    length
        How many bits values have: they are whole numbers below 2**length, or texts of at most length / 8
        bytes. Whatever is none of them counts as 0: to refuse it would tell of it.
    salt
        Decides how values are mixed before they are cut into prefixes. It is public; values that were chosen
        with it in mind can be made to look alike for longer.
    people
        How many people report, for errors that are known beforehand. `estimate` counts for itself.

    Examples
    --------
    >>> from discreet.testing import unsafe_seeded
    >>> survey = PrefixSearch(epsilon=3, length=24)
    >>> homes = ["oak"] * 4000 + ["elm"] * 2500 + ["ash"] * 1500
    >>> found = survey.estimate(survey.encode_many(homes, rng=unsafe_seeded(1)), share=0.15)
    >>> found.texts
    ['oak', 'elm', 'ash']
    """

    length: int = public(checks.integer, 1, LONGEST_STRING)
    salt: int = public(checks.integer, 0, MOST_SALT, default=0)
    kind: ClassVar[str] = "prefix-search"

    @property
    def values(self) -> BitStrings:
        """All strings of bits."""
        return BitStrings(self.length, self.salt)

    def error(self, beta: checks.Number) -> float:
        """Return how many people make a value that is found for sure, but for a probability beta.

        It holds for all data, for `estimate` with that beta and a share of no more people. No count that one
        level alone gives strays by more than Bernstein's inequality says, of all prefixes at once; so no more
        than WIDTH of them look as common as this, and all that are that common do.

        Raises
        ------
        NoBound
            When not even a value that everybody holds is sure to be found.
        """
        risk = checks.probability(beta=beta)
        agreement, log = Agreement.of(self.prefixes), _count_prefixes(self, risk)
        enough = agreement.least_mean(self.people, _find_sure(self, risk), log)
        if enough >= self.people:
            raise NoBound(
                what="PrefixSearch",
                why=f"{self.people} people are too few to find a value for sure",
                way_out="Ask more people, or for a larger epsilon",
            )
        return enough

    def estimate(
        self, reports: Sent, *, share: checks.Number, beta: checks.Number = Fraction(1, 100)
    ) -> FoundValues:
        """Find the values that a share of all people hold, or more.

        Parameters
        ----------
        reports
            What devices sent.
        share
            What is looked for, between 0 and 1.
        beta
            The claim of `error` is for this probability; it also sets how far below the share is looked.

        Raises
        ------
        Refused
            When a report is of another version, kind, domain or epsilon, or no report at all.
        """
        wanted, risk = checks.probability(share=share), checks.probability(beta=beta)
        payload = self.read_reports(reports)
        together = type(self)(epsilon=self.epsilon, length=self.length, salt=self.salt, people=len(payload))
        kernel = self.prefixes
        levels, cells, vectors = _split(kernel, payload)
        apart = [
            LevelReports(kernel, level, cells[levels == level], vectors[levels == level])
            for level in range(kernel.levels)
        ]
        sure = _find_sure(together, risk)
        descent = Descent(Agreement.of(kernel), len(payload), float(wanted), float(risk), sure, WIDTH, BEAM)
        places, counts = descent.search(apart)
        values = [self.values.find_value(int(place)) for place in places]
        return FoundValues(together, tuple(values), counts, descent.deviations(counts))

    @property
    def prefixes(self) -> PrefixKernel:
        """The exact table of probabilities."""
        return cast("PrefixKernel", self.kernel)

    def _check_payload(self, payload: Payload) -> None:
        kernel = self.prefixes
        levels, _, vectors = _split(kernel, payload)
        every = range(kernel.levels)
        sent, sizes = np.array(every) <= levels[:, None], [kernel.vectors(level) for level in every]
        if levels.max() >= kernel.levels or np.any(np.where(sent, vectors >= sizes, vectors != 0)):
            raise refuse("its payload is no report of this survey")


def _count_prefixes(survey: PrefixSearch, beta: Fraction) -> float:
    """Return the logarithm for a bound on both sides of all prefixes: fewer than two for each value.

    Half of beta is for that; the other half is for the least that common values are estimated at.
    """
    return math.log(8 / below(float(beta))) + survey.length * math.log(2)


def _find_sure(survey: PrefixSearch, beta: Fraction) -> float:
    """Return an estimate from one level that at most WIDTH prefixes reach, but for a probability beta."""
    held = survey.people / WIDTH
    return held + Agreement.of(survey.prefixes).stray(survey.people, held, _count_prefixes(survey, beta), 0)


def _split(
    kernel: PrefixKernel, payload: Payload
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the levels, the cells and the vectors of reports."""
    head = payload[:, 0] + (payload[:, 1].astype(np.int64) << 8)
    stride = kernel.stride // 8
    vectors = np.zeros((len(payload), kernel.levels), dtype=np.int64)
    for byte in range(stride):
        vectors += payload[:, 2 + byte :: stride].astype(np.int64) << (8 * byte)
    return head // kernel.cells, head % kernel.cells, vectors


@draw_many.register
def _draw(kernel: PrefixKernel, values: Places, rng: Rng) -> Payload:
    """Draw levels and vectors without a look at the values, then cells."""
    levels = np.minimum(coins.uniform_below(3 * kernel.levels + 2, values.size, rng) // 3, kernel.levels - 1)
    words, stride = values.astype(np.uint64), kernel.stride // 8
    drawn = np.zeros((values.size, kernel.width), dtype=np.uint8)
    hashed = np.zeros(values.size, dtype=np.int64)
    for level in range(kernel.levels):
        asked = np.flatnonzero(levels >= level)
        vectors = coins.uniform_below(kernel.vectors(level), asked.size, rng)
        shift = kernel.length - kernel.begin(level) - kernel.width_of(level)
        blocks = words[asked] >> np.uint64(shift) & np.uint64((1 << kernel.width_of(level)) - 1)
        left, right = (
            split_digits(each, kernel.cells, kernel.digits(level))
            for each in (vectors, blocks.astype(np.int64))
        )
        hashed[asked] += multiply(left, right, kernel.cells)
        for byte in range(stride):
            drawn[asked, 2 + level * stride + byte] = vectors >> (8 * byte) & 255
    head = levels * kernel.cells + respond(kernel.response, hashed % kernel.cells, rng)
    drawn[:, 0], drawn[:, 1] = head & 255, head >> 8
    return drawn


def _tiny() -> Iterator[Tiny]:
    for length, epsilon in ((1, Fraction(1)), (2, Fraction(1, 2)), (3, Fraction(2))):
        pairs = [(a, b) for a in range(1 << length) for b in range(1 << length) if a != b]
        yield Tiny(PrefixSearch(epsilon=epsilon, length=length), pairs)


CARD = Card(
    title="Common values among 2**64, found by their prefixes",
    theorem="(epsilon, 0) for each report towards everybody; all values above error(beta) are found",
    reference="[BNST20] Section 3",
    example=lambda: (PrefixSearch(epsilon=4, length=16, people=100_000), 3),
    tiny=_tiny,
)
"""What the catalogue knows of it."""
