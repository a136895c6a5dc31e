"""From short prefixes to long ones: which to follow, and what the reports say of those at the end."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.core import checks
from discreet.core.fixed import fix_array
from discreet.local.searches.agreement import Agreement
from discreet.local.searches.children import Floats, LevelReports, Words

if TYPE_CHECKING:
    from discreet.local.searches.prefix_search import PrefixSearch

_SHOWN = 8
_CHILDREN = 64  # of one parent that are looked at, the best first, besides those that are certain
_DOUBT = 2.0  # standard deviations of one level by which one may look less common than another and be it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FoundValues:
    """Values that many people hold, the most common first.

    Attributes
    ----------
    survey
        The protocol, with the number of people who reported.
    values
        Whole numbers; `texts` reads them as text.
    counts
        How many people hold each. Who begins with the same bits, after mixing, counts in part: other values
        do with probability 2 / 2**step at most.
    standard_errors
        The standard deviation of each count.
    """

    survey: PrefixSearch
    values: tuple[int, ...]
    counts: Floats
    standard_errors: Floats

    @property
    def people(self) -> int:
        """How many reports there were."""
        return self.survey.people

    @property
    def shares(self) -> Floats:
        """The same as shares of all people."""
        return self.counts / self.people

    @property
    def texts(self) -> list[str]:
        """The values as texts; what is none is shown as what it can be."""
        bits = self.survey.length
        size = bits // 8
        return [
            (value >> (bits - 8 * size)).to_bytes(size, "big").rstrip(b"\0").decode(errors="backslashreplace")
            for value in self.values
        ]

    def error(self, beta: checks.Number) -> float:
        """Return how many people make a value that is found for sure, but for a probability beta."""
        return self.survey.error(beta)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        found = zip(self.values, self.texts, self.counts, self.standard_errors, strict=True)
        shown = ", ".join(
            f"{repr(text) if text and text.isprintable() else value}: {count:.6g} ({error:.3g})"
            for value, text, count, error in list(found)[:_SHOWN]
        )
        more = ", ..." if len(self) > _SHOWN else ""
        return f"{{{shown}{more}}} (standard errors), {self.people} reports, each {self.survey.words}"


@dataclass(frozen=True, slots=True, eq=False)
class Beginnings:
    """What one level saw of some prefixes: how much that weighs, what it was, and which value has which."""

    weight: float
    seen: Floats
    which: NDArray[np.int64]

    def spread(self, left: NDArray[np.int64]) -> Floats:
        """Return a row for each prefix, with the level's weight at the values that have it."""
        rows: Floats = self.weight * (np.arange(len(self.seen))[:, None] == self.which[left])
        return rows


