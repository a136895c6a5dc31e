"""The rooms of the package and what imports what, read from the source itself."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "discreet"


@dataclass
class Room:
    """A package or a module directly below `discreet`: what it is for and what it imports."""

    name: str
    purpose: str
    inner: dict[str, str]
    imports: set[str] = field(default_factory=set)


def read_layers() -> list[list[str]]:
    """Return the layers that import-linter holds, the highest first, less those that nobody lives in yet."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    written = contracts["contracts"][0]["layers"]
    layers = [[part.strip(" ()").removeprefix("discreet.") for part in layer.split("|")] for layer in written]
    lived_in = [[name for name in layer if _path(name) is not None] for layer in layers]
    return [layer for layer in lived_in if layer]


def read_rooms() -> dict[str, Room]:
    """Return every room that stands in a layer, with the rooms it really imports."""
    names = [name for layer in read_layers() for name in layer]
    rooms = {name: _read_room(name) for name in names}
    for room in rooms.values():
        for file in _files(room.name):
            room.imports |= {name for name in _imported(file) if name in rooms and name != room.name}
    return rooms


def find_arrows(rooms: dict[str, Room]) -> list[tuple[str, str]]:
    """Return the imports between rooms that do not follow from others: what a picture needs."""
    reach = {name: _reach(name, rooms) for name in rooms}
    arrows = []
    for name, room in rooms.items():
        for other in room.imports:
            if not any(other in reach[between] for between in room.imports - {other}):
                arrows.append((name, other))
    return sorted(arrows)


def _read_room(name: str) -> Room:
    path = _path(name)
    inner = {}
    if path is not None and path.is_dir():
        for folder in sorted(each for each in path.iterdir() if (each / "__init__.py").exists()):
            inner[folder.name] = _purpose(folder / "__init__.py")
    main = path / "__init__.py" if path is not None and path.is_dir() else SOURCE / f"{name}.py"
    return Room(name, _purpose(main), inner)


def _path(name: str) -> Path | None:
    for path in (SOURCE / name, SOURCE / f"{name}.py"):
        if path.exists():
            return path
    return None


def _files(name: str) -> list[Path]:
    path = _path(name)
    return sorted(path.rglob("*.py")) if path is not None and path.is_dir() else [SOURCE / f"{name}.py"]


def _purpose(file: Path) -> str:
    """Return the first sentence of a module's docstring, without its full stop."""
    written = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(written.split("\n\n")[0].split()).removesuffix(".")


def _imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "discreet":
            below = node.module.split(".")[1:2]
            found |= set(below) if below else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".") for alias in node.names]
            found |= {part[1] for part in parts if part[0] == "discreet" and len(part) > 1}
    return found


def _reach(name: str, rooms: dict[str, Room]) -> set[str]:
    """Return all rooms that one imports, directly or through others; itself not counted."""
    found: set[str] = set()
    waiting = list(rooms[name].imports)
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting += rooms[other].imports
    return found
