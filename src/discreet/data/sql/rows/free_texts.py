"""Free text, of which nothing public is known: compared with texts and patterns of the request, row by row.

Engines differ in what a backslash says in a pattern, in how they fold letters, and in how long some patterns
take. So patterns are written anew in one form, only A to Z are folded, and patterns have few `%`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

from sqlglot import exp

from discreet.data.plan.canonical import AnySign, conjunction, disjunction, is_there
from discreet.data.plan.row_nodes import FALSE, Condition, Field, TextLike, unescape
from discreet.data.schema.columns import Text
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.operands import Missing, Operand, Truth
from discreet.data.sql.rows.translate import operand
from discreet.data.sql.text import refuse

MAX_ANY = 3
"""How many `%` a pattern may have: an engine may try as many places for each as the text has characters."""
MAX_PATTERNS = 100
"""How many patterns with `%` or `_` one question may compare free text with, each in every row."""
_CASES: dict[str, Literal["lower", "upper"]] = {
    "LOWER": "lower",
    "LCASE": "lower",
    "UPPER": "upper",
    "UCASE": "upper",
}
_AFFIXES = {
    "STARTS_WITH": "{}%",
    "STARTSWITH": "{}%",
    "ENDS_WITH": "%{}",
    "ENDSWITH": "%{}",
    "CONTAINS": "%{}%",
    "CONTAINS_SUBSTR": "%{}%",
}
_REGEXPS = ("REGEXP_CONTAINS", "REGEXP_LIKE", "REGEXP_MATCHES")
_PARTS = re.compile(r"\(\?:|\.[*+]?|\\.?|.", re.DOTALL)
_REPEATED = {".": "_", ".*": "%", ".+": "_%"}


@dataclass(frozen=True, slots=True)
class FreeText:
    """A column of free text, as it is or with A to Z made small or large."""

    field: Field
    case: Literal["lower", "upper"] | None = None


def read_free_text(node: exp.Expression, scope: Scope) -> FreeText | None:
    """Return the free text that a node names; None for anything else."""
    while isinstance(node, exp.Paren):
        (node,) = take(node, "this")
    if isinstance(node, exp.Anonymous):
        case = _CASES.get(str(node.args.get("this")).upper())
        given = node.args.get("expressions") or []
        inner = read_free_text(given[0], scope) if case is not None and len(given) == 1 else None
        return None if inner is None else replace(inner, case=case)
    if not isinstance(node, exp.Column) or not _is_column(node, scope):
        return None
    field = scope.field(node)
    return FreeText(field) if isinstance(scope.column(field), Text) else None


def _is_column(node: exp.Expression, scope: Scope) -> bool:
    """Say whether a name without a table is some column's: CURRENT_DATE and its likes are not."""
    if node.args.get("table") is not None:
        return True
    return any(scope.tables.field(one.name, node.name) is not None for one in scope.names.values())


def compare_text(text: FreeText, sign: AnySign, other: Operand, scope: Scope) -> Condition:
    """Return the condition that free text is, or is not, a text of the request."""
    name = text.field.name
    if isinstance(other, Missing):
        raise refuse(f"{sign} NULL", "no comparison with NULL is true", "Write IS NULL or IS NOT NULL")
    if sign not in ("=", "<>") or not isinstance(other, str):
        why = "free text is compared with text in quotes, by =, <>, IN and LIKE"
        raise refuse(f"{name} {sign} ...", why, "GROUP BY it, or ask the owner to declare its values")
    return _compare(text, _escape(other), scope, negated=sign == "<>", fold=False)


def like_text(
    text: FreeText, pattern: str, escape: str, scope: Scope, *, negated: bool, fold: bool
) -> Condition:
    """Return the condition that free text is, or is not, like a pattern of the request."""
    written = _normalise(pattern, escape)
    scope.work.patterns += unescape(written)[1]
    if scope.work.patterns > MAX_PATTERNS:
        why = f"free text is compared with more than {MAX_PATTERNS} patterns"
        raise refuse("LIKE", why, "Use fewer patterns at once, or IN with whole texts")
    return _compare(text, written, scope, negated=negated, fold=fold)


