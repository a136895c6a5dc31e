"""`discreet collect`: reports of the local model, appended to a file and estimated from."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.progress import Progress

from discreet.core.errors import DiscreetError

_LONGEST = 1 << 24  # bytes of a line


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--survey",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What was asked, as JSON or TOML: reports on standard input, a line each, are appended.",
)
@click.option("--estimate", is_flag=True, help="Print what the reports so far say.")
@click.option("--share", metavar="NUMBER", help="With --estimate of a search: how common values are found.")
@click.option("--confidence", default="0.95", metavar="NUMBER", help="That of the intervals.")
def collect(file: Path, *, survey: Path | None, estimate: bool, share: str | None, confidence: str) -> None:
    """Append reports to FILE, or estimate from those it holds.

    Reports of another version, kind, epsilon or domain are refused one by one and counted by reason.
    """
    if (survey is None) is not estimate:
        raise click.UsageError("say either --survey FILE, to append reports, or --estimate.")
    try:
        if survey is not None:
            _append(file, survey)
        else:
            click.echo(json.dumps(_estimate(file, share, confidence), indent=2))
    except DiscreetError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"FILE cannot be used: {error.strerror}.") from None


def _append(file: Path, survey: Path) -> None:
    from discreet.local.collecting import open_collection, open_collector  # noqa: PLC0415  slow to import

    asked = open_collector(_read_survey(survey))
    with open_collection(file, asked) as collection:
        before = collection.held
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("reports", total=None)
            for read in collection.append(_read_lines(sys.stdin.buffer)):
                progress.update(task, advance=read, description=f"{collection.held - before} reports taken")
        click.echo(f"{collection.held - before} reports appended, {collection.held} in all")
        for why, count in collection.refused.most_common():
            click.echo(f"{count} refused: {why}")


def _read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines that are not empty; of one that is too long, enough to be refused."""
    while line := stream.readline(_LONGEST):
        if not line.endswith(b"\n") and len(line) == _LONGEST:
            while (rest := stream.readline(_LONGEST)) and not rest.endswith(b"\n"):
                pass
            line = b"too long"
        if line.strip():
            yield line


def _read_survey(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise click.ClickException(
            "--survey is no text in UTF-8. `survey` of a protocol prints it."
        ) from None
    if path.suffix != ".toml":
        return text
    try:
        return json.dumps(tomllib.loads(text), default=str)
    except tomllib.TOMLDecodeError:
        raise click.ClickException("--survey is no TOML. `survey` of a protocol prints it as JSON.") from None


def _estimate(file: Path, share: str | None, confidence: str) -> dict[str, Any]:
    from discreet import local  # noqa: PLC0415  slow to import
    from discreet.cli.server_files import read_number  # noqa: PLC0415
    from discreet.local.collecting import read_collection  # noqa: PLC0415
    from discreet.local.frequencies.oracle import FrequencyOracle  # noqa: PLC0415
    from discreet.local.means.base import LocalMean  # noqa: PLC0415

    survey, reports = read_collection(file)
    told: dict[str, Any] = {"kind": survey.kind, "epsilon": str(survey.epsilon), "reports": len(reports)}
    if isinstance(survey, local.PrefixSearch):
        if share is None:
            raise click.UsageError("a search needs --share: how many of all people hold what is looked for.")
        return told | _tell_search(survey.estimate(reports, share=read_number("share", share)))
    sure = read_number("confidence", confidence)
    ways: list[tuple[Any, Callable[..., dict[str, Any]]]] = [
        (FrequencyOracle, _tell_counts),
        (LocalMean | local.StatisticalQuery, _tell_mean),
        (local.ManyMeans, _tell_means),
        (local.SquareWave, _tell_distribution),
        (local.FourierMarginals, _tell_attributes),
    ]
    tell = next(tell for kind, tell in ways if isinstance(survey, kind))
    estimate: Any = survey
    return told | {"confidence": float(sure)} | tell(estimate.estimate(reports), sure)


def _tell_counts(found: Any, sure: Fraction) -> dict[str, Any]:
    low, high = found.intervals(sure)
    columns = zip(found.counts, found.standard_errors, low, high, strict=True)
    rows = [
        {"value": found.oracle.values.name(place), "count": float(count), "standard_error": float(error)}
        | {"interval": [float(least), float(most)]}
        for place, (count, error, least, most) in enumerate(columns)
    ]
    return {"values": rows}


def _tell_mean(found: Any, sure: Fraction) -> dict[str, Any]:
    return {
        "mean": found.value,
        "standard_error": found.standard_error,
        "interval": list(found.interval(sure)),
    }


def _tell_means(found: Any, sure: Fraction) -> dict[str, Any]:
    columns = zip(found.values, found.standard_errors, *found.intervals(sure), strict=True)
    rows = [
        {"mean": float(mean), "standard_error": float(error), "interval": [float(low), float(high)]}
        for mean, error, low, high in columns
    ]
    return {"coordinates": rows}


def _tell_distribution(found: Any, sure: Fraction) -> dict[str, Any]:
    levels = [Fraction(tenths, 10) for tenths in range(1, 10)]
    quantiles = [
        {"level": float(each), "value": found.quantile(each)}
        | {"interval": list(found.quantile_interval(each, sure))}
        for each in levels
    ]
    shares = zip(found.numbers.tolist(), found.shares.tolist(), strict=True)
    return {"quantiles": quantiles, "shares": [{"value": v, "share": s} for v, s in shares]}


def _tell_attributes(found: Any, sure: Fraction) -> dict[str, Any]:
    """Tell of each attribute alone; marginals of several are for `read_collection` in Python."""
    off = found.error(1 - sure)
    rows = [
        {"attribute": attribute.name, "value": attribute.values[1], "share": share}
        | {"interval": [max(share - off, 0.0), min(share + off, 1.0)]}
        for attribute in found.survey.universe.attributes
        for share in [float(found.marginal([attribute.name])[1])]
    ]
    return {"attributes": rows}


def _tell_search(found: Any) -> dict[str, Any]:
    rows = zip(found.values, found.counts, found.standard_errors, strict=True)
    return {
        "values": [
            {"value": value, "count": float(count), "standard_error": float(error)}
            for value, count, error in rows
        ]
    }
