"""Replies, quotes and history as plain JSON values, for clients that are not in this process.

What is read is what was shown: values, intervals at 95 %, what it cost. The released numbers behind a reply
stay where they were made, so another form of it, or another confidence, has to be asked for there.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, get_args

from discreet.core.errors import InvalidParameter
from discreet.curator.amounts import Amounts
from discreet.curator.history import AskedQuestion, Quote
from discreet.curator.kept.written_values import read_value, write_value
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.reply import CONFIDENCE, Interval, Kind, Reply, SentReply
from discreet.data.pricing.question_plan import ColumnError

Written = dict[str, Any]


def write_reply(reply: Reply) -> Written:
    """Return a reply as plain JSON values."""
    return {
        "columns": list(reply.columns),
        "keys": list(reply.keys),
        "rows": [[write_value(one) for one in row] for row in reply.rows],
        "intervals": _write_intervals(reply.intervals),
        "together": _write_intervals(reply.together) if reply.is_proved else None,
        "confidence": str(CONFIDENCE),
        "holds": "each by itself, calibrated" if reply.is_proved else "all of a column at once, proved",
        "groups": reply.groups,
        "kind": reply.kind,
        "cost": write_amounts(reply.cost),
        "repeated": reply.repeated,
        "caps": list(reply.caps),
        "receipt": None if reply.receipt is None else write_receipt(reply.receipt),
    }


def read_reply(written: Mapping[str, Any]) -> Reply:
    """Return the reply that was written, without the numbers behind it.

    Raises
    ------
    InvalidParameter
        When it is no reply, or not one of this version.
    """
    try:
        kind, receipt, together = (written[name] for name in ("kind", "receipt", "together"))
        columns, rows = _texts(written["columns"]), tuple(map(_read_row, _list(written["rows"])))
        if kind not in get_args(Kind) or written["confidence"] != str(CONFIDENCE):
            raise _not_written("reply")
        if any(len(row) != len(columns) for row in rows):
            raise _not_written("reply")
        return Reply(
            columns=columns,
            rows=rows,
            intervals=_read_intervals(written["intervals"], columns, len(rows)),
            kind=kind,
            cost=read_amounts(written["cost"]),
            repeated=written["repeated"] is True,
            receipt=None if receipt is None else read_receipt(receipt),
            caps=_texts(written.get("caps", [])),  # not said by servers of old
            sent=SentReply(
                _texts(written["keys"]),
                int(written["groups"]),
                None if together is None else _read_intervals(together, columns, len(rows)),
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        raise _not_written("reply") from None


def write_quote(quote: Quote) -> Written:
    """Return a quote as plain JSON values. Its guarantee is said in words."""
    return {
        "kind": quote.kind,
        "columns": _write_errors(quote.columns),
        "together": _write_errors(quote.together),
        "cost": write_amounts(quote.cost),
        "guarantee": None if quote.guarantee is None else str(quote.guarantee),
        "words": quote.words,
        "refusal": quote.refusal,
    }


def read_quote(written: Mapping[str, Any]) -> Quote:
    """Return the quote that was written; its guarantee stayed where it was made."""
    try:
        return Quote(
            kind=str(written["kind"]),
            columns=_read_errors(written["columns"]),
            cost=read_amounts(written["cost"]),
            words=str(written["words"]),
            together=_read_errors(written["together"]),
            refusal=None if written["refusal"] is None else _text(written["refusal"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _not_written("quote") from None


def write_asked(asked: AskedQuestion) -> Written:
    """Return a question of a history as plain JSON values."""
    return {
        "number": asked.number,
        "what": asked.what,
        "kind": asked.kind,
        "repeated": asked.repeated,
        "cost": write_amounts(asked.cost),
    }


def read_asked(written: Mapping[str, Any]) -> AskedQuestion:
    """Return the question that was written."""
    try:
        return AskedQuestion(
            number=int(written["number"]),
            what=str(written["what"]),
            kind=str(written["kind"]),
            repeated=bool(written["repeated"]),
            cost=read_amounts(written["cost"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _not_written("question") from None


def write_receipt(receipt: Receipt) -> Written:
    """Return a receipt as plain JSON values."""
    return {name: getattr(receipt, name) for name in ("book", "ledger", "number", "place", "digest")}


def read_receipt(written: Mapping[str, Any]) -> Receipt:
    """Return the receipt that was written."""
    try:
        book, ledger, digest = (str(written[name]) for name in ("book", "ledger", "digest"))
        return Receipt(book, ledger, int(written["number"]), int(written["place"]), digest)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _not_written("receipt") from None


def _not_written(what: str) -> InvalidParameter:
    return InvalidParameter(name="written", rule=f"a {what} as this version writes it", got="something else")


def write_amounts(amounts: Mapping[str, Fraction]) -> dict[str, str]:
    """Return exact amounts as text."""
    return {name: str(amount) for name, amount in amounts.items()}


def read_amounts(written: Mapping[str, str]) -> Amounts:
    """Return the amounts that were written."""
    return Amounts({_text(name): Fraction(_text(amount)) for name, amount in written.items()})


def _write_intervals(intervals: Mapping[str, tuple[Interval, ...]]) -> dict[str, list[list[Any]]]:
    return {
        name: [[write_value(low), write_value(high)] for low, high in ends]
        for name, ends in intervals.items()
    }


def _read_intervals(
    written: Mapping[str, Any], columns: tuple[str, ...], rows: int
) -> dict[str, tuple[Interval, ...]]:
    """Return intervals of columns that are there, one a row."""
    found = {
        columns[columns.index(name)]: tuple((read_value(low), read_value(high)) for low, high in _list(ends))
        for name, ends in written.items()
    }
    if any(len(ends) != rows for ends in found.values()):
        raise _not_written("reply")
    return found


def _read_row(written: Any) -> tuple[Any, ...]:
    return tuple(map(read_value, _list(written)))


def _texts(written: Any) -> tuple[str, ...]:
    return tuple(map(_text, _list(written)))


def _text(written: Any) -> str:
    if not isinstance(written, str):
        raise TypeError
    return written


def _list(written: Any) -> list[Any]:
    if not isinstance(written, list):
        raise TypeError
    return written


def _write_errors(columns: tuple[ColumnError, ...]) -> list[Written]:
    return [{"name": one.name, "error": write_value(one.error), "words": one.words} for one in columns]


def _read_errors(written: Any) -> tuple[ColumnError, ...]:
    return tuple(
        ColumnError(str(one["name"]), read_value(one["error"]), str(one["words"])) for one in written
    )
