"""A folder whose disk is memory, where there is one: what a killed process wrote is there, and quickly."""

import shutil
import tempfile
from pathlib import Path

import pytest

SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path():
    """Return a folder of the test's own."""
    made = tempfile.mkdtemp(prefix="ledger", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None)
    yield Path(made)
    shutil.rmtree(made)
