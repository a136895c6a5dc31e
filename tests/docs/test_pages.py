"""The pages agree with the catalogue, the bibliography and the tests they name."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.catalogue import catalogue

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
KEYS = set(re.findall(r"^@\w+\{(\w+),", (DOCS / "references.bib").read_text(), re.MULTILINE))
CITATION = re.compile(r"\[([A-Z][A-Za-z]*\d\d)\]")


@pytest.mark.parametrize("card", catalogue(), ids=str)
def test_every_card_has_a_page_with_an_executed_example(card):
    page = DOCS / "algorithms" / f"{card.name}.md"
    assert page.exists(), f"{card.name} has no page"
    text = page.read_text()
    assert "```python" in text
    assert CITATION.search(card.reference), "a card's reference cites a key of docs/references.bib"


def test_every_algorithm_page_belongs_to_a_card():
    pages = {p.stem for p in (DOCS / "algorithms").glob("*.md")} - {"index"}
    assert pages == {card.name for card in catalogue()}


def test_the_map_and_the_index_are_as_the_source_makes_them():
    script = [sys.executable, str(ROOT / "tools" / "write_pages.py"), "--check"]
    shown = subprocess.run(script, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, f"run `make pages`: {shown.stdout}{shown.stderr}"


def test_every_file_of_the_five_walks_exists():
    walks = (DOCS / "architecture.md").read_text().split("## Five walks")[1].split("## Where does")[0]
    files = []
    for named in (re.findall(r"`([\w/]+\.py)`", line) for line in walks.splitlines()):
        room = Path(named[0]).parent if named else None
        files += [file if "/" in file else str(room / file) for file in named]
    assert len(files) >= 30
    assert not [file for file in files if not (ROOT / "src" / "discreet" / file).exists()]


def test_every_citation_is_in_the_bibliography():
    sources = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    cited = {key for source in sources for key in CITATION.findall(source.read_text())}
    assert cited
    assert cited <= KEYS, cited - KEYS


def test_every_erratum_has_a_test():
    page = (DOCS / "errata.md").read_text()
    entries = re.split(r"\n(?=\*\*|## )", page)[1:]
    told = [entry for entry in entries if entry.startswith("**")]
    assert len(told) > 90
    assert not [entry for entry in told if not re.search(r"`tests/[\w/]+\.py::\w+`", entry)]


def test_every_test_named_by_the_errata_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (DOCS / "errata.md").read_text())
    assert len(named) >= 12
    for path, function in named:
        assert f"def {function}(" in (ROOT / path).read_text(), f"{path}::{function}"


def test_every_test_named_by_the_known_vulnerabilities_exists():
    page = (DOCS / "known-vulnerabilities.md").read_text()
    files, tests = re.findall(r"`(tests/[\w/]+\.py)", page), set(re.findall(r"(?<=[`:])(test_\w+)`", page))
    assert len(files) >= 40 and len(tests) >= 30
    assert all((ROOT / file).exists() for file in files), files
    written = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    assert not {test for test in tests if f"def {test}(" not in written}


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda p: p.name)
def test_every_relative_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_front_page_leads_to_every_page():
    front = (DOCS / "index.md").read_text()
    pages = [*DOCS.glob("*.md"), *DOCS.glob("examples/*.md")]
    missing = [
        page.name for page in pages if page.name != "index.md" and f"({page.relative_to(DOCS)})" not in front
    ]
    assert len(pages) > 25 and not missing, missing


def test_the_sites_contents_name_the_pages_of_the_front_page_in_its_order():
    contents = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    _, told = (DOCS / "index.md").read_text().split("**To begin with**")
    assert contents == ["index.md", *re.findall(r"\]\(([\w/-]+\.md)\)", told)]


def test_every_card_has_a_few_tests_that_make_quick_runs():
    """Twenty-seven cards had none, and pytest, which is given no files, runs all of them."""
    tool = runpy.run_path(str(ROOT / "tools" / "quick.py"))
    found = {card.name: tool["find_tests"](card.name) for card in catalogue()}
    assert not {name: tests for name, tests in found.items() if not 1 <= len(tests) <= 18}
