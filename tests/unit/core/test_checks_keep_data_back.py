"""A wrong argument may be somebody's data: messages say its type and keep nothing of it."""

import numpy
import pandas
import pytest

import discreet as dp
from discreet import streams
from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.data import Category
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


@pytest.mark.parametrize("data", [FRAME, FRAME["name"], FRAME["name"].to_numpy(), FRAME["age"].to_numpy()])
@pytest.mark.parametrize(
    "act",
    [
        lambda data: dp.Count(epsilon=data, neighbours=dp.AddRemove("row")),
        lambda data: streams.plan(data, 1, 0, streams.Event()),
        lambda data: Category("name", values=data),
        lambda data: checks.text(query=data),
        lambda data: checks.one_of(("rows", "answers"), score=data),
    ],
)
def test_data_in_the_place_of_a_parameter_are_not_quoted(act, data):
    with pytest.raises(InvalidParameter, match=f"of type {type(data).__name__}") as caught:
        act(data)
    assert CANARY not in str(caught.value) and "31" not in str(caught.value)
    assert caught.value.value is None


def test_numbers_of_numpy_are_quoted():
    with pytest.raises(InvalidParameter, match="nan"):
        checks.positive(epsilon=numpy.float64("nan"))


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
