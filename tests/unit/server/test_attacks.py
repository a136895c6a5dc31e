"""Attacks on a whole server, over HTTP: colluding analysts learn what the budget allows, and no more.

Each attack is also run where nothing protects, and must succeed there.
"""

import http.client
import json
import math
from contextlib import contextmanager

import numpy as np
import pytest
from tests.unit.server.conftest import serving

SCHEMA = """
name = "{name}"
neighbours = "add-remove"
[columns.id]
kind = "integer"
lower = 0
upper = 63
[columns.sick]
kind = "integer"
lower = 0
upper = 1
"""


def write_people(folder, tables, *, epsilon, price):
    """Write many small tables, each with a budget of its own, and one registration of all."""
    said = ["tick = 0"]
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text("id,sick\n" + "".join(f"{a},{b}\n" for a, b in rows))
        (folder / f"{name}.toml").write_text(SCHEMA.format(name=name))
        said.append(
            f'[datasets.{name}]\ndata = "{name}.csv"\nschema = "{name}.toml"\n'
            f"epsilon = {epsilon}\ndelta = 0\nshared = 0\nquestion = [{price}, 0]\n"
        )
    (folder / "discreet.toml").write_text("\n".join(said))
    return folder / "discreet.toml"


@contextmanager
def asking(path, names):
    """Serve, and ask as two analysts who tell each other everything."""
    with serving(path) as server:
        keys = []
        for who in ("eve", "mallory"):
            keys.append(server.datasets.access.make_key(who))
            for name in names:
                server.datasets.access.grant(who, name, 1)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)

        def ask(dataset, sql, epsilon, turn=0):
            body = json.dumps({"sql": sql, "epsilon": epsilon, "insist": True})
            headers = {"Authorization": f"Bearer {keys[turn % 2]}", "Content-Type": "application/json"}
            connection.request("POST", f"/v1/datasets/{dataset}/queries", body, headers)
            reply = connection.getresponse()
            said = json.loads(reply.read())
            return said["rows"][0][0] if reply.status == 200 else None

        yield ask
        connection.close()


def guess_membership(folder, *, epsilon, trials=60):
    """Ask for everybody and for everybody but one, and guess whether that one is there."""
    generator = np.random.default_rng(5)  # noqa: TID251
    truth = {f"t{k}": bool(generator.integers(2)) for k in range(trials)}
    tables = {name: [(k, 1) for k in range(64) if k or there] for name, there in truth.items()}
    path = write_people(folder, tables, epsilon=epsilon, price=epsilon / 2)
    right = 0
    with asking(path, truth) as ask:
        for name, there in truth.items():
            everybody = ask(name, f"SELECT COUNT(*) AS n FROM {name}", epsilon / 2)
            others = ask(name, f"SELECT COUNT(*) AS n FROM {name} WHERE id > 0", epsilon / 2, turn=1)
            assert ask(name, f"SELECT COUNT(*) AS n FROM {name} WHERE id < 9", epsilon / 100) is None
            right += (everybody - others > 0.5) == there
    return right / trials


def test_differencing(tmp_path):
    epsilon, trials = 1.0, 60
    sound, unsound = tmp_path / "sound", tmp_path / "unsound"
    sound.mkdir()
    unsound.mkdir()
    most = math.exp(epsilon) / (1 + math.exp(epsilon)) + 3 * 0.5 / math.sqrt(trials)
    assert guess_membership(sound, epsilon=epsilon, trials=trials) <= most
    assert guess_membership(unsound, epsilon=40.0, trials=trials) >= 0.95


def reconstruct(folder, *, epsilon, questions=192):
    """Ask for many random subsets, and solve for everybody's bit."""
    generator = np.random.default_rng(7)  # noqa: TID251
    bits = generator.integers(0, 2, 64)
    path = write_people(folder, {"people": list(enumerate(bits))}, epsilon=epsilon, price=epsilon / questions)
    subsets, answers = [], []
    with asking(path, ["people"]) as ask:
        for turn in range(questions):
            chosen = generator.integers(0, 2, 64)
            listed = ",".join(str(k) for k in np.flatnonzero(chosen))
            sql = f"SELECT COUNT(*) AS n FROM people WHERE sick = 1 AND id IN ({listed})"
            said = ask("people", sql, epsilon / questions, turn)
            assert said is not None
            subsets.append(chosen)
            answers.append(said)
        assert ask("people", "SELECT COUNT(*) AS n FROM people", epsilon / questions) is None
    solved = np.linalg.lstsq(np.array(subsets, float), np.array(answers, float), rcond=None)[0]
    return float(np.mean((solved > 0.5) == (bits == 1)))


@pytest.mark.parametrize(("epsilon", "least", "most"), [(1.0, 0.0, 0.72), (1500.0, 0.95, 1.0)])
def test_reconstruction(tmp_path, epsilon, least, most):
    """One epsilon for all questions together says next to nothing of anybody; eight for each, everything."""
    assert least <= reconstruct(tmp_path, epsilon=epsilon) <= most
