"""An export: whole, the same each time, and written where nothing else is."""

import json
import re
import stat

import pytest
from tests.unit.server.registry.conftest import fill, read

from discreet.core.errors import InvalidParameter
from discreet.server.registry.bodies import describe_schema
from discreet.server.registry.export import compare_site, render_site, write_site
from discreet.server.registry.view import write_registry


@pytest.fixture
def told(source):
    return write_registry(source, "public", newest=None)


def test_a_site_is_whole_and_leads_only_to_itself(told, tmp_path):
    folder = tmp_path / "site"
    files = write_site([told], folder)
    assert {str(one.relative_to(folder)) for one in files} == {
        "index.html",
        "schema.json",
        "style.css",
        "icon.svg",
        "datasets/visits/index.html",
        "datasets/visits/registry.json",
    }
    for page in folder.rglob("*.html"):
        text = page.read_text()
        assert "<script" not in text
        assert "style=" not in text
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            assert (page.parent / link).is_file(), (page, link)
    assert json.loads((folder / "datasets/visits/registry.json").read_text()) == told
    assert json.loads((folder / "schema.json").read_text()) == describe_schema()


def test_it_is_written_again_and_compared(told, tmp_path):
    write_site([told], tmp_path)
    assert [one.read_bytes() for one in write_site([told], tmp_path)] == list(render_site([told]).values())
    assert compare_site(tmp_path, [told]) == []
    page = tmp_path / "datasets/visits/index.html"
    page.write_text(page.read_text().replace("89", "99", 1).replace("ε", "e"))
    assert compare_site(tmp_path, [told]) == ["datasets/visits/index.html"]
    (tmp_path / "index.html").unlink()
    assert "index.html" in compare_site(tmp_path, [told])
    assert compare_site(tmp_path, [told | {"made_by": "discreet 99"}]) == []


def test_data_sets_in_any_order_agree_with_what_is_read_back(told, tmp_path):
    # Registered as "visits" and then "cases", the list was in that order, and was said to be wrong.
    write_site([told, told | {"name": "cases"}], tmp_path)
    read_back = [json.loads(one.read_text()) for one in sorted(tmp_path.glob("datasets/*/registry.json"))]
    assert [one["name"] for one in read_back] == ["cases", "visits"]
    assert compare_site(tmp_path, read_back) == []


def test_a_folder_with_other_things_is_left_alone(told, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InvalidParameter, match="holds other things"):
        write_site([told], tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_is_for_the_owner_is_readable_by_her_alone(tmp_path):
    told = write_registry(read(fill(tmp_path)), "owner", newest=None)
    files = write_site([told], tmp_path / "site", is_private=True)
    assert len(files) > 1
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
