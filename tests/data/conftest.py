"""Servers for tests: started on the loopback address, stopped at the end."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.servers import Cluster, absent, postgres

# The tests of this folder share modules.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def postgres_dsn():
    """Start a private PostgreSQL cluster and return its connection string."""
    with postgres() as dsn:
        yield dsn


@pytest.fixture
def standby_dsn(postgres_dsn):
    """Start a hot standby of the cluster and return its connection string."""
    cluster = Cluster()
    try:
        cluster.run("pg_basebackup", "-d", postgres_dsn, "-R", "-c", "fast", "--no-sync")
        with cluster.running() as dsn:
            yield dsn
    finally:
        cluster.remove()


@pytest.fixture(scope="session")
def spark_session():
    """Start Spark on this machine alone."""
    if importlib.util.find_spec("pyspark") is None:
        absent("pyspark")
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        absent("Java")
    # Tiny data: a quick start is worth more than fast machine code.
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    from discreet.data.engines.spark import local_session

    session = local_session()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
