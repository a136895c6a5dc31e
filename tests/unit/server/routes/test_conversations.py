import json

from tests.unit.server.conftest import serving, write_home

PATH = "/v1/datasets/visits/conversations"
WANTED = {"columns": ["ward", "age"], "epsilon": 0.25, "delta": 0}
CLAUSE = {"conjunctions": [{"ward": ["north"]}, {"age": list(range(50))}]}


def test_a_conversation_of_ones_own_goes_on_when_the_server_starts_again(tmp_path):
    home, told = write_home(tmp_path, options="expects = 10"), []
    for _ in range(2):
        with serving(home) as server:
            key = server.key() if not told else told[0][0]
            sent = {"Idempotency-Key": "mine"}
            status, _, said = server.send("POST", PATH, WANTED, key=key, headers=sent)
            assert status == 200, said
            called = json.loads(said)["conversation"]
            counts = server.send("POST", f"{PATH}/{called}/counts", CLAUSE, key=key)
            left = server.send("GET", "/v1/datasets/visits/budget", key=key)
            told.append((key, said, json.loads(counts[2])["values"], left[2]))
    assert told[0] == told[1]
    with serving(home) as server:
        assert server.send("DELETE", f"{PATH}/{called}", key=key)[0] == 200
    with serving(home) as server:
        assert server.send("POST", f"{PATH}/{called}/counts", CLAUSE, key=key)[0] == 410