@dataclass(frozen=True, slots=True)
class Descent:
    """A search through all levels.

    Attributes
    ----------
    agreement
        What reports say.
    people, share, beta
        How many reported, what is looked for, and how likely it may be missed.
    sure
        An estimate from one level that is followed in any case.
    width
        How many values are told apart at the end, at most: no more are found for sure.
    beam
        How many prefixes are followed at most.
    """

    agreement: Agreement
    people: int
    share: float
    beta: float
    sure: float
    width: int
    beam: int

    def search(self, levels: list[LevelReports]) -> tuple[Words, Floats]:
        """Return the values that are common, and their counts, the most common first."""
        prefixes, masses = np.zeros(1, dtype=np.uint64), np.full(1, float(self.people))
        hope = self._least(*range(len(levels))) > 0  # or else nothing tells a common value from none
        for reports in levels:
            last = reports.level + 1 == len(levels)
            most = self.width if last or not hope else max(self.width, self.beam >> 2 * reports.level)
            prefixes, masses = self._follow(prefixes, masses, reports, most)
        return self._fit(prefixes, levels)

    def deviations(self, counts: Floats) -> Floats:
        """Return the standard deviations of counts that all levels agree on."""
        held = np.clip(counts, 0, self.people)
        spread = self.people * float(self.agreement.spread) + held * float(self.agreement.more - 1)
        return fix_array(np.sqrt(spread))

    def _follow(
        self, parents: Words, masses: Floats, reports: LevelReports, most: int
    ) -> tuple[Words, Floats]:
        """Return the best children of all parents, and what is known of how many people each stands for."""
        width = np.uint64(reports.kernel.width_of(reports.level))
        found: list[tuple[bool, float, int]] = []
        for parent, mass, matches in zip(parents, masses, reports.count_children(parents), strict=True):
            seen = self._estimate(matches, reports)
            first = int(parent << width)
            found += [(sure, held, first + child) for sure, held, child in self._pick(mass, seen, reports)]
        found.sort(key=lambda each: (not each[0], -each[1], each[2]))
        kept = found[:most]
        return np.array([each[2] for each in kept], dtype=np.uint64), np.array([each[1] for each in kept])

    def _pick(self, mass: float, seen: Floats, reports: LevelReports) -> list[tuple[bool, float, int]]:
        """Return children that may be common: whether for sure, how many people, and which.

        What earlier levels saw of the parent is shared out, the most common child first: the others cannot
        have more than is left. A child takes nothing from those that may look less common by chance alone.
        """
        level, shares = reports.level, [float(share) for share in self.agreement.shares]
        alone, together = self._least(level), self._least(*range(level + 1))
        doubt = _DOUBT * self._stray(level)
        before, now = sum(shares[:level]), shares[level]
        certain = max(self.sure, alone)
        most = max(_CHILDREN if level else self.beam, int((seen >= certain).sum()))
        likely = np.flatnonzero(seen >= alone)
        likely = likely[np.argsort(-seen[likely], kind="stable")][:most]
        left, picked, owned = mass, [], deque[float]()
        for child in likely:
            own = float(seen[child])
            while owned and owned[0] > own + doubt:
                left -= owned.popleft()
            held, sure = (before * left + now * own) / (before + now), own >= certain
            if sure or held >= together:
                picked.append((sure, held, int(child)))
                owned.append(own)
        return picked

    def _fit(self, places: Words, levels: list[LevelReports]) -> tuple[Words, Floats]:
        """Return the values whose counts are large enough, fitted to what all levels saw of prefixes.

        The least one is left out, and what it stood for goes to those that begin alike, until all are enough.
        """
        every = range(len(levels))
        parts = [self._see(places, reports) for reports in levels]
        own = parts[-1].seen[parts[-1].which]
        sure = own >= max(self.sure, self._least(every[-1]))
        enough = max(self._least(*every), self._nobody(levels[0].kernel.length, *every))
        left = np.arange(len(places))
        fitted = np.zeros(0)
        while len(left):
            matrix = np.concatenate([part.spread(left) for part in parts])
            seen = np.concatenate([part.weight * part.seen for part in parts])
            fitted = np.linalg.lstsq(matrix, seen, rcond=None)[0]
            least = int(np.argmin(np.where(sure[left], np.inf, fitted)))
            if sure[left[least]] or fitted[least] >= enough:
                break
            left = np.delete(left, least)
        order = np.argsort(-fitted[: len(left)], kind="stable")
        return places[left][order], fix_array(fitted[: len(left)][order])

    def _see(self, places: Words, reports: LevelReports) -> Beginnings:
        """Return what one level saw of the beginnings of values."""
        kernel = reports.kernel
        ends = kernel.begin(reports.level) + kernel.width_of(reports.level)
        shared, which = np.unique(places >> np.uint64(kernel.length - ends), return_inverse=True)
        seen = self._estimate(reports.count_matches(shared), reports)
        return Beginnings(math.sqrt(self.agreement.shares[reports.level]), seen, which)

    def _estimate(self, matches: Any, reports: LevelReports) -> Floats:
        """Return how many people one level's matches stand for."""
        agreement = self.agreement
        scale = float(agreement.contrast * agreement.shares[reports.level])
        unbiased: Floats = (matches - len(reports) * float(agreement.no)) / scale
        return unbiased

    def _least(self, *levels: int) -> float:
        """Return what a value that is common enough is estimated at, at least, by these levels.

        But for half of beta, for all levels and all the values that so many people hold.
        """
        held = self.share * self.people
        log = math.log(2 * len(self.agreement.shares) / (self.share * self.beta))
        return held - self.agreement.stray(self.people, held, log, *levels)

    def _nobody(self, bits: int, *levels: int) -> float:
        """Return what no value that nobody holds, of 2**bits, is estimated at by these levels: nearly.

        It is the tail of the normal law, and no claim rests on it.
        """
        return -float(special.ndtri(self.beta / 2.0**bits)) * self._stray(*levels)

    def _stray(self, *levels: int) -> float:
        """Return the standard deviation of what these levels see of a value that nobody holds."""
        part = float(sum(self.agreement.shares[level] for level in levels))
        return math.sqrt(self.people * float(self.agreement.spread) / part)
