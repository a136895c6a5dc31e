"""Attacks on a whole server, over HTTP: colluding analysts learn what the budget allows, and no more.

Each attack is also run where nothing protects, and must succeed there: on a server whose ledger refuses
nothing, or on a budget that says everything. Attacks that use a clock are in `test_time`.
"""

import http.client
import json
import math
from contextlib import contextmanager

import numpy as np
import pytest
from tests.unit.server.conftest import serving

from discreet.curator.ledger import ledger

SCHEMA = """
name = "{name}"
neighbours = "add-remove"
[columns.id]
kind = "integer"
lower = 0
upper = {most}
[columns.sick]
kind = "integer"
lower = 0
upper = 1
"""


def write_people(folder, tables, *, price, epsilon=1, most=63):
    """Write many small tables, each with a budget of its own, and one registration of all."""
    said = ["tick = 0"]
    folder.mkdir()
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text("id,sick\n" + "".join(f"{a},{b}\n" for a, b in rows))
        (folder / f"{name}.toml").write_text(SCHEMA.format(name=name, most=most))
        said.append(
            f'[datasets.{name}]\ndata = "{name}.csv"\nschema = "{name}.toml"\n'
            f"epsilon = {epsilon}\ndelta = 0\nshared = 0\nquestion = [{price}, 0]\n"
        )
    (folder / "discreet.toml").write_text("\n".join(said))
    return folder / "discreet.toml"


@contextmanager
def asking(path, names):
    """Serve, and ask as two analysts who tell each other everything, as long as they are answered."""
    with serving(path) as server:
        keys = []
        for who in ("eve", "mallory"):
            keys.append(server.datasets.access.make_key(who))
            for name in names:
                server.datasets.access.grant(who, name, 1)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        turns = {}

        def ask(dataset, condition):
            turns[dataset] = turn = turns.get(dataset, 0) + 1
            body = {"sql": f"SELECT COUNT(*) AS n FROM {dataset} WHERE {condition}", "insist": True}
            headers = {"Authorization": f"Bearer {keys[turn % 2]}", "Content-Type": "application/json"}
            connection.request("POST", f"/v1/datasets/{dataset}/queries", json.dumps(body), headers)
            reply = connection.getresponse()
            said = json.loads(reply.read())
            assert reply.status in (200, 402), said
            return said["rows"][0][0] if reply.status == 200 else None

        yield ask
        connection.close()


@pytest.fixture
def no_ledger(monkeypatch):
    """Let the ledger write everything down, and refuse nothing."""
    monkeypatch.setattr(ledger, "find_refusal", lambda *_: None)


# Q1: differencing ------------------------------------------------------------------------------------------


def guess_membership(folder, *, trials, price, epsilon=1, pairs=1, seed=5):
    """Ask for some people and for all of them but one, and guess whether that one is there."""
    generator = np.random.default_rng(seed)  # noqa: TID251
    truth = {f"t{k}": bool(generator.integers(2)) for k in range(trials)}
    tables = {name: [(k, 1) for k in range(64) if k or there] for name, there in truth.items()}
    right = 0
    with asking(write_people(folder, tables, price=price, epsilon=epsilon), truth) as ask:
        for name, there in truth.items():
            found = []
            for _ in range(pairs):
                listed = ",".join(str(k) for k in range(1, 64) if generator.integers(2))
                found.append((ask(name, f"id IN (0,{listed})"), ask(name, f"id IN ({listed})")))
            if 2 * price == epsilon:
                assert ask(name, "id < 9") is None  # all was spent
            right += (np.mean([more - less for more, less in found]) > 0.5) == there
    return right


def bound_membership(trials):
    """Return how often nobody guesses right who is answered for epsilon 1, but once in a thousand times."""
    return trials * math.e / (1 + math.e) + 3 * 0.5 * math.sqrt(trials)


def test_differencing(tmp_path):
    assert guess_membership(tmp_path / "sound", trials=40, price=0.5) <= bound_membership(40)
    assert guess_membership(tmp_path / "generous", trials=20, price=20, epsilon=40) >= 19


@pytest.mark.soak
def test_differencing_succeeds_without_a_ledger(tmp_path, no_ledger):
    assert guess_membership(tmp_path / "home", trials=12, price=1, pairs=160) >= 11


@pytest.mark.soak
def test_differencing_on_two_thousand_budgets(tmp_path):
    right = sum(
        guess_membership(tmp_path / str(part), trials=100, price=0.5, seed=part) for part in range(20)
    )
    print(f"{right} of 2000 guessed, at most {bound_membership(2000):.0f} can be")
    assert right <= bound_membership(2000)


# Q3: reconstruction ----------------------------------------------------------------------------------------


def reconstruct(folder, *, questions, price, people=64, seed=7):
    """Ask for many random subsets, and solve for everybody's bit; return how many of them are right."""
    generator = np.random.default_rng(seed)  # noqa: TID251
    bits = generator.integers(0, 2, people)
    path = write_people(folder, {"people": list(enumerate(bits))}, price=price, most=people - 1)
    subsets, answers = [], []
    with asking(path, ["people"]) as ask:
        for _ in range(questions):
            chosen = generator.integers(0, 2, people)
            listed = ",".join(str(k) for k in np.flatnonzero(chosen))
            said = ask("people", f"sick = 1 AND id IN ({listed})")
            if said is not None:
                subsets.append(chosen)
                answers.append(said)
    solved = np.linalg.lstsq(np.array(subsets, float), np.array(answers, float), rcond=None)[0]
    return len(answers), float(np.mean((solved > 0.5) == (bits == 1)))


def test_reconstruction(tmp_path):
    """One epsilon for all questions together says next to nothing of anybody, however it is divided."""
    answered, right = reconstruct(tmp_path / "many", questions=200, price=0.01)
    assert answered == 100 and right <= 0.72
    answered, right = reconstruct(tmp_path / "one", questions=20, price=1)
    assert answered == 1 and right <= 0.72


def test_reconstruction_succeeds_without_a_ledger(tmp_path, no_ledger):
    answered, right = reconstruct(tmp_path / "home", questions=320, price=1)
    assert answered == 320 and right >= 0.95


@pytest.mark.soak
def test_reconstruction_of_many_by_a_thousand_questions(tmp_path, monkeypatch):
    found = [
        reconstruct(tmp_path / str(seed), questions=1024, price=1 / 1024, people=128, seed=seed)
        for seed in range(4)
    ]
    assert [answered for answered, _ in found] == [1024] * 4
    print(f"bits recovered: {[right for _, right in found]}")
    assert np.mean([right for _, right in found]) <= 0.60
    monkeypatch.setattr(ledger, "find_refusal", lambda *_: None)
    assert reconstruct(tmp_path / "open", questions=1024, price=1, people=128)[1] >= 0.95
