"""Pages are made of what JSON says, escaped, and of nothing else."""

from html.parser import HTMLParser

import pytest
from tests.unit.server.registry.conftest import fill, read

from discreet.server.registry.export import list_registries
from discreet.server.registry.view import write_registry
from discreet.server.rendering import (
    ASSETS,
    SERVED,
    read_asset,
    render_console,
    render_dataset,
    render_list,
    say_cost,
)

HOSTILE = "\"'><img src=x onerror=alert(1)>{{7*7}}</script>"


class Tags(HTMLParser):
    """Lists tags and attributes."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def poison(told):
    """Return plain values with every text in them replaced by a hostile one, but for numbers and times."""
    if isinstance(told, dict):
        return {name: poison(value) for name, value in told.items()}
    if isinstance(told, list):
        return [poison(one) for one in told]
    is_number = isinstance(told, str) and told[:1].isdigit()
    return HOSTILE if isinstance(told, str) and not is_number else told


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return write_registry(read(fill(tmp_path_factory.mktemp("rendered"))), "owner", newest=None)


def test_no_text_becomes_markup(told):
    hostile = poison(told)
    pages = (
        render_dataset(hostile, SERVED),
        render_list(list_registries([hostile]), SERVED),
        render_console([HOSTILE]),
    )
    for page in pages:
        tags = Tags()
        tags.feed(page)
        assert not tags.tags & {"img", "style", "iframe", "object"}
        assert not {name for name in tags.attributes if name.startswith("on")} | (tags.attributes & {"style"})
        assert "<img" not in page
        assert page.count("<script") == page.count("console.js")
        assert "{{7*7}}" in page


def test_pages_show_every_release_and_say_who_is_not_named(told):
    page = render_dataset(told, SERVED)
    for one in told["releases"]:
        assert one["receipt"]["digest"] in page
    public = render_dataset(
        told
        | {"releases": [dict(one, analyst=None, question=None) for one in told["releases"]], "shares": []},
        SERVED,
    )
    assert "acme" in page
    assert "acme" not in public


def test_costs_are_rounded_up_and_never_said_to_be_nothing():
    assert say_cost({"epsilon": "1/3", "rho": "1/18", "delta": "0"}) == "epsilon 0.334"
    assert say_cost({"rho": "1/180", "delta": "0"}) == "rho 0.00556"
    assert say_cost({"epsilon": "0"}) == "nothing"


def test_assets_are_there():
    for name in ASSETS:
        assert read_asset(name)
