"""Many clients in several processes on a budget that cannot pay for all: exactly what it has is granted."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from tests.faults.client import name_journals
from tests.faults.history import check

CLIENT = Path(__file__).with_name("client.py")
ROOT = Path(__file__).parents[2]
PROCESSES = 4


def race(where, folder, *, clients, attempts, granted, seconds=120, anchor=None):
    """Let clients ask all at once in four processes; check what they were told against the book."""
    epsilon = Fraction(granted, 1000)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    if anchor is not None:
        environment["ANCHOR"] = str(anchor)
    processes, journals, each = [], [], attempts // PROCESSES
    for number in range(PROCESSES):
        journal = folder / f"journal{number}-"
        journals += name_journals(journal, clients // PROCESSES)
        keys = (number * each, number * each + each)
        arguments = [where, journal, *keys, epsilon, clients // PROCESSES]
        command = [sys.executable, str(CLIENT), *map(str, arguments)]
        processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE))
    for process in processes:
        _, said = process.communicate(timeout=seconds)
        assert process.returncode == 0, said.decode()
    assert check(where, journals, epsilon=epsilon, spent=epsilon, anchor=anchor) == granted


@pytest.mark.parametrize("granted", [100, 1])
def test_processes_that_race_get_exactly_what_the_budget_has(tmp_path, granted):
    race(tmp_path / "budget.db", tmp_path, clients=64, attempts=192, granted=granted)


def test_processes_that_race_on_a_server_get_exactly_what_the_budget_has(tmp_path, server_book):
    where, anchor = server_book
    race(where, tmp_path, clients=16, attempts=128, granted=100, anchor=anchor)


@pytest.mark.soak
@pytest.mark.parametrize("granted", [100_000, 1])
def test_a_hundred_thousand_charges(tmp_path, granted):
    race(tmp_path / "budget.db", tmp_path, clients=64, attempts=102_400, granted=granted, seconds=3600)


@pytest.mark.soak
def test_many_charges_on_a_server(tmp_path, server_book):
    where, anchor = server_book
    race(where, tmp_path, clients=64, attempts=20_480, granted=20_000, anchor=anchor, seconds=3600)
