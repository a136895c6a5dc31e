"""From text to a parse tree, within stated limits, and the DIFFERENTIAL_PRIVACY clause cut out of the tokens.

The dialect knows no function: every call arrives as a name with arguments, so nothing that the parser library
takes for known can slip past the translation. What has words of its own within its brackets (CASE, CAST,
EXTRACT, SUBSTRING, TRIM, POSITION) is read by the library into nodes that are translated like all others.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.core.errors import Refused

MAX_CHARACTERS = 20_000
MAX_TOKENS = 4_096
MAX_DEPTH = 32
_SHOWN = 40
_PUBLIC = "What is declared is public: ask the owner for the schema, and of the rows COUNT(*), AVG(x), MIN(x)"
_NOTHING = "Nothing is written here: ask by SELECT ... FROM a declared table"
_INSTEAD = {
    "PIVOT": "Write SELECT key, COUNT(*) FILTER (WHERE x = 'a') AS a, ... FROM t GROUP BY key",
    "SUMMARIZE": _PUBLIC,
    "DESCRIBE": _PUBLIC,
    "DESC": _PUBLIC,
    "SHOW": _PUBLIC,
    "EXPLAIN": "Send the SELECT itself to plan, which tells its price and errors and reads nothing",
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "MERGE", "COPY"), _NOTHING),
}
"""What to write in the place of statements that begin with another word."""
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_NUMBER = re.compile(r"(\d{1,18})(?:\.(\d{0,18}))?(?:[eE]([+-]?\d{1,2}))?")


class DiscreetSql(Dialect):
    """Standard SQL with names in backticks or double quotes, and without functions of its own."""

    class Tokenizer(tokens.Tokenizer):
        """Strings stand in single quotes only."""

        QUOTES = ["'"]  # noqa: RUF012  # the library's way to declare a dialect
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012
        RAW_STRINGS = [("r'", "'"), ("R'", "'")]  # noqa: RUF012
        KEYWORDS = {**tokens.Tokenizer.KEYWORDS, "//": TokenType.DIV}  # noqa: RUF012
        TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = set()  # a hint is a comment: no engine sees it

    class Parser(parser.Parser):
        """Functions are names, whatever they are called, but for those that have words between brackets."""

        FUNCTIONS = {}  # noqa: RUF012
        FUNC_TOKENS = {*parser.Parser.FUNC_TOKENS, TokenType.DIV}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser.Parser.FUNCTION_PARSERS[name]
            for name in ("CAST", "EXTRACT", "POSITION", "SAFE_CAST", "SUBSTRING", "TRIM", "TRY_CAST")
        }
        NO_PAREN_FUNCTIONS = {}  # noqa: RUF012
        RANGE_PARSERS = {  # noqa: RUF012
            **parser.Parser.RANGE_PARSERS,
            TokenType.TILDE: parser.binary_range_parser(exp.RegexpLike),
        }
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            "CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]
        }


_said: ContextVar[list[str] | None] = ContextVar("said", default=None)


def _keep_back(record: logging.LogRecord) -> bool:
    """Let a record of the parser library pass, unless it is about a request: nobody else is to read that."""
    said = _said.get()
    if said is not None:
        said.append(record.levelname)
    return said is None


logging.getLogger("sqlglot").addFilter(_keep_back)


@contextmanager
def _listen() -> Iterator[list[str]]:
    """Keep back what the parser library says meanwhile, and give a list of it."""
    said: list[str] = []
    token = _said.set(said)
    try:
        yield said
    finally:
        _said.reset(token)


def refuse(what: str, why: str, way_out: str) -> Refused:
    """Return the error, with the part of the request cut to a readable length."""
    return Refused(what=shorten(what), why=why, way_out=way_out)


def shorten(text: str, most: int = _SHOWN) -> str:
    """Return a piece of the request as one short printable line."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return plain if len(plain) <= most else plain[: most - 3] + "..."


def parse_text(text: str) -> tuple[exp.Select | exp.SetOperation, tuple[tuple[str, Token], ...]]:
    """Return the one SELECT of a text, or several below one another, and the options of its clause."""
    found = _tokens(text)
    rest, options = _cut_clause(found)
    try:
        with _listen() as said:
            trees = DiscreetSql().parser().parse(rest, text)
    except (SqlglotError, RecursionError) as error:
        raise _refuse_unread(error) from None
    if said:
        # What the parser library only warns of, it has not understood either.
        raise _refuse_unread(SqlglotError())
    tree = trees[0] if len(trees) == 1 else None
    while isinstance(tree, exp.Subquery) and set(filter(tree.args.get, tree.args)) == {"this"}:
        tree = tree.this
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise refuse("SQL", "it must be exactly one SELECT", "Send one query at a time")
    return tree, options


def _refuse_unread(error: Exception) -> Refused:
    """Say where."""
    known = error.errors if isinstance(error, ParseError) else []
    found = str(known[0].get("highlight") or "") if known else ""
    near = f" near {found}" if found else ""
    quoted = "; a column that is called like a word of SQL stands in double quotes" * found.isidentifier()
    way_out = f"Write SELECT, FROM, WHERE and GROUP BY, in this order{quoted}"
    return refuse(f"SQL{near}", "it is not understood", way_out)


