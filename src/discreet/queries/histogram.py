"""Counts over a universe: the private side of every linear query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.fixed import Fixed, Integers, fix_array
from discreet.core.sensitive import Sensitive
from discreet.queries.universe import Codes, Universe

MOST = (1 << 62) - 1
"""The most rows a histogram may count, so that no sum of counts can wrap."""


class Histogram(Fixed):
    """How many rows fall into each cell. Sensitive: prints no count, cannot be compared or pickled.

    Dense histograms keep an array over the universe; sparse ones keep the rows of codes that occur and
    their counts, and work for universes of any size. Make one with `dense`, `sparse`, `from_records`
    or `from_groups`, or let a `discreet.data.Table` count itself.

    Attributes
    ----------
    universe
        What the cells are. Public.
    rows_per_unit
        How many rows one protected unit (a person, say) has at most. Public. A guarantee about one row is one
        about the unit only where this is 1.
    """

    __slots__ = ("_codes", "_counts", "rows_per_unit", "universe")

    def __init__(
        self, universe: Universe, counts: Any, codes: Codes | None = None, *, rows_per_unit: int = 1
    ) -> None:
        self.universe = universe
        self.rows_per_unit = checks.integer(1, rows_per_unit=rows_per_unit)
        values = _read_counts(counts)
        if codes is None:
            universe.require_dense()
            if values.shape not in (universe.shape, (universe.size,)):
                rule = f"an array of shape {universe.shape}"
                raise InvalidParameter(name="counts", rule=rule, got="something of another shape")
            values = values.reshape(universe.shape)
        else:
            codes = fix_array(universe.read_codes(codes))
            if values.shape != (len(codes),):
                raise InvalidParameter(name="counts", rule="one count a row of codes", value="(withheld)")
        self._counts = Sensitive(values)
        self._codes = None if codes is None else Sensitive(codes)

    @classmethod
    def dense(cls, universe: Universe, counts: Any) -> Self:
        """Make a histogram from one count a cell."""
        return cls(universe, counts)

    @classmethod
    def sparse(cls, universe: Universe, codes: Any, counts: Any) -> Self:
        """Make a histogram from rows of codes and their counts; a cell that is listed twice adds up."""
        return cls(universe, counts, codes)

    @classmethod
    def from_records(cls, universe: Universe, codes: Any) -> Self:
        """Count rows of codes: into an array where the universe allows one, else as they are."""
        rows = universe.read_codes(codes)
        if universe.is_dense:
            return cls(universe, np.bincount(universe.ravel(rows), minlength=universe.size))
        found, counts = np.unique(rows, axis=0, return_counts=True)
        return cls(universe, counts, found)

    @classmethod
    def from_groups(cls, universe: Universe, groups: Iterable[tuple[Sequence[Any], int]]) -> Self:
        """Take the result of a GROUP BY over the attributes: pairs of a record of values and its count."""
        listed = list(groups)
        codes = np.zeros((len(listed), len(universe.shape)), dtype=np.int64)
        try:
            for row, (record, _) in enumerate(listed):
                codes[row] = [universe.code(axis, value) for axis, value in enumerate(record)]
        except (InvalidParameter, ValueError, IndexError):
            rule = "a list of records of declared values with their counts"
            raise InvalidParameter(name="groups", rule=rule, value="(withheld)") from None
        counts = np.array([count for _, count in listed] or np.zeros(0, dtype=np.int64))
        sparse = cls(universe, counts, codes)
        return sparse.to_dense() if universe.is_dense else sparse

    @property
    def is_dense(self) -> bool:
        """Whether every cell has its own count in memory."""
        return self._codes is None

    @property
    def total(self) -> int:
        """How many rows there are. Private where rows may be added or removed."""
        return int(self._counts.reveal().sum())

    def counts(self) -> Integers:
        """Return the true counts as an array over the universe. Only mechanisms should call this."""
        if self._codes is None:
            return self._counts.reveal()
        self.universe.require_dense()
        result = np.zeros(self.universe.size, dtype=np.int64)
        np.add.at(result, self.universe.ravel(self._codes.reveal()), self._counts.reveal())
        return result.reshape(self.universe.shape)

    def to_dense(self) -> Self:
        """Return the same counts with one for every cell of the universe."""
        if self.is_dense:
            return self
        return type(self)(self.universe, self.counts(), rows_per_unit=self.rows_per_unit)

    def entries(self) -> tuple[Codes, Integers]:
        """Return rows of codes with their true counts. Only mechanisms should call this."""
        if self._codes is not None:
            return self._codes.reveal(), self._counts.reveal()
        flat = self._counts.reveal().reshape(-1)
        cells = np.flatnonzero(flat)
        return self.universe.unravel(cells), flat[cells]

    def marginal(self, names: Iterable[str]) -> Histogram:
        """Sum the other attributes out: the histogram over some of the attributes."""
        axes = self.universe.axes(names)
        whole = len(axes) == len(self.universe.shape)
        smaller = self.universe if whole else Universe(self.universe.attributes[axis] for axis in axes)
        if self._codes is None:
            others = tuple(axis for axis in range(len(self.universe.shape)) if axis not in axes)
            summed = self._counts.reveal().sum(axis=others)
            return Histogram(smaller, summed, rows_per_unit=self.rows_per_unit)
        codes = self._codes.reveal()[:, axes]
        sparse = Histogram(smaller, self._counts.reveal(), codes, rows_per_unit=self.rows_per_unit)
        return sparse.to_dense() if smaller.is_dense else sparse

    def __repr__(self) -> str:
        kind = "dense" if self.is_dense else "sparse"
        return f"Histogram({kind}, {self.universe.size} cells over {', '.join(self.universe.names)})"

    def _refuse(self, *_: Any) -> NoReturn:
        raise DiscreetError("a histogram is sensitive: it cannot be pickled, copied, compared or hashed")

    __reduce__ = __reduce_ex__ = __getstate__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = __bool__ = __iter__ = __len__ = __copy__ = __deepcopy__ = _refuse


def _read_counts(counts: Any) -> Integers:
    values = np.asarray(counts)
    if values.dtype.kind not in "iu":
        kind = values.dtype.type.__name__  # not its width, which is that of the longest text
        raise InvalidParameter(name="counts", rule="an array of whole numbers", got=f"type {kind}")
    # The largest times the number of them bounds the sum without computing one that might wrap.
    small = not values.size or int(values.max()) * values.size <= MOST
    if (values.size and int(values.min()) < 0) or not (small or sum(map(int, values.flat)) <= MOST):
        raise InvalidParameter(name="counts", rule=f">= 0 with a sum of at most {MOST}", value="(withheld)")
    return fix_array(values.astype(np.int64))