def read_affix(name: str, given: list[exp.Expression], scope: Scope) -> Truth | None:
    """Return where free text starts with, ends with, holds or matches a text; None for other text."""
    text = read_free_text(given[0], scope) if name in _AFFIXES or name in _REGEXPS else None
    if text is None:
        return None
    wanted = operand(given[1], scope)
    if not isinstance(wanted, str):
        raise refuse(name, "it takes a short text in quotes", f"Write {name}(x, 'text')")
    if name in _REGEXPS:
        found, none = (regexp_text(text, wanted, scope, negated=flip, fold=False) for flip in (False, True))
        return Truth(found, none)
    pattern, fold = _AFFIXES[name].format(_escape(wanted)), name == "CONTAINS_SUBSTR"
    sides = [like_text(text, pattern, "!", scope, negated=flip, fold=fold) for flip in (False, True)]
    return Truth(sides[0], sides[1])


def regexp_text(text: FreeText, pattern: Operand, scope: Scope, *, negated: bool, fold: bool) -> Condition:
    """Return the condition that free text holds, or does not hold, what a regular expression describes.

    It is one that patterns can say as well: texts with `.`, `.*` and `.+`, between `|`, with `^` and `$`.
    As in those of declared texts, `.` is any character, the end of a line among them.
    """
    if not isinstance(pattern, str):
        raise refuse("a regular expression", "it stands in quotes", "Write x ~ 'text'")
    if pattern.startswith("(?i)"):
        pattern, fold = pattern[4:], True
    either = [
        like_text(text, one, "!", scope, negated=negated, fold=fold)
        for one in _split(_PARTS.findall(pattern))
    ]
    return conjunction(either, scope.tables) if negated else disjunction(either, scope.tables)


def _split(parts: list[str]) -> Iterator[str]:
    """Yield the pattern of LIKE for each text between the `|` of a regular expression."""
    if parts and parts[0] in ("(", "(?:") and parts[-1] == ")":
        parts = parts[1:-1]
    while "|" in parts:
        place = parts.index("|")
        yield _to_like(parts[:place])
        parts = parts[place + 1 :]
    yield _to_like(parts)


def _to_like(parts: list[str]) -> str:
    start, end = parts[:1] == ["^"], parts[-1:] == ["$"]
    written = "" if start else "%"
    for one in parts[start : len(parts) - end]:
        if one in _REPEATED:
            written += _REPEATED[one]
        elif one[0] == "\\" and len(one) == 2 and not one[1].isalnum():
            written += _escape(one[1])
        elif len(one) > 1 or one in "\\*+?{}[]()^$":
            why = "of free text it has characters, ., .*, .+, ^, $ and | alone"
            raise refuse("a regular expression", why, "Write x LIKE '%one%' OR x LIKE '%other%'")
        else:
            written += _escape(one)
    return written + ("" if end else "%")


def _compare(text: FreeText, pattern: str, scope: Scope, *, negated: bool, fold: bool) -> Condition:
    folded = fold or text.case is not None
    if folded:
        if any(c.lower() != c.upper() and c not in ascii_lowercase + ascii_uppercase for c in pattern):
            why = "of free text upper and lower case are alike for A to Z only"
            raise refuse(
                f"'{pattern}'", why, "Compare without LOWER, UPPER or ILIKE, or write _ in its place"
            )
        wrong = {"lower": ascii_uppercase, "upper": ascii_lowercase}.get(text.case or "", "")
        if not fold and any(c in wrong for c in pattern):
            word = str(text.case).upper()
            raise refuse(f"'{pattern}'", f"no row can have it: {word} leaves no such letter", "Use ILIKE")
        pattern = pattern.lower()
    if pattern == "%":
        return FALSE if negated else is_there(text.field, scope.tables)
    return TextLike(text.field, (pattern,), folded, negated)


def _normalise(pattern: str, escape: str) -> str:
    """Write a pattern in one way: `!` is what escapes, and each run of `_` and `%` has its `%` last."""
    written, ones, any_text, meant = [], 0, False, False
    for character in [*pattern, ""]:
        if escape and character == escape and not meant:
            meant = True
            continue
        if meant and not character:
            raise refuse("LIKE", "its pattern ends with the character that escapes", "Write it twice")
        if character and character in "%_" and not meant:
            ones, any_text = ones + (character == "_"), any_text or character == "%"
            continue
        written += ["_" * ones, "%" * any_text, _escape(character)]
        ones, any_text, meant = 0, False, False
    if written.count("%") > MAX_ANY:
        why = f"patterns of free text have at most {MAX_ANY} times %"
        raise refuse("LIKE", why, "Write x LIKE '%one%' AND x LIKE '%other%'")
    return "".join(written)


def _escape(text: str) -> str:
    return "".join(f"!{c}" if c in "!%_" else c for c in text)
