"""Small tables as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

Cells = Sequence[Sequence[str]]
"""Rows of cells; the first row is the header."""


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
