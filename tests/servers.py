"""Servers for tests: started on the loopback address, stopped at the end."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


def absent(what: str) -> None:
    """Skip where a server's programs are missing, but never on a continuous-integration machine."""
    reason = f"{what} is not installed on this machine"
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI must run every engine")
    pytest.skip(reason)


class Cluster:
    """A PostgreSQL cluster in a folder of its own, on the loopback address."""

    def __init__(self):
        found, usual = shutil.which("initdb"), Path("/usr/lib/postgresql")
        folders = [Path(found).resolve().parent] if found else sorted(usual.glob("*/bin"))
        if not folders:
            absent("PostgreSQL (initdb)")
        self.programs = folders[-1]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.home = tempfile.mkdtemp(prefix="pg", dir="/tmp")
        self.as_user = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self.home, "postgres", "postgres")
            self.as_user = ["runuser", "-u", "postgres", "--"]

    def run(self, program, *arguments):
        command = [*self.as_user, str(self.programs / program), "-D", f"{self.home}/data", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/tmp")

    @contextmanager
    def running(self, *, durable=False):
        """Start what is in the folder, and return its connection string."""
        options = f"-h 127.0.0.1 -p {self.port} -k {self.home} -c fsync={'on' if durable else 'off'}"
        self.run("pg_ctl", "-w", "-o", options, "-l", f"{self.home}/log", "start")
        try:
            yield f"postgresql://tester@127.0.0.1:{self.port}/postgres"
        finally:
            self.run("pg_ctl", "-w", "-m", "immediate", "stop")

    def remove(self):
        shutil.rmtree(self.home, ignore_errors=True)


@contextmanager
def postgres(*, durable=False):
    """Start a private PostgreSQL cluster and return its connection string."""
    cluster = Cluster()
    try:
        cluster.run("initdb", "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        with cluster.running(durable=durable) as dsn:
            yield dsn
    finally:
        cluster.remove()
