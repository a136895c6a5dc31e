"""What all faces for scikit-learn share: declared columns, a budget that clones share, and how rows are read.

Nothing that data hold decides whether a fit fails, or with which words: the shape and the declared type of
the whole are looked at, entries are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from discreet.accounting.deltas import read_delta
from discreet.accounting.filters import Filter
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.core.guarantee import Guarantee
from discreet.core.mechanism import Mechanism, Release
from discreet.core.neighbours import Neighbours
from discreet.core.rng import Rng
from discreet.learning.declared import Choices, Declared, count_columns, read_columns
from discreet.learning.estimators.private_table import (
    HoldsRows,
    choose_names,
    read_private,
    require_rows_of,
)
from discreet.mechanisms.reading import type_name

BY_HAND = "If it is meant, release by the mechanism of the learner's page: there it is a number of a theorem"


class DeclaredEstimator(BaseEstimator):
    """An estimator of declared columns.

    Clones have the same `budget`, not a copy: cross-validation and searches spend it fit by fit, and fits are
    refused where it is spent. It pays for fits alone: scores of private rows are exact, and no guarantee
    covers them.
    """

    delta: checks.Number
    columns: Any
    budget: Filter | None
    neighbours: Neighbours
    guarantee_: Guarantee | None

    def __sklearn_clone__(self) -> Self:
        """Return an estimator that is not fitted; the budget is shared."""
        given = self.get_params(deep=False)
        return type(self)(
            **{name: value if name == "budget" else clone(value, safe=False) for name, value in given.items()}
        )

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn may expect."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.non_deterministic = True
        tags.target_tags.required = True
        return tags

    def _read_data(self, X: Any, y: Any) -> tuple[Array, Array]:  # noqa: N803 - scikit-learn's name
        """Return the rows to fit and their targets: of what holds both, or of a private table's columns."""
        read_delta(self.delta, way_out=BY_HAND)
        if not isinstance(X, HoldsRows):
            rows = self._read_rows(X, fitting=True)
            return rows, self._read_target(y, rows)
        names = choose_names(X, y, self.columns)
        require_rows_of(X, self.neighbours)
        self.feature_names_in_, self.n_features_in_ = np.array(names, dtype=object), len(names)
        self._declare()  # whatever is wrong with the declarations is said before a row is read
        return read_private(X, names, y)

    def _read_rows(self, X: Any, *, fitting: bool) -> Array:  # noqa: N803 - scikit-learn's name
        """Return the rows as an array of numbers, text or objects."""
        if is_frame(X):
            rows = read_frame("X", X)
            validate_data(self, X, reset=fitting, skip_check_array=True)  # its names
            return rows
        listed = is_list(X)
        if listed and fitting:
            X = _read_declared(X, count_columns(self.columns))  # noqa: N806
        elif listed:
            X = _read_equal(X)  # noqa: N806
        found: Array = validate_data(
            self, _read_table(X), reset=fitting, dtype=None, ensure_all_finite=False, ensure_min_samples=0
        )
        return _require_kind("X", found)

    def _read_target(self, y: Any, rows: Array) -> Array:
        if y is None:
            raise InvalidParameter(
                name="y", rule="given: fitting requires y to be passed, but the target y is None", got="None"
            )
        if is_list(y):
            listed = _list_objects(y)
        elif is_frame(y):
            listed = read_frame("y", y)
        else:
            listed = _read_series("y", y) if _is_made_by_frames(y) else _read_array("y", y)
        # Scikit-learn's refusal says how many rows there are.
        if listed.ndim != 1 and listed.shape[1:] != (1,):
            raise InvalidParameter(
                name="y", rule="a 1d array of targets", got="another shape", hint="Pass one column"
            )
        target: Array = column_or_1d(_require_kind("y", listed), warn=True)
        if len(rows) != len(target):
            raise InvalidParameter(name="y", rule="as many targets as X has samples", got="another number")
        return target

    def _list_names(self) -> list[Any]:
        return list(getattr(self, "feature_names_in_", range(self.n_features_in_)))

    def _declare(self) -> tuple[Declared, ...]:
        return read_columns(self.columns, self._list_names())

    def _release(self, mechanism: Mechanism[Any, Any], data: Any, rng: Rng) -> Release[Any]:
        """Charge the budget, then release."""
        checks.instance(Rng, rng=rng)
        if self.budget is not None:
            checks.instance(Filter, budget=self.budget).spend(mechanism)
        made = mechanism.release(data, rng=rng)
        self.guarantee_ = made.guarantee
        self.unsafe_seeded_ = made.unsafe_seeded
        return made

    def _require_fit(self) -> None:
        check_is_fitted(self, "guarantee_")


