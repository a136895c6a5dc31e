"""`discreet demo`: a server, three analysts over HTTP, 100,000 questions, one budget and one crash."""

from __future__ import annotations

import itertools
import queue
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as Grid

from discreet.accounting.calibrate import gaussian_sigma
from discreet.cli.demonstration.processes import AnalystProcess, ServerProcess
from discreet.cli.demonstration.questions import YOUNG, make_clauses, sweep
from discreet.cli.demonstration.records import SHARED, SurveyRecords
from discreet.cli.demonstration.report import DemoResult, write_report
from discreet.client.connecting import connect
from discreet.client.reading import read_reply
from discreet.core.errors import MissingExtra
from discreet.curator.amounts import Amounts
from discreet.curator.ledger.books.verification import verify
from discreet.curator.reply import Reply
from discreet.server.access import Access
from discreet.server.registered.registering import register

EPSILON, DELTA = 1, Fraction(1, 10**9)
SWEEP = 1500  # questions the ministry asks by SQL
BATCH, BATCHES = 5000, 20  # questions the university asks from Python
ANALYSTS = ("ministry", "union", "university")
_SILENCE = 300  # seconds after which nobody says anything any more


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
    for package in ("fastapi", "uvicorn", "httptools"):
        if find_spec(package) is None:
            raise MissingExtra(package=package, extra="server")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise click.UsageError(f"--out must be a folder that can be written: {problem.strerror}.") from None
    records = SurveyRecords()
    console.print(
        f"{len(records):,} survey respondents go behind a server. Three analysts ask about them over HTTP."
    )
    console.print(
        f"Everything they ever see costs [b]epsilon {EPSILON}, delta {float(DELTA):g}[/] together.\n"
    )
    with tempfile.TemporaryDirectory() as name:
        story = _Story(records, Path(name), console)
        story.tell()
        learned, left, guarantee = list(story.learned.values()), story.left, story.guarantee
        kept = verify(Path(name) / "budget.db")
    console.print(_summary(learned, len(records)))
    questions = sum(one.asked for one in learned)
    alone = 0.8 * float(gaussian_sigma(epsilon=EPSILON, delta=DELTA)) * questions**0.5
    off = float(np.mean(np.concatenate([one.misses for one in learned])))
    console.print(
        f"\n{questions:,} counting questions, off by {off:,.0f} people on average. "
        f"Noise for each by itself would "
        f"be off by about {alone:,.0f} at the same epsilon: [b]{alone / off:,.0f} times[/] as much."
    )
    console.print(f"left for priced questions: {left}")
    console.print(f"The budget is kept in a file of {kept.rows} rows, each with the digest of all before it.")
    page = write_report(learned, budget=guarantee, left=left, alone=alone)
    (out / "index.html").write_text(page, encoding="utf-8")
    console.print(f"\nThe report with plots: [b]{out / 'index.html'}[/]")


