"""`discreet demo`: private statistics of the bundled survey, with error bars, a budget and a report."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from discreet import plots
from discreet.accounting.filters import PureFilter
from discreet.core.mechanism import Mechanism, Promise, Release
from discreet.core.neighbours import AddRemove
from discreet.datasets import people
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.scores import Monotone
from discreet.sparse.numeric_sparse import NumericSparse

PERSON = AddRemove("person")
DOMAINS: dict[str, tuple[str, ...]] = {
    "region": ("Northeast", "Midwest", "South", "West"),
    "gender": ("female", "male"),
    "education": tuple(str(years) for years in (6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 19, 20)),
    "age": ("21-29", "30-39", "40-49", "50-64"),
    "wage": ("below $10", "$10-$20", "$20-$30", "above $30"),
}
TOP_CENTS = 7500  # an hour; larger values are clamped, so one person moves a sum by at most this
POSITIVES, THRESHOLD = 8, 1000

Cell = tuple[tuple[str, str], ...]
Data = dict[str, list[str]]


@dataclass
class Budget:
    """One budget for the whole demo: every release is charged before it is drawn."""

    filter: PureFilter
    lines: list[tuple[str, str, float]] = field(default_factory=list)

    def charge(self, what: str, promise: Promise) -> None:
        """Charge one guarantee, or stop."""
        self.filter.spend(promise.loss)
        self.lines.append((what, str(promise.loss), promise.error(0.05)))

    def release(self, what: str, mechanism: Mechanism[Any, Any], data: Any) -> Release[Any]:
        """Charge, then draw."""
        self.charge(what, mechanism)
        return mechanism.release(data)


@click.command()
@click.option(
    "--out",
    default="demo-report",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the report goes.",
)
def demo(out: Path) -> None:
    """Publish statistics of 61,395 people under one budget of epsilon 1, and write a report."""
    console = Console()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise click.UsageError(f"--out must be a folder that can be written: {problem}") from None
    table = _load()
    budget = Budget(PureFilter(epsilon=1))
    console.print("61,395 survey respondents (the survey's size is public).")
    console.print("Everything below together costs [b]epsilon 1[/].\n")

    marginals = {name: _histogram(budget, table, name) for name in DOMAINS}
    wages = _wages(budget, table, marginals["gender"])
    commonest = budget.release(
        "most common years of education",
        PermuteAndFlip(
            sensitivity=Monotone(1), epsilon=0.05, candidates=DOMAINS["education"], neighbours=PERSON
        ),
        _counts(table, "education"),
    )
    for name in ("region", "gender"):
        console.print(_histogram_table(name, marginals[name]))
    console.print(f"most common years of education: [b]{commonest.value}[/]")
    for gender, (mean, error) in wages.items():
        console.print(f"mean hourly earnings, {gender}: [b]{mean:.2f}[/] ± {error:.2f} dollars (95 %)")

    found, asked = _surprises(budget, table, marginals, console)
    console.print(f"\nGroups far larger than predicted: {_asked(asked, found)}")
    console.print(_surprise_table(found[:8]))
    console.print(_budget_table(budget))
    console.print(_left(budget))
    (out / "index.html").write_text(_report(budget, marginals, wages, found, asked), encoding="utf-8")
    console.print(f"\nThe report with plots: [b]{out / 'index.html'}[/]")


def _load() -> Data:
    table = people()
    table["age"] = [_group(int(age), (29, 39, 49), DOMAINS["age"]) for age in table["age"]]
    table["wage"] = [_group(float(wage), (10, 20, 30), DOMAINS["wage"]) for wage in table["earnings"]]
    return table


def _group(value: float, edges: tuple[int, ...], names: tuple[str, ...]) -> str:
    return names[sum(value > edge for edge in edges)]


def _counts(table: Data, name: str) -> list[int]:
    found = Counter(table[name])
    return [found[value] for value in DOMAINS[name]]


def _histogram(budget: Budget, table: Data, name: str) -> Release[Any]:
    mechanism = Histogram(epsilon=0.08, size=len(DOMAINS[name]), neighbours=PERSON)
    return budget.release(f"histogram of {name}", mechanism, _counts(table, name))


def _wages(budget: Budget, table: Data, genders: Release[Any]) -> dict[str, tuple[float, float]]:
    """Return mean earnings with a 95 % error: two noisy sums over the already released counts."""
    names = DOMAINS["gender"]
    cents = [min(round(100 * float(wage)), TOP_CENTS) for wage in table["earnings"]]
    sums = [sum(c for c, g in zip(cents, table["gender"], strict=True) if g == name) for name in names]
    mechanism = Laplace(sensitivity=TOP_CENTS, epsilon=0.15, size=len(names), neighbours=PERSON)
    noisy = budget.release("sums of hourly earnings by gender, in cents", mechanism, sums)
    wrong_sum, wrong_count = noisy.error(0.025), genders.error(0.025)
    means = {}
    for name, total, count in zip(names, noisy.value, genders.value, strict=True):
        mean = int(total) / max(1, int(count))
        error = (wrong_sum + abs(mean) * wrong_count) / max(1.0, int(count) - wrong_count)
        means[name] = (mean / 100, error / 100)
    return means


def _surprises(
    budget: Budget, table: Data, marginals: dict[str, Release[Any]], console: Console
) -> tuple[list[tuple[str, float, float]], int]:
    """Ask of thousands of groups whether they are larger than independence predicts by a threshold.

    The prediction comes from released histograms, so it is public, and the excess over it grows by at most
    one with one person more. Only positive answers use up the conversation.
    """
    questions = list(_cells())
    mechanism = NumericSparse(
        sensitivity=Monotone(1),
        epsilon=0.4,
        delta=0,
        positives=POSITIVES,
        threshold=THRESHOLD,
        queries=len(questions),
        neighbours=PERSON,
    )
    budget.charge(f"{len(questions):,} adaptive questions", mechanism)
    cells = _cell_counts(table)
    found: list[tuple[str, float, float]] = []
    asked = 0
    with Progress(console=console, transient=True) as progress, mechanism.open(cells) as conversation:
        task = progress.add_task("asking", total=len(questions))
        for cell in questions:
            if conversation.closed:
                break
            expected = _expected(cell, marginals)
            answer = conversation.ask(partial(_excess, cell=cell, expected=expected))
            asked += 1
            progress.advance(task)
            if answer is not None:
                found.append((_words(cell), float(expected), float(answer)))
    return sorted(found, key=lambda row: -row[2]), asked


def _cells() -> Iterator[Cell]:
    for order in (2, 3, 4):
        for names in itertools.combinations(DOMAINS, order):
            for values in itertools.product(*(DOMAINS[name] for name in names)):
                yield tuple(zip(names, values, strict=True))


def _words(cell: Cell) -> str:
    return ", ".join(f"{value} years of school" if name == "education" else value for name, value in cell)


def _cell_counts(table: Data) -> Callable[[Cell], int]:
    """Return a function that counts the rows of a cell."""
    rows = Counter(zip(*(table[name] for name in DOMAINS), strict=True))
    order = list(DOMAINS)

    def count(cell: Cell) -> int:
        wanted = [(order.index(name), value) for name, value in cell]
        return sum(n for row, n in rows.items() if all(row[place] == value for place, value in wanted))

    return count


def _expected(cell: Cell, marginals: dict[str, Release[Any]]) -> int:
    """Predict a cell by independence from the released histograms."""
    shares = []
    for name, value in cell:
        released = [max(1, int(n)) for n in marginals[name].value]
        shares.append(released[DOMAINS[name].index(value)] / sum(released))
    return round(math.prod(shares) * sum(max(1, int(n)) for n in marginals["region"].value))


def _excess(count: Callable[[Cell], int], *, cell: Cell, expected: int) -> int:
    return count(cell) - expected


def _histogram_table(name: str, release: Release[Any]) -> Table:
    table = Table(title=f"{name}, {release.guarantee.loss}")
    table.add_column(name)
    table.add_column("people", justify="right")
    table.add_column("95 % error", justify="right")
    for value, count in zip(DOMAINS[name], release.value, strict=True):
        table.add_row(value, f"{int(count):,}", f"± {release.error(0.05):.0f}")
    return table


def _surprise_table(found: list[tuple[str, float, float]]) -> Table:
    table = Table()
    for heading in ("who", "predicted by independence", "more by about"):
        table.add_column(heading)
    for who, expected, off in found:
        table.add_row(who, f"{expected:,.0f}", f"{off:,.0f}")
    return table


def _asked(asked: int, found: list[tuple[str, float, float]]) -> str:
    planned = len(list(_cells()))
    if len(found) < POSITIVES:
        return f"all {planned:,} planned questions were answered."
    return (
        f"the conversation closed with its {POSITIVES}th value, at question {asked:,} of {planned:,} planned."
    )


def _left(budget: Budget) -> str:
    spent, left = budget.filter.spent["epsilon"], budget.filter.left["epsilon"]
    return f"spent epsilon {float(spent):g}; left epsilon {float(left):g}"


def _budget_table(budget: Budget) -> Table:
    table = Table(title="what was spent")
    for heading in ("release", "loss", "error at 95 %"):
        table.add_column(heading)
    for what, loss, error in budget.lines:
        table.add_row(what, loss, f"{error:,.4g}")
    return table


def _report(
    budget: Budget,
    marginals: dict[str, Release[Any]],
    wages: dict[str, tuple[float, float]],
    found: list[tuple[str, float, float]],
    asked: int,
) -> str:
    pictures = [
        plots.bars(
            DOMAINS[name],
            [float(v) for v in release.value],
            [release.error(0.05)] * len(DOMAINS[name]),
            title=f"People by {name}, with 95 % error bars (epsilon 0.08)",
        )
        for name, release in marginals.items()
    ]
    pictures.append(
        plots.bars(
            list(wages),
            [mean for mean, _ in wages.values()],
            [error for _, error in wages.values()],
            title="Mean hourly earnings in dollars",
        )
    )
    pictures.append(_error_curves())
    rows = "".join(
        f"<tr><td>{escape(what)}</td><td>{escape(loss)}</td><td>{error:,.4g}</td></tr>"
        for what, loss, error in budget.lines
    )
    surprises = "".join(
        f"<tr><td>{escape(who)}</td><td>{expected:,.0f}</td><td>{off:,.0f}</td></tr>"
        for who, expected, off in found
    )
    return _PAGE.format(
        pictures="".join(f"<figure>{picture}</figure>" for picture in pictures),
        rows=rows,
        surprises=surprises,
        asked=escape(_asked(asked, found)),
        error=f"{budget.lines[-1][2]:,.0f}",
        left=_left(budget),
    )


def _error_curves() -> str:
    epsilons = [10 ** (k / 4) for k in range(-8, 5)]
    sizes = (1, 100, 10_000)
    lines = {
        f"{size:,} counts": [
            (e, Histogram(epsilon=e, size=size, neighbours=PERSON).error(0.05) + 0.5) for e in epsilons
        ]
        for size in sizes
    }
    return plots.curves(
        lines, title="Largest error of a histogram at 95 %", x_label="epsilon", y_label="people"
    )


_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>discreet: the demo's report</title>
<style>
body{{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1c2733}}
table{{border-collapse:collapse}}td,th{{padding:.2rem .8rem;border-bottom:1px solid #d9dee4;text-align:left}}
figure{{margin:1.5rem 0}}svg{{max-width:100%;height:auto}}
</style>
<h1>61,395 people, epsilon 1</h1>
<p>Every number on this page was released with differential privacy: whether any one person took part in the
survey (whose size is public) changes the probability of this whole page by at most a factor e. Hourly
earnings count up to $75. Red bars are 95 % errors, all cells of a picture at once.</p>
{pictures}
<h2>Surprises</h2>
<p>In one conversation thousands of questions were planned: is a group larger, by 1,000 people, than
independence of its traits predicts? Only positive answers use up its budget: {asked} Each value is right to
± {error} (95 %, all together).</p>
<table><tr><th>group</th><th>predicted</th><th>more by about</th></tr>{surprises}</table>
<h2>Budget</h2>
<table><tr><th>release</th><th>loss</th><th>error at 95 %</th></tr>{rows}</table>
<p>{left}</p>
</html>"""
