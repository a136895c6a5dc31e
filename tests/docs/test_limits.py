"""The page of the server names the limits that are in the source, in the order of its table."""

import re
from pathlib import Path

from discreet.curator import failures, limits
from discreet.data.plan import effort
from discreet.data.sql import text
from discreet.server import app, fair_queue, gate, requests, serving, strict_json

PAGE = Path(__file__).parents[2] / "docs/server.md"
LIMITS = [
    *(gate.BODY, gate.COUNTS_BODY),
    *(strict_json.NAMES, strict_json.DIGITS),
    gate.SECONDS,
    serving.CONNECTIONS,
    *(app.RATE, app.BURST),
    *(fair_queue.WAITING, fair_queue.AT_ONCE),
    *(text.MAX_CHARACTERS, text.MAX_TOKENS, text.MAX_DEPTH),
    effort.MAX_STEPS,
    *(requests.COUNTS, limits.GROUPS),
    limits.ENTRIES,
    *(limits.KEYS, limits.KEPT),
    failures.MOST,
]


def test_limits_are_those_of_the_source():
    section = PAGE.read_text().split("## Limits\n")[1].split("\n## ")[0]
    cells = [line.split("|")[2] for line in section.splitlines() if line.startswith("| ")][1:]
    named = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?<!,)", " ".join(cells))]
    assert named == LIMITS
    assert serving.HEADER_SECONDS == gate.SECONDS
    assert requests.SQL == text.MAX_CHARACTERS
