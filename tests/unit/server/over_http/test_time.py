"""Time as it is seen from outside: the same for every answer, whoever is in the data and who else asks."""

import http.client
import itertools
import json
import time

import numpy as np
import pytest
from scipy import stats
from tests.unit.server.conftest import serving, write_home

from discreet.data.table import Table

TICK = 0.08


def clock_replies(server, bodies, key):
    """Return how long each reply took, in ticks since the one before."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    seconds, said = [], []
    for body in bodies:
        began = time.monotonic()
        connection.request("POST", "/v1/datasets/visits/queries", json.dumps(body), headers)
        said.append(json.loads(connection.getresponse().read()))
        seconds.append(time.monotonic() - began)
    connection.close()
    return np.array(seconds), said


def ask_many(server, key, count):
    """Ask the same number again and again, paying each time, as nobody else does."""
    bodies = [
        {
            "sql": f"SELECT COUNT(*) AS n FROM visits WHERE age <> {k % 100} OR age < {k // 100}",
            "insist": True,
            "fresh": True,
        }
        for k in range(count)
    ]
    return clock_replies(server, bodies, key)


def plant_delay(monkeypatch, find_seconds):
    """Let the engine take a time that tells of what it found."""
    answer = Table.answer

    def answer_slowly(table, plan):
        found = answer(table, plan)
        time.sleep(find_seconds(found.rows[0][0]))
        return found

    monkeypatch.setattr(Table, "answer", answer_slowly)


def correlation(tmp_path, tick, count):
    with serving(write_home(tmp_path, rows=300, tick=tick, options="question = [0.0001, 0]")) as server:
        seconds, said = ask_many(server, server.key(), count)
    noise = [abs(one["rows"][0][0] - 300) for one in said]
    return abs(stats.spearmanr(seconds[1:], noise[1:]).statistic), seconds[1:]


def test_the_time_of_a_reply_says_nothing_of_its_noise(tmp_path):
    found, seconds = correlation(tmp_path, TICK, 100)
    assert found < 0.33  # of what is independent, beyond it once in a thousand times
    places = np.round(seconds / TICK)
    assert np.median(places) >= 1  # whoever asks at a tick hears at the next one
    # All leave at ticks, though a machine under load wakes up late: evenly spread times would give a half.
    assert np.mean(np.abs(seconds - places * TICK) < TICK / 4) > 0.65


@pytest.mark.soak
def test_the_time_of_two_thousand_replies_says_nothing_of_their_noise(tmp_path):
    found, _ = correlation(tmp_path, TICK, 2000)
    assert found < 0.08


def test_without_ticks_a_sampler_whose_time_tells_of_its_noise_is_seen(tmp_path, monkeypatch):
    plant_delay(monkeypatch, lambda value: min(0.15, abs(value - 300) / 10**5))
    found, _ = correlation(tmp_path, 0, 40)
    assert found > 0.5


def tell_apart(tmp_path, monkeypatch, tick, count, *, planted):
    """Ask about a table with somebody, at whom the engine takes long, and without; return both times."""
    plant_delay(monkeypatch, lambda _: planted * slow[0])
    slow, times = [False], {True: [], False: []}
    with serving(write_home(tmp_path, rows=300, tick=tick, options="question = [0.0001, 0]")) as server:
        key, asked = server.key(), itertools.count()
        while len(times[False]) < count:
            for slow[0] in (True, False):
                bodies = [
                    {"sql": f"SELECT COUNT(*) AS n FROM visits WHERE age <> {k % 100} OR age < {k // 100}"}
                    | {"insist": True, "fresh": True}
                    for k in itertools.islice(asked, 9)
                ]
                # The first is asked at any moment, all others when a reply has just left.
                times[slow[0]] += list(clock_replies(server, bodies, key)[0][1:])
    return times


def test_the_time_of_a_reply_does_not_tell_who_is_there(tmp_path, monkeypatch):
    """Q8: an engine that takes long where somebody is there is seen without ticks, and not with them."""
    (tmp_path / "bare").mkdir()
    times = tell_apart(tmp_path / "bare", monkeypatch, 0, 24, planted=0.15)
    assert stats.ks_2samp(times[True], times[False]).pvalue < 1e-4
    times = tell_apart(tmp_path, monkeypatch, 0.6, 16, planted=0.1)
    assert stats.ks_2samp(times[True], times[False]).pvalue > 1e-4


@pytest.mark.soak
def test_three_hundred_replies_each_do_not_tell_who_is_there(tmp_path, monkeypatch):
    times = tell_apart(tmp_path, monkeypatch, 0.6, 300, planted=0.1)
    assert stats.ks_2samp(times[True], times[False]).pvalue > 1e-4
    for one in times.values():
        assert np.mean(np.round(np.array(one) / 0.6) == 1) >= 0.99
