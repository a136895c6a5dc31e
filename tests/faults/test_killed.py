"""Processes that are killed at any moment: nothing is spent twice, nothing acknowledged is lost."""

import os
import random  # noqa: TID251 - moments to kill at, no noise
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from tests.faults.client import ask, name_journals, open_ledger
from tests.faults.history import check, read_journal

CLIENT = Path(__file__).with_name("client.py")
ROOT = Path(__file__).parents[2]


def start(path, journal, first, last, epsilon, *, clients=1, **more):
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"} | more
    arguments = [path, journal, first, last, epsilon, clients]
    command = [sys.executable, str(CLIENT), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


def finish(process):
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said.decode()


def wait_for_more(journals, processes):
    """Wait until some client has asked something, so that a kill meets work, or all are done."""
    sizes = [journal.stat().st_size if journal.exists() else 0 for journal in journals]
    for _ in range(1000):
        if all(process.poll() is not None for process in processes) or any(
            j.exists() and j.stat().st_size > size for j, size in zip(journals, sizes, strict=True)
        ):
            return
        time.sleep(0.02)
    raise AssertionError("nobody asked anything")


def kill_at_random(tmp_path, kills, questions):
    path, journals = tmp_path / "budget.db", [tmp_path / f"journal{n}" for n in range(2)]
    moments = random.Random(5)
    for _ in range(kills):
        processes = [
            start(path, journal, questions * n, questions * n + questions, 10)
            for n, journal in enumerate(journals)
        ]
        wait_for_more(journals, processes)
        time.sleep(moments.random() * 0.2)
        for process in processes:
            process.kill()
            process.communicate()
    for n, journal in enumerate(journals):
        finish(start(path, journal, questions * n, questions * n + questions, 10))
    bought = min(2 * questions, 10_000)  # the budget is 10, an answer a thousandth
    assert check(path, journals, epsilon=10, spent=Fraction(bought, 1000)) == bought
    return [read_journal(journal) for journal in journals]


def test_killed_clients_come_back_to_one_charge_and_one_answer(tmp_path):
    found = kill_at_random(tmp_path, kills=4, questions=800)
    # Some were killed between asking and hearing, or the test would show nothing.
    assert sum(len(invoked) - len(set(invoked)) for invoked, _, _ in found) > 0


@pytest.mark.soak
def test_two_hundred_kills(tmp_path):
    kill_at_random(tmp_path, kills=200, questions=10_000)


def kill_backends(where, anchor, folder, *, kills, questions, clients=4):
    """End the server's own side of the connections at random moments; clients begin again."""
    journals, moments, ended = name_journals(folder / "journal", clients), random.Random(6), 0
    kill = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(where, autocommit=True) as connection:
        for _ in range(kills):
            process = start(where, journals[0], 0, questions, 10, clients=clients, ANCHOR=str(anchor))
            wait_for_more(journals, [process])
            time.sleep(moments.random() * 0.2)
            ended += connection.execute(kill).fetchone()[0] > 0
            _, said = process.communicate(timeout=120)  # the book stops, and so does whoever asks
            assert b"LedgerStopped" in said or process.returncode == 0, said
    finish(start(where, journals[0], 0, questions, 10, clients=clients, ANCHOR=str(anchor)))
    found = check(where, journals, epsilon=10, spent=Fraction(questions, 1000), anchor=anchor)
    assert found == questions
    return ended


def test_a_server_whose_side_of_a_connection_is_killed_forgets_nothing(tmp_path, server_book):
    assert kill_backends(*server_book, tmp_path, kills=2, questions=600) >= 1


@pytest.mark.soak
def test_twenty_kills_of_a_servers_side(tmp_path, server_book):
    kill_backends(*server_book, tmp_path, kills=20, questions=8000)


PLACES = ["before commit", "after commit", "before anchor", "after anchor"]


@pytest.mark.parametrize("times", [3, 10])  # the first two are the book and the ledger
@pytest.mark.parametrize("place", PLACES)
def test_a_crash_at_a_named_place(tmp_path, place, times):
    """Before the commit nothing was charged; from then on everything is, and a retry is answered once."""
    path, journal = tmp_path / "budget.db", tmp_path / "journal"
    process = start(path, journal, 0, 12, 10, DISCREET_CRASH_AT=f"{place}#{times}")
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    invoked, answered, _ = read_journal(journal)
    assert len(invoked) == len(answered) + 1
    # Each question is two commits: its charge, and its answer.
    book, ledger = open_ledger(path, 10, together=False)
    charged = len(ledger.entries())
    assert charged - len(answered) in (0, 1)
    if place != "before commit":
        assert charged == len(answered) + 1
    book.close()
    finish(start(path, journal, 0, 12, 10))
    assert check(path, [journal], epsilon=10, spent=Fraction(12, 1000)) == 12


def test_one_key_at_the_same_moment_is_charged_once(tmp_path):
    path = tmp_path / "budget.db"
    books = [open_ledger(path, 10) for _ in range(2)]
    answers = [ask(ledger, "key0")[1] for _, ledger in books for _ in range(5)]
    assert len(set(answers)) == 1
    for book, _ in books:
        book.close()