def number(text: str, what: str) -> Fraction:
    """Return the value of a number as it was written."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        why = "numbers have at most 18 digits on either side of the point and an exponent of at most 99"
        raise refuse(what, why, "Write it as 0.5 or 1e-6")
    return Fraction(text)


def _tokens(text: str) -> list[Token]:
    if not isinstance(text, str):
        raise refuse("SQL", "it must be text", "Send the query as a string")
    if len(text) > MAX_CHARACTERS:
        raise refuse("SQL", f"it has more than {MAX_CHARACTERS} characters", "Ask a shorter question")
    if not all(c.isprintable() or c in "\t\n\r" for c in text):
        raise refuse("SQL", "it holds a character that cannot be printed", "Use plain text")
    try:
        found = list(DiscreetSql().tokenize(text))
    except SqlglotError:
        raise refuse("SQL", "a quote is not closed", "Close every ' and \" and `") from None
    while found and found[-1].token_type == TokenType.SEMICOLON:
        found.pop()
    for token in found:
        token.comments = []  # they say nothing about the question
    if any(token.token_type == TokenType.SEMICOLON for token in found):
        raise refuse(";", "it must be exactly one SELECT", "Send one query at a time")
    opening = next((token for token in found if token.token_type != TokenType.L_PAREN), None)
    if opening is None or opening.token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.FROM):
        first = found[0].text.upper() if found else ""
        what = first if first in _INSTEAD else "SQL"
        way_out = _INSTEAD.get(first, "Write SELECT ... FROM a declared table")
        raise refuse(what, "it must begin with SELECT, WITH or FROM", way_out)
    _check_size(found)
    second, third = (token.text.upper() for token in (found + found[-1:] * 2)[1:3])
    if found[0].token_type == TokenType.SELECT and second == "TOP" and third.isdecimal():
        raise refuse(f"TOP {third}", "it is not part of the language", f"Write LIMIT {third} at the end")
    return found


def _check_size(found: Sequence[Token]) -> None:
    if len(found) > MAX_TOKENS:
        raise refuse("SQL", f"it has more than {MAX_TOKENS} words", "Ask a shorter question")
    prefix = (TokenType.NOT, TokenType.DASH, TokenType.PLUS)
    opened: list[bool] = []  # for each bracket that is open, whether it follows the name of a type
    run = 0
    for before, token in zip([None, *found], found, strict=False):
        if token.token_type in _OPENING:
            opened.append(before is not None and before.token_type in parser.Parser.TYPE_TOKENS)
        elif token.token_type in _CLOSING and opened:
            opened.pop()
        run = run + 1 if token.token_type in prefix else 0
        if len(opened) + run > MAX_DEPTH:
            raise refuse("SQL", f"it is nested more than {MAX_DEPTH} deep", "Ask a simpler question")
        if sum(opened) > 1:
            # The parser library reads such a bracket twice, as a type and as a call, and so all within it.
            raise refuse("a type in a type", "it is not part of the language", "Compare columns as they are")


def _find_select(found: Sequence[Token]) -> int:
    """Return the place of the first SELECT, which common table expressions may stand before.

    It is in no brackets but those that the text begins with.
    """
    depth = -next((place for place, token in enumerate(found) if token.token_type not in _OPENING), 0)
    for place, token in enumerate(found):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if not depth and token.token_type == TokenType.SELECT:
            return place
    return 0


def _cut_clause(found: list[Token]) -> tuple[list[Token], tuple[tuple[str, Token], ...]]:
    """Take `WITH DIFFERENTIAL_PRIVACY OPTIONS (...)` out of the tokens; no SQL parser knows it."""
    start = _find_select(found)
    if len(found) < start + 2 or found[start + 1].token_type != TokenType.WITH:
        return found, ()
    way_out = "Write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (name = value, ...)"
    words = [token.text.upper() for token in found[start + 2 : start + 5]]
    if words != ["DIFFERENTIAL_PRIVACY", "OPTIONS", "("]:
        raise refuse("SELECT WITH", "only the DIFFERENTIAL_PRIVACY clause is known", way_out)
    options: list[tuple[str, Token]] = []
    place = start + 5
    while True:
        name, equals, value, end = (found[place : place + 4] + [None] * 4)[:4]
        if name is None or equals is None or value is None or end is None:
            raise refuse("OPTIONS", "the clause is not closed", way_out)
        if name.token_type != TokenType.VAR or equals.token_type != TokenType.EQ:
            raise refuse(f"OPTIONS ... {name.text}", "each option is a name, = and one value", way_out)
        if value.token_type not in (TokenType.NUMBER, TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING):
            why = "the value must be one positive number or name"
            raise refuse(f"{name.text} = {value.text}", why, way_out)
        options.append((name.text.lower(), value))
        place += 4
        if end.token_type == TokenType.R_PAREN:
            return [*found[: start + 1], *found[place:]], tuple(options)
        if end.token_type != TokenType.COMMA:
            raise refuse(f"{name.text} = {value.text}{end.text}", "it is more than one value", way_out)
