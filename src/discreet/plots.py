"""Pictures as plain SVG text: for reports, notebooks and pages, with no plotting library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_INK, _BAR, _SPAN, _FAINT = "#1c2733", "#4c78a8", "#d1495b", "#d9dee4"
_SERIES = ("#4c78a8", "#d1495b", "#2a9d8f", "#e9a23b", "#6b4c9a")


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    errors: Sequence[float],
    *,
    title: str,
    width: int = 640,
) -> str:
    """Draw horizontal bars, each with its error bar of half-width `errors`."""
    left, right, row, top = 130, 120, 26, 40
    high = max([v + e for v, e in zip(values, errors, strict=True)] + [1e-12])
    height = top + row * len(labels) + 12

    def x(value: float) -> float:
        return left + max(0.0, min(1.0, value / high)) * (width - left - right)

    parts = [_open(width, height, title)]
    for k, (label, value, error) in enumerate(zip(labels, values, errors, strict=True)):
        y = top + k * row
        middle = y + row / 2 - 3
        parts.append(
            f'<text x="{left - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{left}" y="{y}" width="{x(value) - left:.1f}" height="{row - 6}" fill="{_BAR}"/>'
            f'<path d="M{x(value - error):.1f} {middle}H{x(value + error):.1f}" stroke="{_SPAN}" '
            f'stroke-width="3"/>'
            f'<text x="{x(value + error) + 6:.1f}" y="{middle + 4}">'
            f"{_number(value)}{f' ± {_number(error)}' if error else ''}</text>"
        )
    return "".join([*parts, "</svg>"])


def curves(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    width: int = 640,
    height: int = 360,
) -> str:
    """Draw several curves on logarithmic axes; every coordinate must be positive."""
    left, right, top, bottom = 64, 150, 40, 46
    points = [point for line in series.values() for point in line]
    x_low, x_high = (_decade(min(p[0] for p in points), -1), _decade(max(p[0] for p in points), 1))
    y_low, y_high = (_decade(min(p[1] for p in points), -1), _decade(max(p[1] for p in points), 1))
    x_high, y_high = max(x_high, x_low + 1), max(y_high, y_low + 1)

    def x(value: float) -> float:
        return left + (math.log10(value) - x_low) / (x_high - x_low) * (width - left - right)

    def y(value: float) -> float:
        return top + (y_high - math.log10(value)) / (y_high - y_low) * (height - top - bottom)

    parts = [_open(width, height, title)]
    for power in range(x_low, x_high + 1):
        parts.append(
            f'<path d="M{x(10.0**power):.1f} {top}V{height - bottom}" stroke="{_FAINT}"/>'
            f'<text x="{x(10.0**power):.1f}" y="{height - bottom + 16}" text-anchor="middle">'
            f"{10.0**power:g}</text>"
        )
    for power in range(y_low, y_high + 1):
        parts.append(
            f'<path d="M{left} {y(10.0**power):.1f}H{width - right}" stroke="{_FAINT}"/>'
            f'<text x="{left - 6}" y="{y(10.0**power) + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        )
    for k, (name, line) in enumerate(series.items()):
        colour = _SERIES[k % len(_SERIES)]
        path = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in line)
        parts.append(
            f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
            f'<rect x="{width - right + 12}" y="{top + 20 * k}" width="12" height="12" fill="{colour}"/>'
            f'<text x="{width - right + 30}" y="{top + 20 * k + 11}">{escape(name)}</text>'
        )
    parts.append(
        f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">'
        f"{escape(x_label)}</text>"
        f'<text x="14" y="{height / 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {height / 2})">{escape(y_label)}</text>'
    )
    return "".join([*parts, "</svg>"])


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def _decade(value: float, direction: int) -> int:
    return math.floor(math.log10(value)) if direction < 0 else math.ceil(math.log10(value))


def _open(width: int, height: int, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="13" fill="{_INK}" role="img">'
        f"<title>{escape(title)}</title>"
        f'<text x="8" y="22" font-size="15" font-weight="600">{escape(title)}</text>'
    )