class _Story:
    """What happens in the demo, as its owner sees it."""

    def __init__(self, records: SurveyRecords, folder: Path, console: Console) -> None:
        self._records, self._folder, self._console = records, folder, console
        self.learned = {who: DemoResult(who) for who in ANALYSTS}
        self.left = self.guarantee = ""
        self._seed = secrets.token_hex(16)
        self._truths = {who: self._count(who) for who in ANALYSTS}
        self._heard: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._busy = set(ANALYSTS)

    def tell(self) -> None:
        """Serve, let the analysts ask, and kill the server once in the middle."""
        keys = self._register()
        sizes = {"sweep": SWEEP, "batch": BATCH, "batches": BATCHES, "seed": self._seed}
        server = ServerProcess(self._folder)
        with ExitStack() as stack:
            stack.callback(lambda: server.end(signal.SIGTERM))
            with self._console.status("the server measures all small tables once, and fits a hypothesis"):
                server.start()
            told = {"url": server.url, "sizes": sizes}
            analysts = {who: AnalystProcess(who, {**told, "key": keys[who]}, self._heard) for who in ANALYSTS}
            for one in analysts.values():
                stack.callback(one.end)
            progress = stack.enter_context(Progress(console=self._console, transient=True))
            self._progress, self._task = progress, progress.add_task("asking", total=_count_questions())
            self._listen(lambda: "union" not in self._busy and self._asked >= 0.4 * _count_questions())
            with connect(server.url, keys["union"]) as watch:
                before = watch.left
                self._restart(server)
                self._compare(before, watch.left)
                self._busy.add("union")
                analysts["union"].tell()
                self._listen(lambda: not self._busy)
                self._compare(before, watch.left)
                self.left = _describe(watch.left)
                self.guarantee = str(watch.facts["guarantee"])

    def _register(self) -> dict[str, str]:
        """Do what an owner does: register the table, and make keys."""
        self._records.write(self._folder)
        config = self._folder / "discreet.toml"
        config.write_text("tick = 0  # nothing is promised between these analysts\n", encoding="utf-8")
        facts = {"data": "people.csv", "schema": "people.toml", "epsilon": EPSILON, "delta": DELTA}
        register(config, "people", {**facts, "columns": list(SHARED), "purpose": "the demo"})
        access = Access(self._folder / "access.db")
        for who in ANALYSTS:
            access.grant(who, "people", 1)
        keys = {who: access.make_key(who) for who in ANALYSTS}
        access.close()
        return keys

    def _restart(self, server: ServerProcess) -> None:
        """Kill the server while two analysts ask, and start it again."""
        server.end(signal.SIGKILL)
        self._console.print(
            "[b]The server is killed[/] (SIGKILL) while questions are under way.", highlight=False
        )
        began = time.monotonic()
        server.start()
        self._console.print(
            f"It is started again, and serves after {time.monotonic() - began:.1f} s. Whoever had no reply "
            "asks again by herself.",
            highlight=False,
        )

    def _compare(self, before: Amounts, after: Amounts) -> None:
        """Show that nothing was spent twice."""
        self._console.print(
            f"left then: {_describe(before)}\nleft now:  {_describe(after)}\n", highlight=False
        )
        if after != before:
            raise click.ClickException("something was spent twice: please report this.")

    def _listen(self, is_enough: Callable[[], bool]) -> None:
        """Hear what the analysts tell until it is enough."""
        while not is_enough():
            try:
                who, said = self._heard.get(timeout=_SILENCE)
            except queue.Empty:
                raise click.ClickException("the analysts were silent for too long.") from None
            if "shown" in said:
                reply = read_reply(said["reply"])
                self.learned[who].shown.append((said["shown"], reply))
                self._console.print(f"[b]{who}[/]: {said['shown']}\n{reply}\n", highlight=False)
            elif "again" in said:
                self._say_again(who, read_reply(said["again"]))
            elif "answers" in said:
                answers = said["answers"]
                truth = itertools.islice(self._truths[who], len(answers))
                self.learned[who].add(
                    (kind, value, t) for (kind, value), t in zip(answers, truth, strict=True)
                )
                self._progress.advance(self._task, len(answers))
            elif "ended" in said and who in self._busy:
                raise click.ClickException(f"the {who} gave up: {said['ended']}")
            else:  # paused, or done
                self._busy.discard(who)

    def _say_again(self, who: str, reply: Reply) -> None:
        (_, first), *_ = self.learned[who].shown
        if (reply.rows, reply.receipt) != (first.rows, first.receipt):
            raise click.ClickException("one question was answered twice: please report this.")
        self._console.print(
            f"[b]{who}[/] asks for the averages again, as if it had had no answer: it has the very same one, "
            "and nothing more is charged.\n",
            highlight=False,
        )

    @property
    def _asked(self) -> int:
        return sum(one.asked for one in self.learned.values())

    def _count(self, who: str) -> Iterator[float]:
        """Yield the truth of what an analyst asks, in order."""
        values = self._records.values
        if who == "ministry":
            clauses = [clause for _, clause in itertools.islice(sweep(values), SWEEP)]
            yield from self._records.count(clauses)
        elif who == "union":
            yield from self._records.count_young()
        else:
            for batch in range(BATCHES):
                yield from self._records.count(make_clauses(f"{self._seed}{batch}", values, BATCH))


def _count_questions() -> int:
    return SWEEP + BATCH * BATCHES + len(YOUNG)


def _describe(left: Amounts) -> str:
    return ", ".join(f"{name} {float(amount):.3g}" for name, amount in left.items())


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
