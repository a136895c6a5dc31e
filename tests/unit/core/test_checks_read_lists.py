import numpy as np
import pytest

from discreet.accounting.composition import compose
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.loss import PureLoss
from discreet.mechanisms.exponential import Exponential


@pytest.mark.parametrize("counts", [b"1", "1", bytearray(b"1"), memoryview(b"1")])
def test_text_and_bytes_are_no_lists_of_numbers(counts):
    """The members of b"1" are the number 49: compose would count 49 runs."""
    with pytest.raises(InvalidParameter, match=r"counts must be (a list|an integer)"):
        compose(PureLoss(1), counts=counts)
    with pytest.raises(InvalidParameter, match="base must be a list, got a"):
        Exponential(sensitivity=1, epsilon=1, size=1, base=counts)
    assert compose(PureLoss(1), counts=2).loss.epsilon(0) == 2


def test_lists_of_every_kind_are_read():
    for given in ([1, 2], (1, 2), np.array([1, 2]), iter([1, 2]), range(1, 3)):
        assert checks.several(given=given) == (1, 2)
    with pytest.raises(InvalidParameter, match="given must be a list, got a int"):
        checks.several(given=3)
