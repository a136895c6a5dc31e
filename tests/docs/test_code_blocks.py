"""Every Python block of every page runs, top to bottom, in one namespace a page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page):
    text = page.read_text()
    for match in BLOCK.finditer(text):
        yield text[: match.start()].count("\n") + 1, match.group(1)


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: p.name)
def test_every_block_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": page.stem}
    for line, source in blocks(page):
        padded = "\n" * line + source  # so that a traceback names the line of the page
        exec(compile(padded, str(page), "exec"), namespace)


def test_the_collector_sees_blocks_and_would_fail_on_a_broken_one(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n```python\nx = 1\n```\n```python\nassert x == 2\n```\n")
    found = list(blocks(page))
    assert [line for line, _ in found] == [2, 5]
    namespace = {}
    exec(found[0][1], namespace)
    with pytest.raises(AssertionError):
        exec(found[1][1], namespace)
