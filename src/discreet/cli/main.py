"""The group that all commands hang on. Heavy parts are imported by the command that needs them."""

from __future__ import annotations

import click

from discreet import __version__
from discreet.cli.audit import audit
from discreet.cli.catalogue import catalogue
from discreet.cli.demo import demo
from discreet.cli.init import init


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="discreet")
def commands() -> None:
    """Differential privacy whose every guarantee is checked by exact enumeration."""


for command in (audit, catalogue, demo, init):
    commands.add_command(command)
