"""One rule for all constructors: keywords, no delta that nobody chose, and no relation that nobody meant.

`neighbours` is required wherever a mechanism computes its sensitivity from it. Where the caller states the
sensitivity, it may default to adding or removing a row, never to replacing one. `delta` is never defaulted.
"""

import inspect
import re

import pytest

import discreet as dp
from discreet.catalogue import FAMILIES, catalogue
from discreet.core.mechanism import Promise
from discreet.core.neighbours import AddRemove, Replace

STATED = {"sensitivity", "l2_sensitivity"}
"""Parameters in which a caller states how far neighbours move what is measured."""


def mechanisms():
    """Return every mechanism that has a card or is exported by a family, and its ways to be made."""
    kinds = {type(card.example()[0]) for card in catalogue()}
    for family in (dp, *(getattr(dp, name) for name in FAMILIES)):
        kinds |= {value for name in dir(family) if inspect.isclass(value := getattr(family, name))}
    return sorted(
        (kind for kind in kinds if issubclass(kind, Promise) and not inspect.isabstract(kind)),
        key=lambda k: k.__name__,
    )


def ways(kind):
    """Yield the constructor, and every class or static method of its own that makes one."""
    yield "", inspect.signature(kind)
    for name, value in inspect.getmembers_static(kind):
        if isinstance(value, classmethod | staticmethod) and not name.startswith("_"):
            yield f".{name}", inspect.signature(getattr(kind, name))


WAYS = [(f"{kind.__name__}{name}", signature) for kind in mechanisms() for name, signature in ways(kind)]
SAYS_ITS_FIRST = re.compile(r"\.(for_|split_evenly$)")
"""Ways that say in their name what their one positional argument is: `Gaussian.for_rho(0.01, ...)`."""


def faults(name, signature):
    """Return what is wrong with one constructor."""
    found = []
    for place, parameter in enumerate(signature.parameters.values()):
        defaulted = parameter.default is not inspect.Parameter.empty
        positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if positional and not (place == 0 and SAYS_ITS_FIRST.search(name)):
            found.append(f"{parameter.name} is no keyword")
        if parameter.name.endswith("delta") and defaulted:
            found.append(f"{parameter.name} has a default")
        if parameter.name == "neighbours" and defaulted:
            if not STATED & set(signature.parameters):
                found.append("neighbours has a default where no sensitivity is stated")
            if type(parameter.default) is not AddRemove:
                found.append(f"neighbours defaults to {parameter.default!r}")
    return found


@pytest.mark.parametrize(("name", "signature"), WAYS, ids=[name for name, _ in WAYS])
def test_constructors_keep_the_rule(name, signature):
    assert faults(name, signature) == []


def test_all_mechanisms_are_looked_at():
    names = {name for name, _ in WAYS}
    assert {
        "Laplace",
        "Gaussian.for_rho",
        "RandomizedResponse.coin_flips",
        "Sparse.as_printed",
        "MWEM",
    } <= names
    assert len({name.split(".")[0] for name in names}) >= len(catalogue())


REPLACED, ROWS = Replace("row"), AddRemove("row")


def test_a_constructor_that_breaks_the_rule_is_found():
    broken = inspect.signature(lambda *, delta=0, neighbours=REPLACED: (delta, neighbours))
    assert len(faults("broken", broken)) == 3
    assert faults("broken", inspect.signature(lambda epsilon: epsilon)) == ["epsilon is no keyword"]
    stated = inspect.signature(lambda *, sensitivity, neighbours=ROWS: (sensitivity, neighbours))
    assert faults("stated", stated) == []
    assert faults("Some.for_rho", inspect.signature(lambda rho, **public: (rho, public))) == []


def test_rows_are_what_is_added_or_removed_where_nothing_is_said():
    assert dp.AddRemove() == AddRemove("row")
    assert dp.Laplace(sensitivity=1, epsilon=0.5).neighbours == dp.AddRemove()
