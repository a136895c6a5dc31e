"""`discreet serve`: stand in front of the registered tables and answer."""

from __future__ import annotations

import json
import logging
import signal
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console

from discreet.cli.server_files import as_json, config, say_errors

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@config
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--certificate", type=_FILE, help="For TLS, in PEM form.")
@click.option("--private-key", type=_FILE, help="Of the certificate.")
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="A proxy that speaks TLS stands in front: then a public address is bound without a certificate.",
)
@as_json
def serve(
    *,
    config: Path,
    host: str,
    port: int,
    certificate: Path | None,
    private_key: Path | None,
    behind_proxy: bool,
    as_json: bool,
) -> None:
    """Serve the tables of the registration file until told to stop (Ctrl-C or SIGTERM).

    Everything that was charged and answered is kept: the next server goes on from there.
    """
    from discreet.server.open_datasets import OpenDatasets  # noqa: PLC0415  an extra
    from discreet.server.registered.registration import read_registration  # noqa: PLC0415
    from discreet.server.serving import load_ahead, require_free, require_private  # noqa: PLC0415
    from discreet.server.serving import serve as run  # noqa: PLC0415

    if (certificate is None) != (private_key is None):
        raise click.UsageError("--certificate and --private-key go together.")
    console = Console(stderr=True)
    _write_log()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    scheme = "http" if certificate is None else "https"

    def say(bound: int) -> None:
        address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{bound}"
        click.echo(
            json.dumps({"address": address, "datasets": names})
            if as_json
            else f"Serving {listed} at {address}"
        )

    with say_errors():
        require_private(host, certificate=certificate, behind_proxy=behind_proxy)
        require_free(host, port)
        registration = read_registration(config)
        names = list(registration.datasets)
        listed = ", ".join(names) or "no table yet"
        with load_ahead(), console.status("reading the budget book") as status:

            def note(name: str) -> None:
                status.update(f"opening {name}: a new table is measured once, an old one goes on")
                if not console.is_terminal:
                    console.print(f"opening {name}", highlight=False)

            datasets = OpenDatasets(registration, note=note)
        try:
            run(
                datasets,
                host=host,
                port=port,
                certificate=certificate,
                private_key=private_key,
                behind_proxy=behind_proxy,
                ready=say,
            )
        finally:
            datasets.close()


def _write_log() -> None:
    """Send the owner's log to the standard error: one JSON object a line, without questions or answers."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    log = logging.getLogger("discreet.server")
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)


def _stop(*_: object) -> NoReturn:
    """End in order: what is open is closed on the way out."""
    raise SystemExit(0)
