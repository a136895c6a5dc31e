"""Pictures as plain SVG text: for reports, notebooks and pages, with no plotting library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

_INK, _BAR, _SPAN, _FAINT = "#1c2733", "#4c78a8", "#d1495b", "#d9dee4"
_SERIES = (
    *("#4c78a8", "#d1495b", "#2a9d8f", "#e9a23b", "#6b4c9a"),
    *("#7a5c3e", "#e07bb0", "#59633f", "#17a3c4", "#8a8f98"),
)
_DASHES = ("none", "15 5", "7 5", "3 4", "1 3")  # so that a curve under another one still shows
_LETTER = 7.5  # about the width of one


class Picture(str):
    """SVG text, which a notebook shows as the picture that it is."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float]] | None,
    *,
    title: str,
    width: int = 640,
) -> Picture:
    """Draw horizontal bars from zero, each with its interval as an error bar where there are any."""
    row, top = 26, 40
    ends = intervals or [(value, value) for value in values]
    texts = [_write_value(value, *span) for value, span in zip(values, ends, strict=True)]
    left = 24 + _LETTER * max((len(label) for label in labels), default=0)
    right = 24 + _LETTER * max((len(text) for text in texts), default=0)
    low = min([0.0, *values, *(a for a, _ in ends)])
    high = max([low + 1e-12, *values, *(b for _, b in ends)])
    height = top + row * len(labels) + 12

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * max(60.0, width - left - right)

    parts = [_open(width, height, title)]
    for k, (label, value, span, text) in enumerate(zip(labels, values, ends, texts, strict=True)):
        y = top + k * row
        middle = y + row / 2 - 3
        start, end = sorted((x(0.0), x(value)))
        parts.append(
            f'<text x="{left - 8:.1f}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{row - 6}" fill="{_BAR}"/>'
        )
        if intervals is not None:
            parts.append(
                f'<path d="M{x(span[0]):.1f} {middle}H{x(span[1]):.1f}" stroke="{_SPAN}" stroke-width="3"/>'
            )
        parts.append(f'<text x="{max(end, x(span[1])) + 6:.1f}" y="{middle + 4}">{escape(text)}</text>')
    return Picture("".join([*parts, "</svg>"]))


def curves(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    width: int = 640,
    height: int = 360,
) -> Picture:
    """Draw several curves on logarithmic axes; every coordinate must be positive."""
    return _draw(series, _decades, title=title, x_label=x_label, y_label=y_label, width=width, height=height)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    width: int = 640,
    height: int = 360,
) -> Picture:
    """Draw several curves on even axes."""
    return _draw(
        series, _even_axis, title=title, x_label=x_label, y_label=y_label, width=width, height=height
    )


@dataclass(frozen=True)
class _Axis:
    """Where values lie between 0 and 1, and which of them have a line and a number."""

    place: Callable[[float], float]
    marks: Sequence[float]


def _decades(values: Sequence[float]) -> _Axis:
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values))), low + 1)
    return _Axis(
        lambda value: (math.log10(value) - low) / (high - low), [10.0**k for k in range(low, high + 1)]
    )


def _even_axis(values: Sequence[float]) -> _Axis:
    """Mark round numbers, about five of them, between the smallest value and the largest."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))
    marks = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return _Axis(lambda value: (value - low) / (high - low), marks)


def _draw(
    series: Mapping[str, Sequence[tuple[float, float]]],
    axis: Callable[[Sequence[float]], _Axis],
    *,
    title: str,
    x_label: str,
    y_label: str,
    width: int,
    height: int,
) -> Picture:
    left, top, bottom = 64, 40, 46
    right = math.ceil(40 + _LETTER * max(map(len, series)))
    points = [point for line in series.values() for point in line]
    across, upwards = axis([p[0] for p in points]), axis([p[1] for p in points])

    def x(value: float) -> float:
        return left + across.place(value) * (width - left - right)

    def y(value: float) -> float:
        return top + (1 - upwards.place(value)) * (height - top - bottom)

    parts = [_open(width, height, title)]
    for mark in across.marks:
        parts.append(
            f'<path d="M{x(mark):.1f} {top}V{height - bottom}" stroke="{_FAINT}"/>'
            f'<text x="{x(mark):.1f}" y="{height - bottom + 16}" text-anchor="middle">{mark:g}</text>'
        )
    for mark in upwards.marks:
        parts.append(
            f'<path d="M{left} {y(mark):.1f}H{width - right}" stroke="{_FAINT}"/>'
            f'<text x="{left - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>'
        )
    for k, (name, line) in enumerate(series.items()):
        colour = _SERIES[k % len(_SERIES)]
        path = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in line)
        parts.append(
            f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5" '
            f'stroke-dasharray="{_DASHES[k % len(_DASHES)]}"/>'
            f'<rect x="{width - right + 12}" y="{top + 20 * k}" width="12" height="12" fill="{colour}"/>'
            f'<text x="{width - right + 30}" y="{top + 20 * k + 11}">{escape(name)}</text>'
        )
    parts.append(
        f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">'
        f"{escape(x_label)}</text>"
        f'<text x="14" y="{height / 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {height / 2})">{escape(y_label)}</text>'
    )
    return Picture("".join([*parts, "</svg>"]))


def _write_value(value: float, low: float, high: float) -> str:
    """Write a value with its interval, shorter where that lies evenly around it."""
    if low == value == high:
        return _number(value)
    above, below = _number(high - value), _number(value - low)
    return (
        f"{_number(value)} ± {above}"
        if above == below
        else (f"{_number(value)} [{_number(low)}, {_number(high)}]")
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def _open(width: int, height: int, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="13" fill="{_INK}" role="img">'
        f"<title>{escape(title)}</title>"
        f'<text x="8" y="22" font-size="15" font-weight="600">{escape(title)}</text>'
    )
