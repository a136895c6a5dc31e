"""The page of promises names every promise, input and fault, and only tests and mutants that exist."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/promises.md").read_text()
ROWS = [re.split(r"\s*\|\s*", line)[1:-1] for line in PAGE.splitlines() if line.startswith("| ")]


def list_numbers(text):
    """Return the numbers of a list such as "1-7, 9"."""
    for part in text.split(", "):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def test_every_promise_input_and_fault_has_a_row():
    names = [row[0] for row in ROWS]
    assert [name for name in names if re.fullmatch(r"P\d", name)] == [f"P{k}" for k in range(1, 9)]
    assert [name for name in names if re.fullmatch(r"F\d+", name)] == [f"F{k}" for k in range(1, 19)]
    numbered = [name for name in names if re.fullmatch(r"[\d, -]+", name) and any(map(str.isdigit, name))]
    inputs = [number for name in numbered for number in list_numbers(name)]
    assert sorted(inputs) == list(range(1, 41))


def test_every_test_that_is_named_exists_and_is_of_its_tier():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(set(named)) >= 80
    soak = set()
    for path, name in sorted(set(named)):
        text = (ROOT / path).read_text()
        found = re.search(
            rf"(?m)((?:^@pytest\.mark.*\n|^ .*\n|^\)\n)*)^(?:def|class) {name}\b|^{name} = ", text
        )
        assert found, f"{path}::{name}"
        if "@pytest.mark.soak" in (found[1] or ""):
            soak.add(f"`{path}::{name}`")
    for row in ROWS:
        if re.fullmatch(r"F\d+", row[0]):
            daily, long = (set(re.findall(r"`tests/[^`]+`", cell)) for cell in row[2:])
            assert daily | long and not daily & soak and long <= soak, row[0]
        else:
            assert not set(re.findall(r"`tests/[^`]+`", " ".join(row))) & soak, row[0]


def test_every_mutant_that_is_named_exists():
    lists = (ROOT / "tests/mutants").glob("*.toml")
    known = {one["name"] for path in lists for one in tomllib.loads(path.read_text())["mutant"]}
    named = [row[1].strip('"') for row in ROWS if row[-1].endswith('"')]
    assert len(named) == 10
    assert set(named) <= known, set(named) - known
