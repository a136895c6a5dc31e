"""Pages: HTML made of the plain values that the JSON replies hold, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.server.registry.chart import draw_chart
from discreet.server.registry.decimals import write_chance, write_percent_down, write_percent_up, write_up

if TYPE_CHECKING:
    from jinja2 import Environment

WEB = Path(__file__).parent / "web"
ASSETS = {
    "style.css": "text/css",
    "console.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""What pages load, and what each is."""

ROWS = 200
"""The most releases of a page; JSON has them all."""


@dataclass(frozen=True, slots=True)
class Links:
    """Where a page leads.

    Attributes
    ----------
    assets, home
        The folder of assets, and the list of data sets.
    dataset
        Where data sets are: before their names, and after them.
    feed
        The same of their JSON.
    console
        The page to ask from; None for an export, which nobody can ask.
    """

    assets: str
    home: str
    dataset: tuple[str, str]
    feed: tuple[str, str]
    console: str | None = None

    def to_dataset(self, name: str) -> str:
        """Return where the page of a data set is."""
        return name.join(self.dataset)

    def to_feed(self, name: str) -> str:
        """Return where the JSON of a data set is."""
        return name.join(self.feed)


SERVED = Links("/web", "/", ("/registry/", ""), ("/v1/registry/", ""), "/console")
"""Where pages of a server lead."""


@cache
def _environment() -> Environment:
    # Loaded with the first page: a server that starts again owes its analysts answers first.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=FileSystemLoader(WEB / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "up": _exactly(write_up),
        "chance": _exactly(write_chance),
        "up3": _exactly(lambda amount: write_up(amount, 3)),
        "percent_up": _exactly(write_percent_up),
        "percent_down": _exactly(write_percent_down),
        "moment": say_moment,
        "cost": say_cost,
    }
    return environment


def _exactly(write: Callable[[Fraction], str]) -> Callable[[str], str]:
    """Return what writes a number that is given as text."""
    return lambda exact: write(Fraction(exact))


def read_asset(name: str) -> bytes:
    """Return one of the assets."""
    return (WEB / "assets" / name).read_bytes()


def render_list(told: dict[str, Any], links: Links) -> str:
    """Return the page that lists all data sets."""
    return _render("index.html", links, told=told)


def render_dataset(told: dict[str, Any], links: Links) -> str:
    """Return the page of one data set."""
    return _render("dataset.html", links, told=told, chart=draw_chart(told), rows=ROWS)


def render_console(names: list[str], links: Links = SERVED) -> str:
    """Return the page to ask from."""
    return _render("console.html", links, names=names)


def say_moment(written: str) -> str:
    """Return a moment as people read it."""
    return written[:16].replace("T", " ")


def say_cost(cost: dict[str, str]) -> str:
    """Return exact amounts with a few digits, rounded up; rho is told where there is nothing else."""
    shown = {name: Fraction(amount) for name, amount in cost.items() if Fraction(amount)}
    if "epsilon" in shown:
        shown.pop("rho", None)
    return ", ".join(f"{name} {write_up(amount, 3)}" for name, amount in shown.items()) or "nothing"


def _render(template: str, links: Links, **values: Any) -> str:
    return _environment().get_template(template).render(links=links, **values)
