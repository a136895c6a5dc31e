"""Every example of every docstring gives what it says."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import discreet as dp

ROOT = Path(dp.__file__).parent
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
MODULES = [
    ".".join(("discreet", *path.relative_to(ROOT).with_suffix("").parts))
    for path in sorted(ROOT.rglob("*.py"))
    if EXAMPLE.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("module", MODULES)
def test_every_example_of_the_module_gives_what_it_says(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted
    assert not found.failed


def test_the_collector_sees_examples_and_would_fail_on_a_wrong_one(capsys):
    assert "discreet.mechanisms.laplace" in MODULES
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert doctest.DocTestRunner().run(wrong) == (1, 1)
    assert "Expected" in capsys.readouterr().out