def is_list(given: Any) -> bool:
    """Tell what has entries but no shape: a list, a tuple, or any other sequence that is not text."""
    kind = type(given)
    return issubclass(kind, Sequence) and not issubclass(kind, str | bytes | bytearray | memoryview)


def _read_declared(rows: Sequence[Any], width: int | None) -> Array:
    """Return a list of rows to fit, read entry by entry, as a table of as many columns as were declared.

    A row of another length, or that is none, is missing in all columns. NumPy would look for one shape and
    one type for all of them, and refuse them all, or turn every number into text, for the sake of one.
    """
    if width is None:
        raise InvalidParameter(
            name="columns",
            rule="a declaration for each column where X is a list: its rows do not say how many there are",
            got="one for all",
            hint="Pass a list of declarations, or an array as X",
        )
    listed = [_list_row(row) for row in rows]
    return _stack([row if len(row) == width else [None] * width for row in listed], width)


def _read_equal(rows: Sequence[Any]) -> Array:
    """Return a list of rows to foretell, all of one length: what is foretold is no release."""
    listed = [_list_row(row) for row in rows]
    widths = {len(row) for row in listed}
    if len(widths) != 1 or widths == {0}:
        raise InvalidParameter(name="X", rule="a list of rows of one length", got="something else")
    return _stack(listed, widths.pop())


def _stack(rows: list[list[Any]], width: int) -> Array:
    table = np.empty((len(rows), width), dtype=object)
    for place, row in enumerate(rows):
        table[place] = _list_objects(row)
    return table


def _list_row(row: Any) -> list[Any]:
    """Return the entries of a row of a list; nothing where it is none, or fails to be read.

    What is stored is taken: no method of a class derived from a list is called, which may look at other rows.
    """
    kind = type(row)
    try:
        if issubclass(kind, np.ndarray):
            entries = _read_array("X", row)
            return list(entries.tolist()) if entries.ndim == 1 else []
        for each in (list, tuple):
            if issubclass(kind, each):
                return list(each.__iter__(row))
    except Exception:  # what goes wrong is about this row
        return []
    return []


def _read_table(table: Any) -> Any:
    """Return a table of a shape and a type that scikit-learn takes: its own refusals quote the array."""
    table = _read_array("X", table)
    if table.ndim != 2:
        raise InvalidParameter(
            name="X",
            rule="a 2D array of rows and columns",
            got=f"{table.ndim} dimensions",
            hint="Reshape your data: reshape(-1, 1) for one column, reshape(1, -1) for one row",
        )
    if not table.shape[1]:  # as above: its refusal says how many rows there are
        raise InvalidParameter(name="X", rule="an array of at least one column", got="none")
    return _require_kind("X", table)


def is_frame(table: Any) -> bool:
    """Tell a data frame of pandas or polars, which scikit-learn knows, from what only looks like one."""
    # A shape first: a lazy frame has none, and would be worked out for the others.
    return _is_made_by_frames(table) and all(hasattr(table, name) for name in ("shape", "dtypes", "columns"))


def _is_made_by_frames(given: Any) -> bool:
    makers = {each.__module__.partition(".")[0] for each in type(given).__mro__}
    return bool(makers & {"pandas", "polars"})


