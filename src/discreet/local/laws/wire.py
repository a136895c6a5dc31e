"""Surveys and reports as they travel: plain JSON, or one line of JSON and the bytes of many reports.

A survey says what is asked and with which budget: it is public, and all that a device needs. A report repeats
enough of it to be refused where it does not belong: the version of this format, the kind, a digest of the
domain and the exact epsilon.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core.errors import InvalidParameter, Refused

VERSION = 1
"""Changes whenever a report means something else."""
LONGEST = 1 << 26
"""Characters that a survey or a header may have."""
DIGITS = 400
"""Of a number that travels, on either side of the line: all floats have fewer."""
_EPSILON = re.compile(rf"[0-9]{{1,{DIGITS}}}(/[0-9]{{1,{DIGITS}}})?", re.ASCII)
HEX = re.compile(r"(?:[0-9a-f]{2})+", re.ASCII)
"""How payloads are written: `bytes.fromhex` would read blanks as nothing."""
_DIGEST = re.compile(r"[0-9a-f]{16}", re.ASCII)
_WAY_OUT = "Take the survey from the collector again, and send reports made for it"


@dataclass(frozen=True, slots=True)
class Header:
    """What a report says besides its payload."""

    kind: str
    domain: str
    epsilon: Fraction

    def describe(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "version": VERSION,
            "kind": self.kind,
            "domain": self.domain,
            "epsilon": str(self.epsilon),
        }

    @classmethod
    def read(cls, given: dict[str, Any]) -> Header:
        """Read plain data; what is not quite as it should be is refused."""
        if type(given.get("version")) is not int or given["version"] != VERSION:
            raise refuse(f"its version is not {VERSION}")
        kind, domain = given.get("kind"), given.get("domain")
        if not isinstance(kind, str) or not isinstance(domain, str) or not _DIGEST.fullmatch(domain):
            raise refuse("it names no kind, or has no digest of a domain")
        return cls(kind, domain, read_epsilon(given.get("epsilon")))


@dataclass(frozen=True, slots=True)
class SentReport:
    """One report: its header and its payload, the number of the report with the lowest byte first."""

    header: Header
    payload: bytes

    @property
    def code(self) -> int:
        """The number of the report."""
        return int.from_bytes(self.payload, "little")

    def to_json(self) -> str:
        """Write one line of JSON."""
        return write_line({**self.header.describe(), "report": self.payload.hex()})

    @classmethod
    def from_json(cls, text: str | bytes) -> SentReport:
        """Read one line of JSON."""
        given = read_object(text, {"version", "kind", "domain", "epsilon", "report"})
        payload = given["report"]
        if not isinstance(payload, str) or not HEX.fullmatch(payload):
            raise refuse("its payload is not written in hexadecimal digits")
        return cls(Header.read(given), bytes.fromhex(payload))

    def to_bytes(self) -> bytes:
        """Write the header's line and the payload."""
        return write_line(self.header.describe()).encode() + b"\n" + self.payload


def split_bytes(given: bytes) -> tuple[Header, bytes]:
    """Return the header of reports in bytes, and their payloads one after another."""
    line, found, payload = given.partition(b"\n")
    if not found:
        raise refuse("no line ends its header")
    return Header.read(read_object(line, {"version", "kind", "domain", "epsilon"})), payload


def digest_domain(described: Any) -> str:
    """Return sixteen hexadecimal digits that stand for a domain."""
    return hashlib.sha256(write_line(described).encode()).hexdigest()[:16]


def write_survey(kind: str, epsilon: Fraction, described: Any) -> str:
    """Write a survey as one line of JSON."""
    return write_line({"version": VERSION, "kind": kind, "epsilon": str(epsilon), "domain": described})


def read_survey(text: str | bytes) -> tuple[str, Fraction, Any]:
    """Return kind, epsilon and domain of a survey."""
    given = read_object(text, {"version", "kind", "epsilon", "domain"})
    if type(given["version"]) is not int or given["version"] != VERSION:
        raise refuse(f"its version is not {VERSION}")
    if not isinstance(given["kind"], str):
        raise refuse("it names no kind")
    return given["kind"], read_epsilon(given["epsilon"]), given["domain"]


def read_epsilon(given: object) -> Fraction:
    """Read an exact number: digits, or a fraction in lowest terms."""
    if isinstance(given, str) and _EPSILON.fullmatch(given) and not given.endswith("/0"):
        epsilon = Fraction(given) if set(given.partition("/")[2]) != {"0"} else Fraction(0)
        if epsilon > 0 and str(epsilon) == given:
            return epsilon
    raise refuse("its epsilon is no positive fraction in lowest terms")


def require_short(**named: Fraction) -> None:
    """Refuse an exact number that no device would read."""
    for name, number in named.items():
        if max(abs(number.numerator), number.denominator) >= 10**DIGITS:
            rule = f"a fraction of at most {DIGITS} digits above the line and below"
            raise InvalidParameter(name=name, rule=rule, got="a longer one", hint="Round it to fewer digits")


def read_object(text: object, keys: set[str]) -> dict[str, Any]:
    """Read an object of JSON with just these keys, each once."""
    if not isinstance(text, str | bytes) or len(text) > LONGEST:
        raise refuse("it is no text of JSON, or too long")
    try:
        given = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise refuse("it is no JSON") from None
    if not isinstance(given, dict) or set(given) != keys:
        raise refuse(f"it has other fields than {', '.join(sorted(keys))}")
    return given


def refuse(why: str) -> Refused:
    """Return the error for a report or a survey that is not ours."""
    return Refused(what="report", why=why, way_out=_WAY_OUT)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def write_line(given: Any) -> str:
    """Write plain data as one line of JSON, always the same."""
    return json.dumps(given, separators=(",", ":"), ensure_ascii=True, sort_keys=isinstance(given, dict))
