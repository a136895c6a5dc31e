"""A server that is killed, stormed and held up, with clients who retry: one charge and one answer a key.

What clients were told is journalled outside of the server, and afterwards compared with its book.
"""

import gzip
import http.client
import json
import random  # noqa: TID251 - moments to kill at, no noise
import signal
import socket
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest
from tests.discreet_server import Served, add_analyst, make_folder

from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.verification import verify

PATH = "/v1/datasets/visits/queries"
PRICE = Fraction(1, 1000)


class Client(threading.Thread):
    """Asks questions under keys of its own, again and again until each is answered; notes every reply."""

    def __init__(self, who, key, questions, address):
        super().__init__(daemon=True)
        self.who, self.key, self.questions, self.address = who, key, questions, address
        self.answered, self.places, self.told = {}, [], 0

    def run(self):
        for number in range(self.questions):
            self.insist(number)
        for number in range(max(0, self.questions - 10), self.questions):
            self.insist(number)  # what was answered is answered so for ever

    def insist(self, number):
        """Ask until there is an answer. Nobody else asks the same, and she asks nothing twice."""
        low, high = number % 250, 250 + number // 250
        sql = (
            f"SELECT COUNT(*) AS n FROM visits WHERE cents BETWEEN {low} AND {high} AND age <> {self.who[1:]}"
        )
        while not self.ask(f"k{number}", {"sql": sql, "insist": True, "epsilon": 0.001, "delta": 0}):
            time.sleep(0.05)

    def ask(self, name, body):
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": name,
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.address["port"], timeout=20)
        try:
            connection.request("POST", PATH, json.dumps(body), headers)
            reply = connection.getresponse()
            said = reply.read()
        except (OSError, http.client.HTTPException):
            return False  # killed: nobody knows whether it was charged
        finally:
            connection.close()
        if reply.status == 429:  # she asks more often than anybody may
            time.sleep(float(reply.headers["Retry-After"]))
            return False
        assert reply.status == 200, (reply.status, said)
        self.told += 1
        if name not in self.answered:
            self.places.append(json.loads(said)["receipt"]["place"])
        assert self.answered.setdefault(name, said) == said  # one answer a key, whatever happened between
        return True


def kill_at_random(folder, *, kills, questions, clients=4):
    make_folder(folder, epsilon=40, delta=0, question=[PRICE, 0], shared=0, columns=None)
    moments, address = random.Random(3), {}
    keys = [add_analyst(folder, f"a{n}") for n in range(clients)]
    server = Served(folder)
    address["port"] = server.port
    asking = [Client(f"a{n}", key, questions, address) for n, key in enumerate(keys)]
    for one in asking:
        one.start()
    for _ in range(kills):
        time.sleep(moments.random() * 0.4)
        server.stop(signal.SIGKILL)
        server = Served(folder)
        address["port"] = server.port
    for one in asking:
        one.join(600)
        assert not one.is_alive()
    server.stop()
    return asking


def check_book(folder, asking, questions):
    """Compare the book with what clients were told."""
    path = folder / "budget.db"
    report = verify(path)
    budget = next(one for one in report.budgets if one.name == "visits")
    assert budget.entries == questions * len(asking)  # one charge a key
    assert budget.spent["epsilon"] == PRICE * questions * len(asking)
    book = open_book(path)
    records = book.state.data("visits").records
    assert all(record.state == "finished" for record in records.list_now())
    book.close()
    for one in asking:
        assert len(one.answered) == questions
        assert one.places == sorted(one.places)  # whoever was answered stands before what she asked next


def test_a_server_that_is_killed_owes_nobody_an_answer(tmp_path):
    asking = kill_at_random(tmp_path, kills=3, questions=25)
    check_book(tmp_path, asking, 25)


@pytest.mark.soak
def test_two_hundred_kills_of_a_server(tmp_path):
    asking = kill_at_random(tmp_path, kills=200, questions=2000, clients=8)
    check_book(tmp_path, asking, 2000)


