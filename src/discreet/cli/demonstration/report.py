"""The page the demo writes: what was asked, what came back, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from discreet import plots
from discreet.curator.reply import Reply


@dataclass
class DemoResult:
    """What one analyst asked and how far the answers were off, which only a demo can know."""

    who: str
    asked: int = 0
    measured: int = 0
    misses: list[float] = field(default_factory=list)
    shown: list[tuple[str, Reply]] = field(default_factory=list)

    @property
    def off(self) -> float:
        """How far the answers were off on average."""
        return float(np.mean(self.misses))

    def add(self, answers: Iterable[tuple[str, float, float]]) -> None:
        """Note answers as (kind, value, truth)."""
        for kind, value, truth in answers:
            self.asked += 1
            self.measured += kind == "measured"
            self.misses.append(abs(value - truth))


def write_report(lines: Sequence[DemoResult], *, budget: str, left: str, alone: float) -> str:
    """Return the page as HTML."""
    questions = sum(line.asked for line in lines)
    off = sum(line.off * line.asked for line in lines) / questions
    rows = "".join(
        _row(line.who, f"{line.asked:,}", f"{line.measured}", f"{line.off:,.0f}") for line in lines
    )
    sections = "".join(
        f"<section><pre>{escape(text)}</pre>{_picture(text, reply)}{reply._repr_html_()}</section>"
        for line in lines
        for text, reply in line.shown
    )
    return _PAGE.format(
        budget=escape(budget),
        rows=rows,
        sections=sections,
        left=escape(left),
        questions=f"{questions:,}",
        comparison=plots.bars(
            ("shared hypothesis", "noise for each"),
            (round(off), round(alone)),
            None,
            title=f"How far {questions:,} answers are off on average, in people",
        ),
    )


def _row(who: str, *numbers: str) -> str:
    cells = "".join(f'<td class="number">{cell}</td>' for cell in numbers)
    return f"<tr><td>{escape(who)}</td>{cells}</tr>"


def _picture(text: str, reply: Reply) -> str:
    """Draw the first column of numbers with its error bars."""
    name = next(iter(reply.intervals))
    values = [float(value) for value in reply.column(name)]
    labels = [
        ", ".join(str(v) for n, v in zip(reply.columns, row, strict=True) if n not in reply.intervals) or name
        for row in reply.rows
    ]
    ends = [(float(low), float(high)) for low, high in reply.intervals[name]]
    return f"<figure>{plots.bars(labels, values, ends, title=name.replace('_', ' '))}</figure>"


_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>discreet: the demo's report</title>
<style>
body{{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;color:#1c2733}}
table{{border-collapse:collapse}}td,th{{padding:.2rem .8rem;border-bottom:1px solid #d9dee4;text-align:left}}
.number{{text-align:right;font-variant-numeric:tabular-nums}}
figure{{margin:1.5rem 0}}svg{{max-width:100%;height:auto}}section{{margin:2.5rem 0}}
pre{{background:#f4f6f8;padding:.6rem;white-space:pre-wrap}}
</style>
<h1>{questions} questions, one budget</h1>
<p>Three analysts asked about 61,395 survey respondents through one curator. Everything they saw together
promises {budget}: whether any one person is in the table changes the probability of all of it by little.</p>
<table><tr><th>analyst</th><th>counts asked</th><th>measured</th><th>off by on average</th></tr>{rows}</table>
<figure>{comparison}</figure>
<p>A question is measured where the shared hypothesis is not good enough; all others cost nothing. Left for
questions that are priced by themselves, such as averages: {left}.</p>
<h2>Some of the answers</h2>
<p>Red bars are 95 % intervals: those of counts hold each by itself, those of averages all of a picture at
once.</p>
{sections}
</html>"""
