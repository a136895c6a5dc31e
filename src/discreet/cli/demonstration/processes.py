"""The demo's processes: a server that is killed once, and analysts that tell what they see."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

import click

_SECONDS = 60


class ServerProcess:
    """`discreet serve` in a folder, on a free port that it keeps over restarts."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, 0
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "discreet", "serve", "--json", "--port", str(self._port)]
        self._process = _start(command, self._folder)
        said = _of(self._process.stdout).readline()
        if not said:
            error = _of(self._process.stderr).read().strip().splitlines()
            raise click.ClickException(
                f"the server did not start: {error[-1] if error else 'it said nothing'}"
            )
        self.url = json.loads(said)["address"]
        self._port = int(self.url.rsplit(":", 1)[1])

    def end(self, how: signal.Signals) -> None:
        """End it: SIGKILL gives it no moment to put anything in order."""
        if self._process is not None:
            _end(self._process, how)
            self._process = None


class AnalystProcess:
    """One analyst, who is told things by lines, and tells things in a queue as (who, what)."""

    def __init__(
        self, who: str, told: dict[str, Any], heard: queue.Queue[tuple[str, dict[str, Any]]]
    ) -> None:
        self._who, self._heard = who, heard
        self._process = _start([sys.executable, "-m", "discreet.cli.demonstration.analyst"], Path.cwd())
        self.tell(json.dumps({"who": who, **told}))
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def tell(self, line: str = "") -> None:
        """Send it a line."""
        stdin = _of(self._process.stdin)
        stdin.write(line + "\n")
        stdin.flush()

    def end(self) -> None:
        """End it."""
        _end(self._process, signal.SIGTERM)
        self._reader.join(_SECONDS)

    def _listen(self) -> None:
        for line in _of(self._process.stdout):
            self._heard.put((self._who, json.loads(line)))
        error = _of(self._process.stderr).read().strip().splitlines()
        self._heard.put((self._who, {"ended": error[-1] if error else "it said nothing"}))


def _start(command: list[str], folder: Path) -> subprocess.Popen[str]:
    # The same package as here, wherever the process starts; and no tracebacks that nobody asked for.
    found = os.pathsep.join(one for one in sys.path if one)
    return subprocess.Popen(  # noqa: S603  our own interpreter and our own modules
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": found, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(process: subprocess.Popen[str], how: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(how)
    try:
        process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        _of(pipe).close()


def _of(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise click.ClickException("a process was started without pipes")
    return pipe