def storm(folder, *, rounds, clients=64):
    """Let everybody send the same key at the same instant, round after round."""
    make_folder(folder, epsilon=40, delta=0, question=[PRICE, 0], shared=0, columns=None)
    # Of several analysts in turn: nobody may ask as often as all rounds together do.
    keys, start = [add_analyst(folder, f"a{n}") for n in range(8)], threading.Barrier(clients)
    server = Served(folder)
    asking = [Client("a0", "", 0, {"port": server.port}) for _ in range(clients)]

    def ask_again(one):
        for number in range(rounds):
            start.wait(60)
            one.key = keys[number % len(keys)]
            one.insist(number)

    threads = [threading.Thread(target=ask_again, args=(one,)) for one in asking]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3000)
        assert not thread.is_alive()
    server.stop()
    assert all(one.answered == asking[0].answered for one in asking)
    check_book(folder, asking[:1], rounds)


def test_a_storm_of_one_key_is_charged_once_a_round(tmp_path):
    storm(tmp_path, rounds=5)


@pytest.mark.soak
def test_a_thousand_storms(tmp_path):
    storm(tmp_path, rounds=1000)


def hold_up(port, connections):
    """Open connections that send a byte now and then, and never a request."""
    held = []
    for _ in range(connections):
        line = socket.create_connection(("127.0.0.1", port), timeout=10)
        line.sendall(b"POST " + PATH.encode() + b" HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        held.append(line)
    return held


def list_attacks(key):
    """Return what hostile clients send, each as a function of a connection that returns the status."""

    def guess(connection):
        connection.request("GET", "/v1/datasets", headers={"Authorization": "Bearer dk_0"})
        return connection.getresponse().status

    def nest(connection):
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", PATH, b'{"sql":' * 8000, headers)
        return connection.getresponse().status

    def flood(connection):
        headers = {"Content-Type": "application/json", "Content-Length": str(10**8)}
        connection.request("POST", PATH, b"x", headers)
        return connection.getresponse().status

    def pack(connection):
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        connection.request("POST", PATH, gzip.compress(b"0" * 10**7), headers)
        return connection.getresponse().status

    def count(connection):
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        body = b'{"conjunctions":[{"age":[' + b",".join([b"1.5"] * 500_000) + b"]}]}"
        connection.request("POST", PATH.replace("queries", "counts"), body, headers)
        return connection.getresponse().status

    return guess, nest, flood, pack, count


def serve_beside_hostile_ones(folder, *, seconds):
    make_folder(folder)
    key = add_analyst(folder, "honest")
    server = Served(folder)
    try:
        held, stop, wrong = hold_up(server.port, 200), threading.Event(), []

        def attack(send):
            while not stop.is_set():
                try:
                    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
                    wrong.append(send(connection))
                    connection.close()
                except OSError:
                    pass

        attackers = [threading.Thread(target=attack, args=(send,)) for send in list_attacks(key)]
        for one in attackers:
            one.start()
        waited = []
        until = time.monotonic() + seconds
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        while time.monotonic() < until:
            began = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            body = {"sql": f"SELECT COUNT(*) AS n FROM visits WHERE age < {len(waited) % 10}"}
            connection.request("POST", PATH, json.dumps(body), headers)
            assert connection.getresponse().status == 200
            waited.append(time.monotonic() - began)
            connection.close()
        stop.set()
        for one in attackers:
            one.join()
        assert {401, 413, 415, 422} <= set(wrong) <= {401, 413, 415, 422, 429}
        assert sorted(waited)[int(0.99 * len(waited))] <= 3
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        resident = int(status.split("VmRSS:")[1].split()[0]) // 1024
        assert resident < 500
        for line in held:
            line.close()
    finally:
        server.stop()
    report = verify(folder / "budget.db")
    assert next(one for one in report.budgets if one.name == "visits").entries == 0  # nothing was charged


def test_honest_analysts_are_served_beside_hostile_ones(tmp_path):
    serve_beside_hostile_ones(tmp_path, seconds=5)


@pytest.mark.soak
def test_honest_analysts_are_served_for_minutes_beside_hostile_ones(tmp_path):
    serve_beside_hostile_ones(tmp_path, seconds=300)