def read_frame(name: str, frame: Any) -> Array:
    """Return a data frame as an array whose type follows from the declared types of its columns alone."""
    width = frame.shape[1]
    if not width:
        raise InvalidParameter(name=name, rule="a frame of at least one column", got="none")
    listed = [frame.iloc[:, place] for place in range(width)] if hasattr(frame, "iloc") else list(frame)
    columns = [_read_series(name, column) for column in listed]
    kinds = [column.dtype for column in columns]
    if any(kind.kind == "c" for kind in kinds):
        raise _refuse_complex(name)
    made = np.empty(frame.shape, dtype=_find_common(kinds))
    for place, column in enumerate(columns):
        made[:, place] = column
    return made


def _find_common(kinds: list[np.dtype[Any]]) -> np.dtype[Any]:
    """Return a type that holds entries of all these types as they are.

    A column is one of floats where a single entry is missing, and must not make floats of another one.
    """
    if all(kind.kind in "iufb" for kind in kinds):
        common = np.result_type(*kinds)
        if common.kind != "f" or all(kind.kind not in "iu" or kind.itemsize < 8 for kind in kinds):
            return common
    return np.dtype(object)


def _read_series(name: str, column: Any) -> Array:
    """Return a column as an array, entry by entry where one missing entry would make NumPy round all others.

    Whole numbers of 64 bits become floats then, and names that are such numbers would no longer be known.
    """
    declared: Any = getattr(column, "dtype", None)
    plain = isinstance(declared, np.dtype) and declared.kind not in "mM"
    if plain or (hasattr(declared, "is_float") and declared.is_float()):
        return _read_array(name, column)
    return _list_objects(list(column))


def _read_array(name: str, given: Any) -> Array:
    """Return a container as an array. One that fails to be read says nothing of what it holds."""
    if scipy.sparse.issparse(given):
        raise InvalidParameter(
            name=name, rule="dense", got="a sparse matrix", hint="Call its toarray() method"
        )
    try:
        if isinstance(given, np.ma.MaskedArray):
            entries = np.array(given, dtype=object)
            entries[np.ma.getmaskarray(given)] = None  # what is masked is missing
            return entries
        return np.asarray(given)
    except Exception:
        kind = type(given).__name__
    raise InvalidParameter(name=name, rule="what NumPy makes an array of", got=f"a {kind}")


def _list_objects(entries: Any) -> Array:
    """Return what is listed as objects, whatever it is; what is no list is one entry, without a length."""
    listed = list(entries) if is_list(entries) else None
    made = np.empty(() if listed is None else len(listed), dtype=object)
    for place, entry in enumerate(listed or ()):
        made[place] = entry
    return made


def _require_kind(name: str, array: Array) -> Array:
    if array.dtype.kind == "c":
        raise _refuse_complex(name)
    if array.dtype.kind not in "iufbOUST":
        raise InvalidParameter(
            name=name,
            rule="numbers, text or objects",
            got=f"type {type_name(array)}",
            hint="Convert it first",
        )
    return array


def _refuse_complex(name: str) -> InvalidParameter:
    return InvalidParameter(name=name, rule="real: Complex data not supported", got="complex numbers")


_NUMBERS = (bool, int, float, np.bool_, np.number)


def as_labels(classes: tuple[Any, ...]) -> Array:
    """Return declared labels as scikit-learn keeps them: an array of their own type, or of any objects."""
    alike = any(all(isinstance(each, kind) for each in classes) for kind in (str, _NUMBERS))
    return np.array(classes) if alike else _list_objects(classes)


def read_labels(classes: Any, *, most: int = 2) -> Choices:
    """Return the declared labels, two of them or more."""
    labels = Choices(classes)
    if not 2 <= len(labels.values) <= most:
        raise InvalidParameter(
            name="classes",
            rule="two labels" if most == 2 else f"two to {most} labels",
            got=f"{len(labels.values)} of them",
            hint="AdditiveClassifier takes more than two" if most == 2 else "",
        )
    return labels
