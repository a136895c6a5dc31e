"""Ctrl-C while an engine works arrives as itself, says nothing of the engine's, and breaks nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("interrupted.py")


def interrupted(kind: str, *arguments: str) -> None:
    """Run the script in a process of its own: it sends itself SIGINT, and says "held" at the end."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), kind, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["held"], done.stdout + done.stderr
    assert "failed in" not in done.stderr, "an interrupt is no failure of the engine"


@pytest.mark.parametrize("kind", ["frame", "csv", "table"])
def test_duckdb_lets_an_interrupt_through(kind: str, tmp_path: Path) -> None:
    interrupted(kind, str(tmp_path))


def test_postgres_lets_an_interrupt_through(postgres_dsn: str) -> None:
    interrupted("postgres", postgres_dsn)


def test_spark_lets_an_interrupt_through(spark_session: object) -> None:
    interrupted("spark")
