"""Patterns of LIKE for Spark, which would try every place for each `%` again and again.

Spark turns a pattern into a regular expression of Java, and that takes the square of a text's length for
three `%`: one person's long text would keep a question busy until its time is up, and that would tell about
it. What stands between two `%` may as well be found at its first place, for good: then the rest has most
room. An atomic group says so, and the time grows with the text.
"""

from __future__ import annotations

from typing import cast

from sqlglot import exp

from discreet.core.errors import InternalError
from discreet.data.engines.cells import spell

_END = "(?!.)"  # of the text, whatever it ends with


def match_in_order(query: exp.Query) -> exp.Query:
    """Return a query with regular expressions in the place of patterns."""

    def write(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Escape) and isinstance(node.this, exp.Like):
            node = node.this
        if not isinstance(node, exp.Like):
            return node
        pattern = node.expression
        if not isinstance(pattern, exp.Decode):
            raise InternalError("a pattern is spelled by its bytes")
        said = bytes.fromhex(pattern.this.this.this).decode()
        written = exp.Decode(
            this=exp.Unhex(this=spell(to_regexp(said))), charset=pattern.args["charset"].copy()
        )
        return exp.RegexpLike(this=node.this, expression=written)

    return cast("exp.Query", query.transform(write))


def to_regexp(pattern: str) -> str:
    """Return the regular expression of a pattern of a plan, in which `!` says that the next one is meant."""
    parts, meant = [""], False
    for character in pattern:
        if character == "!" and not meant:
            meant = True
        elif character == "%" and not meant:
            parts.append("")
        else:
            parts[-1] += "." if character == "_" and not meant else _write(character)
            meant = False
    first, *between = parts
    if not between:
        return rf"(?s)\A{first}{_END}"
    *between, last = between
    found = "".join(f"(?>.*?{part})" for part in between)
    return rf"(?s)\A{first}{found}" + (f".*{last}{_END}" if last else "")


def _write(character: str) -> str:
    """Write a character that means itself: of ASCII, only letters and digits surely do."""
    plain = character.isalnum() or ord(character) > 0x7F
    return character if plain else f"\\x{ord(character):02x}"
