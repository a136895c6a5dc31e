"""The page of sources names every numbered statement of the sources, and nothing that does not exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/sources.md").read_text()


def spell(kind, *numbers):
    return {f"{kind} {number}" for number in numbers}


def run(chapter, *numbers):
    return [f"{chapter}.{number}" for number in numbers]


STATEMENTS = {
    "DR14": {
        *spell("Theorem", *run(3, 1, 2, 3, 4, 6, 8, 10, 11, 13, 14, 16, 20, *range(22, 29))),
        *spell("Theorem", *run(10, 3, 4, 5), *run(11, *range(1, 7)), *run(12, 5, 6, 7, 8), "A.1", "B.1"),
        *spell("Definition", *run(3, *range(1, 11)), *run(10, 4, 5, 6)),
        *spell("Definition", *run(11, *range(1, 6)), *run(12, *range(1, 9))),
        *spell("Example", *run(3, *range(1, 8))),
        *spell("Lemma", *run(3, 17, 18, 19), "10.2", *run(12, 2, 9)),
        *spell("Corollary", *run(3, 12, 15, 21), *run(12, 3, 4), "B.2"),
        *spell("Claim", "3.5", "3.9"),
        *spell("Fact", "3.7"),
        *spell("Remark", "3.1", "11.1", "12.1"),
        *spell("Observation", "12.1"),
        *spell("Figure", "12.1", "12.2"),
        *spell("Algorithm", 1, 2, 3, 15, 16, 17, 18),
    },
    "HRU13": {
        *spell("Algorithm", *range(1, 6)),
        *spell("Theorem", *run(2, 10, 12, 13), *run(3, 1, 3, 7), *run(4, 1, 2, 3), *run(5, 1, 2, 3)),
        *spell("Lemma", *run(2, 5, 6, 8, 9), *run(3, 4, 8, 9)),
        *spell("Definition", *run(2, 1, 2, 3, 4, 11)),
        *spell("Remark", "2.7"),
        *spell("Corollary", "2.14"),
        *spell("Claim", *run(3, 2, 5, 6, 10), *run(5, 4, 5)),
    },
    "Roth10": {
        *spell("Theorem", 1, 2, 4, *range(5, 9), *range(10, 14), 17, 18, 19, *range(21, 24), 27, 28),
        *spell("Theorem", 30, 31, 32, 34, 36, *range(38, 45), 46, 47, *range(49, 56), *range(57, 61)),
        *spell("Theorem", 62, 63, 64, 66),
        *spell("Definition", *range(1, 13), *range(13, 29)),
        *spell("Lemma", *range(1, 24)),
        *spell("Corollary", 9, 24, 25, 29, 37, 45, 48, 56, 65),
        *spell("Fact", 1, 2, 3),
        *spell("Claim", 14),
        *spell("Proposition", 15, 16, 20),
        *spell("Observation", 3, 26, 33, 35, 61),
        *spell("Algorithm", *range(1, 8)),
        *spell("Figure", "4.1"),
        *spell("Table", "7.1"),
    },
}
ROWS = [
    (source, *map(str.strip, line.strip("|").split(" | ")))
    for source, block in re.findall(r"(?ms)^## \[(\w+)\][^\n]*\n(.*?)(?=^## |\Z)", PAGE)
    for line in block.splitlines()
    if re.match(r"\| (?!statement)\w", line)
]


@pytest.mark.parametrize("source", STATEMENTS)
def test_every_statement_is_there_once(source):
    named = [row[1] for row in ROWS if row[0] == source]
    assert len(named) == len(set(named)), [name for name in named if named.count(name) > 1]
    assert set(named) == STATEMENTS[source]


STEPS_OF_PROOFS = {("Roth10", "Lemma 10")}
"""What has no module and no test: a step on the way to a theorem that has both."""


@cache
def read(path):
    return (ROOT / path).read_text()


@cache
def list_public(module):
    """Return the names that a module offers, and its own."""
    path = ROOT / "src/discreet" / module
    if path.is_dir():
        return {path.name}
    defined = [
        n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef | ast.FunctionDef)
    ]
    return {path.stem, path.stem.replace("_", "-"), *(name for name in defined if not name.startswith("_"))}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_what_is_named_exists_and_belongs_together(row):
    source, name, _, where, tried, page = row
    modules, tests = re.findall(r"`([^`]+)`", where), re.findall(r"`([^`]+)`", tried)
    for module in modules:
        assert (ROOT / "src/discreet" / module).exists()
    if (source, name) in STEPS_OF_PROOFS:
        assert where.startswith("a step of the proof") and tried == page == "—"
        return
    assert len(tests) == 1, "one test that shows it"
    file, _, function = tests[0].partition("::")
    assert re.search(rf"^def {function}\(", read(file), re.MULTILINE), "a test, not only its file"
    if not modules:
        assert len(where) > len("a tool of proofs") - 1 and page == "—"
        return
    linked = re.fullmatch(r"\[[^\]]+\]\(([^)]+)\)", page)
    assert linked and (ROOT / "docs" / linked[1]).exists()
    told = read(f"docs/{linked[1]}")
    assert f"[{source}]" in told or speaks_of(modules, told), (
        "a page that speaks of the source or of the module"
    )
    number = name.split()[1].lower().replace(".", "_")
    of_cards = "catalogue" in file or "test_claims" in file
    own = of_cards or f"_{number}_" in function or speaks_of(modules, read(file))
    assert own, "a test that speaks of the module or of the statement"


def speaks_of(modules, text):
    return any(
        re.search(rf"\b{re.escape(name)}\b", text) for module in modules for name in list_public(module)
    )
