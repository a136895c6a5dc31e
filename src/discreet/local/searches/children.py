"""How many reports agree with every string that begins in a given way, by Fourier transforms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from discreet.local.frequencies.vectors import join_digits, split_digits
from discreet.local.laws.prefixes import PrefixKernel

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LevelReports:
    """The reports of one level.

    Attributes
    ----------
    kernel, level
        The table, and which of its levels.
    cells
        What each report names.
    vectors
        A row for each report: the vector of each block.
    """

    kernel: PrefixKernel
    level: int
    cells: NDArray[np.int64]
    vectors: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.cells)

    def count_matches(self, prefixes: Words) -> NDArray[np.int64]:
        """Return how many reports agree with each prefix of this level's length, exactly."""
        hashes = self._hash(prefixes, self.level + 1)
        return np.array([int((hashed == self.cells).sum()) for hashed in hashes], dtype=np.int64)

    def count_children(self, parents: Words) -> Any:
        """Yield for each parent, a prefix one level shorter, how many reports agree with each child.

        With the reports' cells less the parent's hash, c, and the vectors of this level's block, v, child s
        agrees where c = <v, s>. The numbers of such reports are sums over characters of the cells, each of
        which is a transform over the vectors, read at a multiple of s. Rounded, they are right.
        """
        kernel, half = self.kernel, (self.kernel.cells - 1) // 2
        turns = np.outer(np.arange(1, half + 1), np.arange(kernel.cells)) * (-2j * np.pi / kernel.cells)
        waves = np.exp(turns).astype(np.complex64)
        shape = (kernel.cells,) * kernel.digits
        places = [self._multiply_children(-power) for power in range(1, half + 1)]
        own, even = self.vectors[:, self.level], kernel.cells == 2
        for hashed in self._hash(parents, self.level):
            cells = self.cells - hashed
            cells += kernel.cells * (cells < 0)
            seen = np.bincount(cells * kernel.vectors + own, minlength=kernel.table)
            seen = seen.reshape(kernel.cells, -1).astype(np.float32)
            if even:
                turned = fft.fftn((seen[0] - seen[1]).reshape(shape)).real.reshape(-1)
                yield (len(self) + turned[: 1 << kernel.width_of(self.level)]) / 2
                continue
            sums = np.full(len(places[0]), float(len(self)))
            for wave, place in zip(waves @ seen, places, strict=True):
                sums += 2 * fft.fftn(wave.reshape(shape)).reshape(-1)[place].real
            yield sums / kernel.cells

    def _multiply_children(self, factor: int) -> NDArray[np.int64]:
        """Return every block of this level times a factor, digit by digit."""
        kernel = self.kernel
        blocks = np.arange(1 << kernel.width_of(self.level), dtype=np.int64)
        digits = split_digits(blocks, kernel.cells, kernel.digits)
        return join_digits([factor * digit % kernel.cells for digit in digits], kernel.cells)

    def _hash(self, prefixes: Words, blocks: int) -> Any:
        """Yield for each prefix of so many blocks its cell under each report's vectors."""
        kernel = self.kernel
        if not blocks:
            yield from (np.zeros(len(self), dtype=np.int64) for _ in prefixes)
            return
        columns = [split_digits(self.vectors[:, each], kernel.cells, kernel.digits) for each in range(blocks)]
        left = np.stack([digit for block in columns for digit in block], axis=1).astype(np.float32)
        remainders = np.arange(left.shape[1] * kernel.cells**2, dtype=np.int64) % kernel.cells
        for start in range(0, len(prefixes), _BATCH):
            some = prefixes[start : start + _BATCH]
            right = [
                digit
                for block in range(blocks)
                for digit in split_digits(self._cut(some, block, blocks), kernel.cells, kernel.digits)
            ]
            products = np.stack(right).astype(np.float32).T @ left.T  # whole numbers below 2**24: exact
            yield from remainders.take(products.astype(np.int64))

    def _cut(self, prefixes: Words, block: int, blocks: int) -> NDArray[np.int64]:
        """Return one block of prefixes that have so many."""
        kernel = self.kernel
        after = sum(kernel.width_of(each) for each in range(block + 1, blocks))
        mask = np.uint64((1 << kernel.width_of(block)) - 1)
        return ((prefixes >> np.uint64(after)) & mask).astype(np.int64)


_BATCH = 16  # prefixes that are hashed at a time
