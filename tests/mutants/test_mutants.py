"""The list of mutants is about the source as it is. Whether each is killed is told by `make mutants`."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTS = {
    path.stem: tomllib.loads(path.read_text())["mutant"]
    for path in sorted(Path(__file__).parent.glob("*.toml"))
}
MUTANTS = [mutant for mutants in LISTS.values() for mutant in mutants]


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant["name"] for mutant in MUTANTS])
def test_a_mutant_is_one_edit_of_shipped_source(mutant):
    text = (ROOT / "src/discreet" / mutant["file"]).read_text()
    assert text.count(mutant["old"]) == 1
    assert mutant["new"] != mutant["old"]
    edited = text.replace(mutant["old"], mutant["new"])
    compile(edited, mutant["file"], "exec")
    for tests in mutant["tests"]:
        assert all((ROOT / file).exists() for file in tests.split(" -k ")[0].split())


def test_every_part_that_privacy_hangs_on_has_mutants():
    names = [mutant["name"] for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 40
    for family, mutants in LISTS.items():
        assert {Path(mutant["file"]).parts[0] for mutant in mutants} == {family}
    assert set(LISTS) >= {"noise", "sparse", "accounting", "query_release", "data", "curator"}
