"""`discreet demo`: a curator, three analysts, tens of thousands of questions, one budget."""

from __future__ import annotations

import csv
import itertools
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as Grid

from discreet.accounting.calibrate import gaussian_sigma
from discreet.cli.demo_report import DemoResult, write_report
from discreet.core.neighbours import AddRemove
from discreet.core.rng import SYSTEM
from discreet.curator.curator import Curator
from discreet.curator.doors import Analyst
from discreet.curator.ledger.books.verification import verify
from discreet.data.schema.columns import Category, Integer
from discreet.data.schema.schema import Row, Schema
from discreet.data.table import Table
from discreet.datasets import people
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.universe import Universe
from discreet.query_release.synopses.online_answer import OnlineAnswer

EPSILON, DELTA = 1, Fraction(1, 10**9)
SHARED = ("age", "gender", "region", "education", "pay")
PAY = ("below $10", "$10-$20", "$20-$30", "above $30")
SCHEMA = Schema(
    "people",
    columns=(
        Integer("age", lower=Fraction(21), upper=Fraction(64)),
        Category("gender", values=("female", "male")),
        Category("region", values=("Northeast", "Midwest", "South", "West")),
        Category("education", values=(6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 19, 20)),
        Category("pay", values=PAY),
        Integer("cents", lower=Fraction(0), upper=Fraction(7500)),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
MINISTRY = (
    "SELECT region, COUNT(*) AS people FROM people GROUP BY region",
    "SELECT education, COUNT(*) AS people FROM people GROUP BY education",
    "SELECT gender, pay, COUNT(*) AS people FROM people WHERE age BETWEEN 30 AND 39 GROUP BY gender, pay",
)
UNION = (
    "SELECT gender, AVG(cents) AS mean_cents FROM people GROUP BY gender",
    "SELECT gender, COUNT(*) AS people FROM people WHERE pay = 'below $10' AND age < 30 GROUP BY gender",
)
SWEEP = 1500  # questions the ministry asks by SQL, one for every combination of an age, a degree and a region
BATCH, BATCHES = 5000, 20  # questions the university asks from Python


@click.command()
@click.option(
    "--out",
    default="demo-report",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the report goes.",
)
def demo(out: Path) -> None:
    """Let three analysts ask tens of thousands of questions about 61,395 people, on one budget."""
    console = Console()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise click.UsageError(f"--out must be a folder that can be written: {problem.strerror}.") from None
    records = _records()
    console.print(
        f"{len(records['age']):,} survey respondents go into DuckDB. Three analysts will ask about them."
    )
    console.print(
        f"Everything they ever see costs [b]epsilon {EPSILON}, delta {float(DELTA):g}[/] together.\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder) / "budget.db"
        with console.status("the curator measures all small tables once, and fits a hypothesis to them"):
            curator = Curator(_open_table(records), epsilon=EPSILON, delta=DELTA, columns=SHARED, ledger=book)
        with curator:
            truth = _truth(records, curator.universe)
            learned = _ask(curator, truth, console)
        kept = verify(book)
    questions = sum(one.asked for one in learned)
    console.print(_summary(learned, len(records["age"])))
    alone = 0.8 * float(gaussian_sigma(epsilon=EPSILON, delta=DELTA)) * questions**0.5
    off = float(np.mean(np.concatenate([one.misses for one in learned])))
    console.print(
        f"\n{questions:,} counting questions, off by {off:,.0f} people on average. "
        f"Noise for each by itself would "
        f"be off by about {alone:,.0f} at the same epsilon: [b]{alone / off:,.0f} times[/] as much."
    )
    console.print(f"left for priced questions: {_left(curator)}")
    console.print(
        f"The budget is kept in a file of {kept.rows} rows, each with the digest of all before it: "
        "a curator that is started again goes on from there."
    )
    page = write_report(learned, budget=str(curator.guarantee), left=_left(curator), alone=alone)
    (out / "index.html").write_text(page, encoding="utf-8")
    console.print(f"\nThe report with plots: [b]{out / 'index.html'}[/]")


def _records() -> dict[str, list[Any]]:
    table = people()
    wages = [float(wage) for wage in table["earnings"]]
    return {
        "age": [int(age) for age in table["age"]],
        "gender": table["gender"],
        "region": table["region"],
        "education": [int(years) for years in table["education"]],
        "pay": [PAY[sum(wage > edge for edge in (10, 20, 30))] for wage in wages],
        "cents": [round(100 * wage) for wage in wages],
    }


def _truth(records: dict[str, list[Any]], universe: Universe) -> Any:
    """Count the bundled records, to show how far answers are off."""
    codes = np.stack(
        [[universe.code(axis, value) for value in records[name]] for axis, name in enumerate(universe.names)],
        axis=1,
    )
    return np.bincount(universe.ravel(codes), minlength=universe.size).reshape(universe.shape)


def _ask(curator: Curator, truth: Any, console: Console) -> list[DemoResult]:
    ministry, union, university = (DemoResult(name) for name in ("ministry", "union", "university"))
    doors = {one.who: curator.analyst(one.who) for one in (ministry, union, university)}
    for one, texts in ((ministry, MINISTRY), (union, UNION)):
        for text in texts:
            reply = doors[one.who].sql(text)
            one.shown.append((text, reply))
            console.print(f"[b]{one.who}[/]: {text}\n{reply}\n", highlight=False)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("asking", total=SWEEP + BATCH * BATCHES)
        for text, cells in itertools.islice(_sweep(curator.universe), SWEEP):
            reply = doors["ministry"].sql(text)
            ministry.add([(reply.kind, float(reply.rows[0][0]), float(truth[cells].sum()))])
            progress.advance(task)
        for _ in range(BATCHES):
            workload = _random_conjunctions(curator.universe, BATCH)
            _note(university, doors["university"], workload, truth)
            progress.advance(task, BATCH)
    for age in (25, 35, 45):
        text = (
            f"SELECT COUNT(*) AS n FROM people WHERE age < {age} OR gender = 'female' AND pay = 'above $30'"  # noqa: S608
        )
        reply = doors["union"].sql(text)
        young = np.zeros(truth.shape, dtype=bool)
        young[: age - 21] = True
        young[:, 0, :, :, 3] = True
        union.add([(reply.kind, float(reply.rows[0][0]), float(truth[young].sum()))])
    return [ministry, union, university]


def _note(learned: DemoResult, door: Analyst, workload: Conjunctions, truth: Any) -> None:
    answers = door.ask(workload)
    if isinstance(answers, OnlineAnswer):
        answers = (answers,)
    exact = workload.answers(truth)
    learned.add((a.kind, a.value, float(t)) for a, t in zip(answers, exact, strict=True))


def _sweep(universe: Universe) -> Iterator[tuple[str, Any]]:
    """Yield questions by SQL with the cells they count."""
    ages, regions = universe.attribute("age").values, universe.attribute("region").values
    for low, high in itertools.combinations(range(0, len(ages) - 1, 2), 2):
        for region in range(len(regions) - 1):  # the last value stands for a missing one
            for pay in range(len(PAY)):
                text = (  # nothing of it comes from outside, and no engine sees it
                    f"SELECT COUNT(*) AS n FROM people WHERE age BETWEEN {ages[low]} AND {ages[high]} "  # noqa: S608
                    f"AND region = '{regions[region]}' AND pay = '{PAY[pay]}'"
                )
                yield text, np.s_[low : high + 1, :, region, :, pay]


def _random_conjunctions(universe: Universe, count: int) -> Conjunctions:
    """Make random boxes over up to three attributes: a range of ages, a set of values of the others."""
    clauses = []
    for words in SYSTEM.words(4 * count).reshape(count, 4).tolist():
        chosen = [name for place, name in enumerate(universe.names) if words[0] >> (8 * place) & 255 < 140][
            :3
        ]
        clause = {}
        for place, name in enumerate(chosen or ["age"]):
            values = universe.attribute(name).values
            low, high = sorted(
                ((words[1 + place] & 0xFFFF) % len(values), (words[1 + place] >> 16) % len(values))
            )
            clause[name] = values[low : high + 1]
        clauses.append(clause)
    return Conjunctions(universe, clauses)


def _open_table(records: dict[str, list[Any]]) -> Table:
    """Load the records into DuckDB by way of a file, as an owner would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(records)
            writer.writerows(zip(*records.values(), strict=True))
        return Table(path, schema=SCHEMA)


def _summary(learned: list[DemoResult], rows: int) -> Grid:
    grid = Grid(title="what each analyst learned")
    for heading in ("analyst", "counts asked", "measured", "off by on average", "off by at most"):
        grid.add_column(heading, justify="left" if heading == "analyst" else "right")
    for one in learned:
        mean, most = one.off, float(np.max(one.misses))
        grid.add_row(
            one.who,
            f"{one.asked:,}",
            f"{one.measured}",
            f"{mean:,.0f} ({mean / rows:.3%})",
            f"{most:,.0f} ({most / rows:.2%})",
        )
    return grid


def _left(curator: Curator) -> str:
    return ", ".join(f"{name} {float(amount):.3g}" for name, amount in curator.ledger.left().items())
