"""A key stands for one request, whether it came in the server's own process or over HTTP."""

import pytest

from discreet.core.errors import InvalidParameter
from discreet.server.access import KeyFacts

MEAN = "SELECT AVG(age) AS m FROM visits WHERE ward = 'north'"


def test_a_key_has_the_same_reply_in_process_and_over_http(served):
    key = served.key("both")
    dataset = served.datasets.get("visits")
    door = served.datasets.find_door(dataset, KeyFacts("0" * 16, "both", "analyst", 0))
    here = door.sql(MEAN, insist=True, key="2026-11/1")
    entries = len(dataset.curator.ledger.entries())
    status, there = served.ask(MEAN, key=key, insist=True, headers={"Idempotency-Key": "2026-11/1"})
    assert status == 200 and there["rows"] == [list(row) for row in here.rows]
    assert there["receipt"]["digest"] == here.receipt.digest
    status, _ = served.ask(MEAN, key=key, headers={"Idempotency-Key": "2026-11/1"})
    assert status == 422, "without insist it is another request"
    assert len(dataset.curator.ledger.entries()) == entries
    assert [asked.kind for asked in door.history] == ["priced"], "a reply that is sent again is no question"


@pytest.mark.parametrize("key", ["a b", "\u00e9", "k" * 256])
def test_what_is_no_key_there_is_none_here(served, key):
    door = served.datasets.get("visits").curator.analyst("spelling")
    with pytest.raises(InvalidParameter, match="1 to 255 visible ASCII"):
        door.sql(MEAN, key=key)
    secret = served.key("spelling")
    status, _ = served.ask(MEAN, key=secret, headers={"Idempotency-Key": key.encode("latin-1")})
    assert status in (400, 422)
