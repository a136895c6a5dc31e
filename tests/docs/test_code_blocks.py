"""Every Python block of every page runs, top to bottom, in one namespace a page."""

import io
import re
import sys
from pathlib import Path

import pytest

from discreet.query_release.online import own_errors

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^print\(.*\)  # ([-0-9., ()e%]+)$")
NUMBER = re.compile(r"-?[0-9][0-9.]*(?:e-?[0-9]+)?")


def blocks(page):
    text = page.read_text()
    for match in BLOCK.finditer(text):
        yield text[: match.start()].count("\n") + 1, match.group(1)


def print_as_shown(text):
    """Return a `print` that fails where the comment beside it is nothing but numbers, and other ones."""
    lines = text.splitlines()

    def check(*things, **how):
        print(*things, **how)
        line = lines[sys._getframe(1).f_lineno - 1]
        if shown := SHOWN.match(line):
            print(*things, file=(written := io.StringIO()))
            assert NUMBER.findall(written.getvalue()) == NUMBER.findall(shown[1]), line

    return check


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: p.name)
def test_every_block_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page.name == "competitors.md":  # sixty curators, and their own errors are not its point
        monkeypatch.setattr(own_errors, "TRIALS", 1)
        monkeypatch.setattr(own_errors, "_ASKED", 200)
    namespace = {"__name__": page.stem, "print": print_as_shown(page.read_text())}
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


def test_figures_beside_a_print_are_what_it_prints():
    text = "print(1.5, 2e-05)  # 1.5, 2e-05\nprint(3)  # 4\nprint(3)  # about 4\nprint('x', 3)  # 3\n"
    for line, shown in enumerate(text.splitlines()):
        run = compile("\n" * line + shown, "page", "exec")
        if line == 1:
            with pytest.raises(AssertionError, match="# 4"):
                exec(run, {"print": print_as_shown(text)})
        else:
            exec(run, {"print": print_as_shown(text)})
