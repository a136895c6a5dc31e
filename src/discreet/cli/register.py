"""`discreet register`: put a table behind a server, on a budget that is set once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.data_file import DataFile, choose_data, public_tables, read_public
from discreet.cli.server_files import (
    as_json,
    config,
    grant,
    open_access,
    read_number,
    require_new,
    say_errors,
    write_key,
)
from discreet.core.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.server.registered.registering import Registered

_PROMISES = ("one query to many", "one analyst to many", "many to one")


@click.command()
@click.argument("data", type=DataFile(), required=False)
@click.option("--table", help="The table of a .duckdb file, or of PostgreSQL: schema.table.")
@click.option(
    "--engine",
    type=click.Choice(("duckdb", "postgres", "spark")),
    default="duckdb",
    show_default=True,
    help="What reads it: spark for a .parquet file, postgres for a table of a server.",
)
@click.option(
    "--dsn-env",
    metavar="VARIABLE",
    help="The environment variable that holds the connection string of PostgreSQL.",
)
@click.option(
    "--schema",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="What is public about the data, as TOML: `discreet init` writes a template.",
)
@public_tables
@click.option("--epsilon", metavar="NUMBER", help="What everything ever answered may cost.")
@click.option(
    "--delta",
    metavar="NUMBER",
    help="The probability that the promise fails for someone; 0 for none, else far below 1 / people.",
)
@click.option("--name", help="What analysts call it: the name in the schema, which is taken where left out.")
@click.option("--purpose", help="Why the table is there, in a sentence. Everybody can read it.")
@click.option(
    "--expects",
    multiple=True,
    help='What will be asked: a number of priced questions, "counts", or a question in SQL; '
    "the last may be given several times.",
)
@click.option(
    "--version",
    metavar="NAME",
    help="Which state of the rows this is, such as 2026-12; of a table that is registered it adds one.",
)
@click.option(
    "--promise", type=click.Choice(_PROMISES), help="What is hidden between analysts; nothing by default."
)
@click.option(
    "--analyst",
    "analysts",
    metavar="NAME",
    multiple=True,
    help="Also let this analyst ask; her key goes to the new file NAME.key. Several have equal shares.",
)
@config
@as_json
def register(
    data: str | None,
    *,
    table: str | None,
    engine: str,
    dsn_env: str | None,
    schema: str,
    public: tuple[str, ...],
    epsilon: str | None,
    delta: str | None,
    name: str | None,
    purpose: str | None,
    expects: tuple[str, ...],
    version: str | None,
    promise: str | None,
    analysts: tuple[str, ...],
    config: Path,
    as_json: bool,
) -> None:
    """Register a .csv, .csv.gz, .parquet or .duckdb file, in the folder of the registration file or below.

    A table of PostgreSQL is registered without a file: --engine postgres, --dsn-env and --table. The schema
    is checked and the data are opened once with it. Nothing is measured before the server runs.

    Where rows of the same people were added or changed, --version NAME serves them on the same budget.
    """
    from discreet.data.schema.toml_file import read_schema  # noqa: PLC0415  the engine is an extra
    from discreet.server.access import require_name  # noqa: PLC0415
    from discreet.server.registered.registering import add_version, relate  # noqa: PLC0415
    from discreet.server.registered.registering import register as write  # noqa: PLC0415
    from discreet.server.registered.registration import read_registration  # noqa: PLC0415

    if (data is None) != (engine == "postgres") or (engine == "postgres" and None in (dsn_env, table)):
        raise click.UsageError("give a file DATA, or --engine postgres with --dsn-env and --table.")
    if engine == "duckdb":
        choose_data(str(data), table)
    keys = {analyst: Path(f"{analyst}.key") for analyst in analysts}
    file, declared = None if data is None else relate(config, data), relate(config, schema)
    joined = read_public(public, files=data is not None)
    tables = joined if data is None else {name: relate(config, where) for name, where in joined.items()}
    with say_errors():
        called = read_schema(schema).name if name is None else name
        if version is not None and config.exists() and called in read_registration(config).datasets:
            if epsilon is not None or delta is not None or expects or promise or analysts:
                raise click.UsageError(
                    "a version has the budget that was set: give files and --version alone."
                )
            rows = {"data": file, "table": table, "dsn_env": dsn_env, "public": tables or None}
            added = add_version(config, called, version=version, schema=declared, **rows)
            _tell_version(added, version, config, as_json)
            return
        if epsilon is None or delta is None:
            raise click.UsageError("--epsilon and --delta say what everything ever answered may cost.")
        for analyst, out in keys.items():
            require_name(analyst=analyst)
            require_new(out)
        added = write(
            config,
            called,
            {
                "data": file,
                "engine": None if engine == "duckdb" else engine,
                "dsn_env": dsn_env,
                "table": table,
                "schema": declared,
                "public": tables or None,
                "epsilon": read_number("epsilon", epsilon),
                "delta": read_number("delta", delta),
                "expects": _read_expects(expects),
                "version": version,
                "promise": promise,
                "purpose": purpose,
            },
        )
    share = str(Fraction(1, max(1, len(keys))))
    for analyst, out in keys.items():
        with open_access(config) as (registration, access):
            grant(access, registration, analyst, added.facts.name, share)
            write_key(access.make_key(analyst), out)
    if as_json:
        split = {
            "shared": str(added.shared),
            "columns": list(added.columns),
            "rest": str(added.rest),
            "question": str(added.question),
        }
        told = {"keys": {analyst: str(out) for analyst, out in keys.items()}, "hidden": added.hidden, **split}
        click.echo(json.dumps({"name": added.facts.name, "config": str(config), **told}))
        return
    click.echo(
        f"Registered {added.facts.name} in {config}: epsilon {epsilon}, delta {delta} for everything ever "
        "answered."
    )
    for line in (*_say_unit(added), *_say_split(added, is_guessed=not expects)):
        click.echo(line)
    if not keys:
        click.echo(
            f"Nobody may ask yet: `discreet analysts add NAME --dataset {added.facts.name} --share 1`."
        )
    for analyst, out in keys.items():
        part = "all" if share == "1" else share
        click.echo(f"{analyst} may use {part} of what is for questions. Her key is in {out}.")


def _tell_version(added: Registered, version: str, config: Path, as_json: bool) -> None:
    name, later = added.facts.name, added.later
    if as_json:
        told = {"name": name, "config": str(config), "version": version, "shared": str(later)}
        click.echo(json.dumps(told))
        return
    click.echo(f"{name} in {config} is version {version} from now on, on the budget that was set.")
    if later:
        click.echo(
            f"  Its shared hypothesis costs epsilon {float(later):.4g} of what is for questions, when it is "
            "first served; where that is not left, every question about it has a price."
        )
    if later < added.shared:
        click.echo(
            f"  That is {float(later / added.shared):.2g} of what the first one cost: its counts are so much "
            "further off. Look at their intervals before you rely on them."
        )


def _say_unit(added: Registered) -> Iterator[str]:
    """Say whom the budget protects, and what to do where that is a row though names stand in it."""
    yield f"  What it hides: {added.hidden}."
    if added.unused:
        yield (
            f"  {added.unused} says whose a row is, and single rows are protected: where somebody may have "
            f'several, write [unit] with column = "{added.unused}", max_rows and max_groups into the schema '
            "before it is served."
        )


def _say_split(added: Registered, *, is_guessed: bool) -> Iterator[str]:
    """Say how the budget is divided, and what divides it otherwise."""
    shared, rest, one = (f"{float(much):.4g}" for much in (added.shared, added.rest, added.question))
    if added.shared:
        about = ", ".join(added.columns)
        yield f"  epsilon {shared} buys the shared hypothesis: counts over {about} are answered without end."
    else:
        yield "  No shared hypothesis: every question has a price."
    yield f"  epsilon {rest} is for questions with a price, at most {one} each: {added.questions} or more."
    if is_guessed:
        yield (
            "  That is the division where nobody says what will be asked. --expects 100 (questions with a "
            "price), --expects counts, or --expects 'SELECT …' (examples) makes another."
        )


def _read_expects(given: tuple[str, ...]) -> Any:
    if not given:
        return None
    if len(given) == 1 and given[0].isascii() and given[0].isdigit():
        return int(given[0])
    if given == ("counts",):
        return given[0]
    if not all(" " in one.strip() for one in given):
        raise InvalidParameter(
            name="expects",
            rule='a number of questions, "counts", or questions in SQL',
            value=given[0] if len(given) == 1 else given,
        )
    return list(given)
