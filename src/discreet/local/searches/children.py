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
        hashes = self._hash(prefixes, self.level + 1, np.arange(self.kernel.cells))
        return np.array([int((hashed == self.cells).sum()) for hashed in hashes], dtype=np.int64)

    def count_children(self, parents: Words) -> Any:
        """Yield for each parent, a prefix one level shorter, how many reports agree with each child.

        With the reports' cells less the parent's hash, c, and the vectors of this level's block, v, child s
        agrees where c = <v, s>. The numbers of such reports are sums over characters of the cells, each of
        which is a transform over the vectors, read at a multiple of s. Rounded, they are right.
        """
        kernel, half = self.kernel, (self.kernel.cells - 1) // 2
        shape, size = (kernel.cells,) * kernel.digits(self.level), kernel.vectors(self.level)
        cells = np.arange(2 * kernel.cells if self.level else kernel.cells)  # the hash is taken off unreduced
        angles = np.outer(np.arange(1, half + 1), cells) * (2 * np.pi / kernel.cells)
        turns = np.concatenate([np.cos(angles), -np.sin(angles)]) if half else [1.0 - 2.0 * (cells % 2)]
        turns = np.asarray(turns, dtype=np.float32)
        places = [self._multiply_children(-power) for power in range(1, half + 1)]
        own = self.cells * size + self.vectors[:, self.level]
        for back in self._hash(parents, self.level, (kernel.cells - np.arange(kernel.cells)) * size):
            seen = np.bincount(own + back, minlength=cells.size * size).astype(np.float32)
            waves = turns @ seen.reshape(cells.size, size)
            if not half:
                turned = fft.fftn(waves[0].reshape(shape)).real.reshape(-1)
                yield (len(self) + turned[: 1 << kernel.width_of(self.level)]) / 2
                continue
            sums = np.full(len(places[0]), float(len(self)))
            for power, place in enumerate(places):
                wave = (waves[power] + 1j * waves[half + power]).reshape(shape)
                sums += 2 * fft.fftn(wave, overwrite_x=True).reshape(-1)[place].real
            yield sums / kernel.cells

    def _multiply_children(self, factor: int) -> NDArray[np.int64]:
        """Return every block of this level times a factor, digit by digit."""
        kernel, count = self.kernel, self.kernel.digits(self.level)
        blocks = np.arange(1 << kernel.width_of(self.level), dtype=np.int64)
        digits = split_digits(blocks, kernel.cells, count)
        return join_digits([factor * digit % kernel.cells for digit in digits], kernel.cells)

    def _hash(self, prefixes: Words, blocks: int, means: NDArray[np.int64]) -> Any:
        """Yield for each prefix of so many blocks what its cell under each report's vectors means."""
        kernel = self.kernel
        if not blocks:
            yield from (np.int64(0) for _ in prefixes)
            return
        columns = [
            split_digits(self.vectors[:, each], kernel.cells, kernel.digits(each)) for each in range(blocks)
        ]
        left = np.stack([digit for block in columns for digit in block], axis=1).astype(np.float32)
        meant = means.take(np.arange(left.shape[1] * kernel.cells**2) % kernel.cells)
        for start in range(0, len(prefixes), _BATCH):
            some = prefixes[start : start + _BATCH]
            right = [
                digit
                for block in range(blocks)
                for digit in split_digits(self._cut(some, block, blocks), kernel.cells, kernel.digits(block))
            ]
            products = np.stack(right).astype(np.float32).T @ left.T  # whole numbers below 2**24: exact
            for product in products.astype(np.int32):
                yield meant.take(product, mode="clip")

    def _cut(self, prefixes: Words, block: int, blocks: int) -> NDArray[np.int64]:
        """Return one block of prefixes that have so many."""
        kernel = self.kernel
        after = sum(kernel.width_of(each) for each in range(block + 1, blocks))
        mask = np.uint64((1 << kernel.width_of(block)) - 1)
        return ((prefixes >> np.uint64(after)) & mask).astype(np.int64)


_BATCH = 16  # prefixes that are hashed at a time
