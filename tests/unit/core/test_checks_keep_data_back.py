"""A wrong argument may be somebody's data: messages say its type and keep nothing of it."""

import pandas
import pytest

import discreet as dp
from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe

CANARY = "canary-7431"
FRAME = pandas.DataFrame({"name": [CANARY], "age": [31]})
WORKLOAD = Marginals(Universe([("a", (0, 1))]), [["a"]])


def test_data_are_not_quoted():
    with pytest.raises(InvalidParameter) as caught:
        checks.instance(Universe, universe=FRAME)
    assert "a DataFrame" in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.value is None


def test_plain_values_are():
    with pytest.raises(InvalidParameter, match="'three'"):
        checks.instance(Universe, universe="three")


@pytest.mark.parametrize(
    "act",
    [
        lambda: dp.Curator(FRAME, epsilon=1, delta=0),
        lambda: dp.release(FRAME, epsilon=1, delta=0),
        lambda: dp.release((FRAME, WORKLOAD), FRAME, epsilon=1, delta=0),
        lambda: dp.release((WORKLOAD, FRAME), epsilon=1, delta=0),
    ],
)
def test_no_front_door_quotes_data(act):
    with pytest.raises(DiscreetError) as caught:
        act()
    assert CANARY not in str(caught.value) + repr(getattr(caught.value, "value", ""))
