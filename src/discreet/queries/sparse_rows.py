"""A sparse matrix that stays as it is."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy import sparse

from discreet.core.fixed import Fixed, fix_array


class SparseRows(Fixed):
    """The rows of a sparse matrix: three arrays that nobody can write to.

    SciPy's own matrices can be written to, so one is made for each use, around the same memory, and not kept.
    """

    __slots__ = ("data", "indices", "indptr", "shape")
    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    def __init__(self, matrix: sparse.csr_array[Any]) -> None:
        self.data, self.indices, self.indptr = map(fix_array, (matrix.data, matrix.indices, matrix.indptr))
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))

    def matrix(self) -> sparse.csr_array[Any]:
        """Return the matrix to compute with."""
        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)
