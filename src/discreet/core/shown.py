"""How results are shown: small tables as text and as HTML, single values as a person writes them, frames."""

from __future__ import annotations

import html
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.errors import MissingExtra

Cells = Sequence[Sequence[str]]
"""Rows of cells; the first row is the header."""

ROWS = 20
"""How many rows of a table are printed."""

_LARGE = 1_000_000  # from here on floats are printed without decimals, and never with an exponent


def text_table(cells: Cells, notes: Sequence[str]) -> str:
    """Return aligned columns with notes below."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join([*(line.rstrip() for line in lines), *notes])


def html_table(cells: Cells, notes: Sequence[str]) -> str:
    """Return an HTML table with notes below; every cell is escaped."""
    head, *body = cells
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body
    )
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{below}"


def more_rows(count: int) -> list[str]:
    """Return a note about the rows that are not printed, where there are any."""
    return [f"... and {count - ROWS} more rows"] if count > ROWS else []


def value_text(value: Any) -> str:
    """Print one value of a table: six digits of a float, no exponents, nothing that cannot be printed."""
    if isinstance(value, tuple):
        return ", ".join(map(value_text, value))
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < _LARGE else f"{value:.0f}"
    text = str(value)
    return text if text.isprintable() else ascii(value)


def data_frame(columns: Mapping[str, Any]) -> Any:
    """Return a pandas frame."""
    try:
        pandas: Any = importlib.import_module("pandas")
    except ImportError:
        raise MissingExtra(package="pandas") from None
    return pandas.DataFrame(dict(columns))
