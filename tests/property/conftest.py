"""Let the tests of this folder import how other tests read the rows of an engine."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "data"))
sys.path.insert(0, str(Path(__file__).parent))  # tests of one thing share the tables of another
