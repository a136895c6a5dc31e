"""Wrapped data cannot slip out by accident."""

import copy
import json
import operator
import pickle  # noqa: TID251 - to see that it is refused

import pytest

from discreet.core.errors import DiscreetError
from discreet.core.sensitive import Sensitive

SECRET = [3, 1, 4]


def test_only_reveal_opens_it():
    assert Sensitive(SECRET).reveal() is SECRET
    wrapped = Sensitive(SECRET)
    assert Sensitive.wrap(wrapped) is wrapped
    assert Sensitive.wrap(SECRET).reveal() is SECRET


def test_it_prints_nothing():
    wrapped = Sensitive("secret text")
    assert repr(wrapped) == str(wrapped) == "Sensitive(...)"
    assert "secret" not in f"{[wrapped]!r} {(wrapped,)} {wrapped!r}"


@pytest.mark.parametrize(
    "act",
    [
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        hash,
        bool,
        len,
        list,
        iter,
        set,
        sorted,
        lambda x: f"{x}",
        lambda x: f"{x:>10}",
        lambda x: x == SECRET,
        lambda x: x != SECRET,
        lambda x: x in [SECRET],
        lambda x: x < SECRET,
        lambda x: SECRET > x,
        lambda x: max(x, x),
        lambda x: pickle.dumps({"deep": [x]}),
        lambda x: copy.deepcopy({"deep": [x]}),
        lambda x: {x: 1},
        lambda x: 1 if x else 0,
    ],
)
def test_it_refuses(act):
    with pytest.raises(DiscreetError, match="sensitive data cannot") as caught:
        act(Sensitive(SECRET))
    assert "3" not in str(caught.value)


@pytest.mark.parametrize(
    "act", [json.dumps, int, float, operator.index, lambda x: x + 1, lambda x: x[0], vars, dir]
)
def test_it_has_no_other_way_in(act):
    wrapped = Sensitive(SECRET)
    try:
        result = act(wrapped)
    except (TypeError, DiscreetError):
        return
    assert "[3, 1, 4]" not in repr(result)


def test_it_takes_no_further_attributes():
    with pytest.raises(AttributeError):
        Sensitive(SECRET).note = "x"
