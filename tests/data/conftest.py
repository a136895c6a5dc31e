"""Servers for tests: started on the loopback address, stopped at the end."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# The tests of this folder share modules.
sys.path.insert(0, str(Path(__file__).parent))


def absent(what: str) -> None:
    """Skip where a server's programs are missing, but never on a continuous-integration machine."""
    reason = f"{what} is not installed on this machine"
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI must run every engine")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres_dsn():
    """Start a private PostgreSQL cluster and return its connection string."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        absent("PostgreSQL (initdb)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    as_user = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(home, "postgres", "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(program, *arguments):
        command = [*as_user, str(folders[-1] / program), "-D", f"{home}/data", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/tmp")

    try:
        run("initdb", "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        options = f"-h 127.0.0.1 -p {port} -k {home} -c fsync=off"
        run("pg_ctl", "-w", "-o", options, "-l", f"{home}/log", "start")
        yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def spark_session():
    """Start Spark on this machine alone."""
    if importlib.util.find_spec("pyspark") is None:
        absent("pyspark")
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        absent("Java")
    # Tiny data: a quick start is worth more than fast machine code.
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    from discreet.data.sources.spark import local_session

    session = local_session()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
