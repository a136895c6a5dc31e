"""One front door and one name for one thing: what every family offers, and what it is called."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import discreet as dp
from discreet.catalogue import FAMILIES, catalogue

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"
OFFERING = (*FAMILIES, "accounting", "audit", "curator", "data", "equilibrium", "noise", "queries")


def modules():
    for found in pkgutil.walk_packages(dp.__path__, prefix="discreet."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


@pytest.mark.parametrize("card", catalogue(), ids=str)
def test_a_card_its_class_and_its_file_have_one_name_and_one_home(card):
    kind = type(card.example()[0])
    assert kind.__name__.lower() == card.name.replace("-", "")
    assert kind.__module__.rsplit(".", 1)[1] == card.name.replace("-", "_")
    assert getattr(getattr(dp, card.family), kind.__name__) is kind
    assert [family for family in OFFERING if hasattr(getattr(dp, family), kind.__name__)] == [card.family]


@pytest.mark.parametrize("card", catalogue(), ids=str)
def test_the_page_of_a_card_imports_its_class_from_the_front_door_or_its_family(card):
    name, page = type(card.example()[0]).__name__, (PAGES / f"{card.name}.md").read_text(encoding="utf-8")
    family = rf"from discreet\.{card.family} import \(?[^)\n]*(\n[^)]*)?\b{name}\b"
    assert re.search(rf"\bdp\.{name}\b", page) or re.search(family, page)


def test_public_classes_have_names_of_their_own():
    homes = {}
    for module in modules():
        for name, value in vars(module).items():
            if inspect.isclass(value) and not name.startswith("_") and value.__module__ == module.__name__:
                homes.setdefault(value.__name__, set()).add(module.__name__)
    assert {name: sorted(where) for name, where in homes.items() if len(where) > 1} == {}


def test_no_function_has_the_name_of_a_module_beside_it():
    packages = [module for module in modules() if hasattr(module, "__path__")]
    for package in (dp, *packages):
        beside = {found.name for found in pkgutil.iter_modules(package.__path__)}
        listed = set(getattr(package, "__all__", ())) | set(vars(package))
        clashes = {name for name in beside & listed if not inspect.ismodule(getattr(package, name))}
        assert not clashes, (package.__name__, clashes)


@pytest.mark.parametrize("family", OFFERING)
def test_a_family_lists_what_it_offers_and_offers_what_it_lists(family):
    package = getattr(dp, family)
    assert package.__all__
    assert set(dir(package)) == set(package.__all__)
    assert all(getattr(package, name) is not None for name in package.__all__)


@pytest.mark.parametrize("folder", sorted({path.parent for path in Path(dp.__file__).parent.rglob("*.py")}))
def test_a_room_holds_at_most_eighteen_files(folder):
    assert len(list(folder.glob("*.py"))) <= 18
