"""No number in an array makes NumPy warn, or raise: whoever reads the log would learn of it."""

import contextlib
import warnings

import numpy as np
import pytest

from discreet.catalogue import catalogue
from discreet.core.errors import InvalidParameter
from discreet.testing import unsafe_seeded

ODD = {
    "signalling": np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64),
    "signalling and short": np.array([0x7F800001], dtype=np.uint32).view(np.float32),
    "long": np.array([np.longdouble("1e4000")]),
    "large": np.array([1e308]),
    "small": np.array([5e-324]),
}


def list_numbers(data):
    """Return an example's data as an array of numbers, or nothing."""
    if not isinstance(data, list | tuple | np.ndarray):
        return None
    try:
        numbers = np.asarray(data)
    except ValueError:  # rows of several lengths
        return None
    return numbers if numbers.dtype.kind in "iuf" and 0 < numbers.size <= 10_000 else None


def begin(mechanism, data):
    """Return what this raises, as a type, and nothing where it does not."""
    start = mechanism.release if hasattr(mechanism, "release") else mechanism.open
    try:
        start(data, rng=unsafe_seeded(1))
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_number_of_an_array_is_not_told_of(odd):
    """It was, by nine mechanisms: by a warning, or an error where somebody asked NumPy for errors."""
    met, told = 0, []
    for card in catalogue():
        mechanism, data = card.example()
        if (numbers := list_numbers(data)) is None:
            continue
        plain = np.array(numbers, dtype=ODD[odd].dtype, order="C")
        changed = plain.copy()
        changed.reshape(-1)[:1].view(np.uint8)[:] = ODD[odd].view(np.uint8)  # a float would be quiet
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            outcomes = [begin(mechanism, each) for each in (plain, changed)]
        met += outcomes[0] is None
        if outcomes[0] is not outcomes[1]:
            told.append((card.name, *outcomes))
    assert met >= 20
    assert told == []


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_number_that_is_pushed_is_not_told_of(odd):
    met = 0
    for card in catalogue():
        mechanism, _ = card.example()
        if not (hasattr(mechanism, "open") and card.name.endswith(("stream", "counter", "density"))):
            continue
        with warnings.catch_warnings(), mechanism.open(rng=unsafe_seeded(1)) as opened:
            warnings.simplefilter("error")
            if hasattr(opened, "push_many"):
                met += 1
                with contextlib.suppress(InvalidParameter):  # floats may be refused by their type
                    opened.push_many(np.repeat(ODD[odd], 2))
    assert met >= 8
