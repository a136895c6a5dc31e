"""Write the pages that are made from the source: the map of the rooms and the index of the algorithms.

`make pages` writes them; a test runs the same with --check, so that they cannot lie.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from itertools import groupby
from pathlib import Path

from package_map import ROOT, Room, find_arrows, read_layers, read_rooms

from discreet.catalogue import FAMILIES, catalogue

DOCS = ROOT / "docs"
BEGIN, END = "<!-- rooms: made by `make pages` -->", "<!-- end of rooms -->"
HEADINGS = {
    "mechanisms": "Mechanisms: noise, response, selection",
    "sparse": "Sparse vector",
    "streams": "Streams",
    "local": "The local model: nobody is trusted",
    "learning": "Learning",
    "query_release": "Query release: many answers or synthetic data for one budget",
    "optimisation": "Optimisation: covers, cuts, clinics, public projects",
    "analysts": "Analyst privacy",
    "games": "Games: prices, votes and auctions among people who may lie",
}
WIDTH, HIGH, GAP = 1080, 78, 12
INK, LINE, FILL = "#222", "#8a9ba8", "#eef3f6"
LETTER = 6.3  # how wide a letter of the small print is


def draw_rooms() -> str:
    """Return the picture: a row for a layer, a box for a room, and in it what it stands on directly."""
    rooms, layers = read_rooms(), read_layers()
    below: dict[str, list[str]] = {name: [] for name in rooms}
    for upper, lower in find_arrows(rooms):
        below[upper].append(lower)
    height = len(layers) * (HIGH + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for row, layer in enumerate(layers):
        wide = (WIDTH - GAP) / len(layer)
        for column, name in enumerate(layer):
            left, top = GAP + column * wide, GAP + row * (HIGH + GAP)
            parts += _draw_room(rooms[name], below[name], left, top, wide - GAP)
    return "\n".join([*parts, "</svg>", ""])


def write_rooms() -> str:
    """Return the table of the rooms, from the top of the house to its ground."""
    rooms = read_rooms()
    lines = [BEGIN, "", "| room | for |", "|---|---|"]
    for layer in read_layers():
        for name in layer:
            room = rooms[name]
            lines.append(f"| **{name}** | {room.purpose} |")
            lines += [f"| {name}/{inner} | {purpose} |" for inner, purpose in room.inner.items()]
    return "\n".join([*lines, "", END])


def write_index() -> str:
    """Return the page that lists every algorithm."""
    lines = [
        "# Algorithms",
        "",
        "Every algorithm of the package, with its guarantee and its page. "
        "`discreet catalogue` prints the same list.",
    ]
    ordered = sorted(catalogue(), key=lambda card: (FAMILIES.index(card.family), card.name))
    for family, cards in groupby(ordered, key=lambda card: card.family):
        lines += ["", f"## {HEADINGS[family]}", "", "| algorithm | guarantee | reference |", "|---|---|---|"]
        lines += [
            f"| [{card.title}]({card.name}.md) | {_escape(card.theorem)} | {card.reference} |"
            for card in cards
        ]
    return "\n".join([*lines, ""])


def make_pages() -> dict[Path, str]:
    """Return what every such page must say."""
    page = DOCS / "architecture.md"
    written = page.read_text(encoding="utf-8")
    before, _, rest = written.partition(BEGIN)
    after = rest.partition(END)[2]
    return {
        DOCS / "architecture.svg": draw_rooms(),
        page: before + write_rooms() + after,
        DOCS / "algorithms" / "index.md": write_index(),
    }


def main() -> int:
    """Write the pages, or with --check only say which are not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [
        path
        for path, text in make_pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        if not check:
            path.write_text(make_pages()[path], encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {'not as `make pages` writes it' if check else 'written'}")
    return bool(stale and check)


def _escape(text: str) -> str:
    """Keep a bar from ending a cell of a table."""
    return text.replace("|", "\\|")


def _draw_room(room: Room, below: list[str], left: float, top: float, wide: float) -> list[str]:
    lines = [
        (20, 15, INK, room.name),
        (37, 11, INK, room.purpose),
        (53, 11, LINE, f"stands on {', '.join(below)}" if below else "stands on nothing of ours"),
        (69, 11, LINE, ", ".join(room.inner)),
    ]
    return [
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{wide:.0f}" height="{HIGH}" rx="6" fill="{FILL}" '
        f'stroke="{LINE}"/>',
        *(
            f'<text x="{left + wide / 2:.0f}" y="{top + down:.0f}" text-anchor="middle" font-size="{size}" '
            f'fill="{ink}">{escape(_cut(text, int(wide / LETTER)))}</text>'
            for down, size, ink, text in lines
        ),
    ]


def _cut(text: str, letters: int) -> str:
    """Shorten a text at a word."""
    return text if len(text) <= letters else text[: letters - 2].rsplit(" ", 1)[0].rstrip(",:;") + " …"


if __name__ == "__main__":
    sys.exit(main())
