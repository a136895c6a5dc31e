"""A server as a process of its own: `python -m benchmarks.load.serve discreet.toml`; prints its port."""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.server.open_datasets import OpenDatasets
from discreet.server.registered.registration import read_registration
from discreet.server.serving import load_ahead, serve

if __name__ == "__main__":
    with load_ahead():
        opened = OpenDatasets(read_registration(Path(sys.argv[1])))
    serve(opened, port=0, ready=lambda port: print(port, flush=True))
    opened.close()
