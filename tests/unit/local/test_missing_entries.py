"""Nobody's missing entry changes how others are read, whatever holds them; it counts as nothing does."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import local
from discreet.local.batches import read_column
from discreet.local.laws.domains import BitStrings, Domain, Span, ValueNames, make_scalar
from discreet.queries import Universe

DOMAINS = (
    ValueNames.of(5),
    ValueNames.of([3, 0, 7]),
    Span(Fraction(10), Fraction(30), 4),
    BitStrings(8, 3),
)
HOLDERS = {
    "list": list,
    "objects": lambda entries: np.array(entries, dtype=object),
    "masked": lambda entries: np.ma.MaskedArray(
        [each or 0 for each in entries], mask=[each is None for each in entries]
    ),
    "pandas": pd.Series,  # which makes floats of whole numbers where one is missing
    "nullable": lambda entries: pd.Series(entries, dtype="Float64"),
    "Arrow's in pandas": lambda entries: pd.Series(entries, dtype="double[pyarrow]"),
    "polars": pl.Series,
    "polars' floats": lambda entries: pl.Series(entries, dtype=pl.Float64),
    "Arrow": pa.array,
    "Arrow's floats": lambda entries: pa.array(entries, type=pa.float64()),
    "Arrow's chunks": lambda entries: pa.chunked_array([pa.array(entries[:2]), pa.array(entries[2:])]),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_a_missing_entry_changes_how_no_other_is_read(holder: str, domain: Domain) -> None:
    entries = [0, 1, 2, 3, 7, 20, -1]
    whole = [domain.read(each) for each in entries]
    assert read_column(domain, HOLDERS[holder](entries)).tolist() == whole
    assert read_column(domain, HOLDERS[holder]([*entries, None])).tolist() == [*whole, domain.read(None)]


def test_a_missing_entry_of_a_frame_of_records_changes_how_no_other_is_read() -> None:
    habits = Universe([("smokes", (0, 1)), ("ill", (0, 1))])
    domain = local.FourierMarginals(epsilon=1, universe=habits, width=2).values
    frame = pd.DataFrame({"smokes": [0, 1, 1, None], "ill": [0, 1, 0, 1]})
    assert read_column(domain, frame).tolist() == [0, 3, 1, 2]


def test_masked_coordinates_count_as_the_middle() -> None:
    domain = local.ManyMeans(epsilon=1, lower=0, upper=10, dimensions=2, steps=10).values
    rows = np.ma.MaskedArray([[0, 1], [2, 3]], mask=[[0, 1], [0, 0]])
    assert read_column(domain, rows).tolist() == [[0, 5], [2, 3]]
    assert domain.read_each([np.ma.masked, 1]) == [5, 1]


class SaysNumPy:
    """Says that it is of NumPy, and raises."""

    __module__ = "numpy"
    ndim = 0

    def item(self) -> object:
        """Tell of a person."""
        raise RuntimeError("this person")


@pytest.mark.parametrize(
    "survey",
    [
        local.DirectResponse(epsilon=1, domain=3),
        local.HybridMean(epsilon=1, lower=0, upper=1),
        local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=2),
        local.FourierMarginals(epsilon=1, universe=Universe([("a", (0, 1)), ("b", (0, 1))]), width=1),
    ],
    ids=lambda survey: survey.kind,
)
def test_what_says_that_it_is_numpys_is_asked_nothing(survey: local.DirectResponse) -> None:
    for value in (SaysNumPy(), [SaysNumPy(), SaysNumPy()]):
        assert len(survey.encode_many([value])) == 1
        with local.LocalOracle(epsilon=1, people=1).open([value]) as crowd:
            crowd.ask(survey, person=0)
    records = survey.kind in ("many-means", "fourier-marginals")
    survey.encode([SaysNumPy()] * 2 if records else SaysNumPy())


class NoClass:
    """Raises when it is asked for its class."""

    @property
    def __class__(self) -> type:
        """Tell of a person."""
        raise RuntimeError("this person")


def test_one_value_is_not_asked_for_its_class_at_the_door() -> None:
    universe = Universe([("a", (0, 1)), ("b", (0, 1))])
    assert local.FourierMarginals(epsilon=1, universe=universe, width=1).encode(NoClass()).payload
    assert local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=2).encode(NoClass()).payload


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_an_odd_entry_of_a_column_of_objects_raises_nothing(domain: Domain) -> None:
    """Whether one is missing is not asked where it shows: pandas raises over a signalling NaN."""
    entries = [3, Decimal("sNaN"), None, float("nan"), pd.NA, pd.NaT, SaysNumPy(), 0]
    column = pd.Series(entries, dtype=object)
    none = domain.read(None)
    assert read_column(domain, column).tolist() == [domain.read(3), *[none] * 6, domain.read(0)]


NUMBERS = {
    "signalling": np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64),
    "signalling and short": np.array([0x7F800001], dtype=np.uint32).view(np.float32),
    "long and large": np.array([np.longdouble("1e4000"), -np.longdouble("1e4000")]),
    "long": np.array([3, 20, np.nan], dtype=np.longdouble),
    "large": np.array([1e308, -1e308, 5e-324, np.inf]),
    "short": np.array([65504, 3, 0], dtype=np.float16),
}


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize(
    "domain", [*DOMAINS, Span(Fraction(0), Fraction(1, 10**310), 2)], ids=lambda d: repr(d)[:40]
)
def test_no_number_makes_an_array_warn_or_is_read_otherwise_alone(numbers: str, domain: Domain) -> None:
    """A warning tells of the number that it is about, and is an error where somebody made it one."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        whole = read_column(domain, NUMBERS[numbers]).tolist()
        assert whole == read_column(domain, list(NUMBERS[numbers])).tolist()
        assert whole == [domain.read(make_scalar(each)) for each in NUMBERS[numbers]]


@pytest.mark.parametrize("lower", [0, 10**20, Fraction(2**60, 3), 10**320])
def test_ranges_that_floats_cannot_hold_are_read_exactly(lower: Fraction) -> None:
    span = Span(Fraction(lower), Fraction(lower) + 10, 10)
    whole = [10**17, 2**60, 3, 2**62]
    assert read_column(span, np.array(whole)).tolist() == [span.read(each) for each in whole]
