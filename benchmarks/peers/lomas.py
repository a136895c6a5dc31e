"""Lomas on a port of its own: `python lomas.py FOLDER PORT`, where FOLDER has visits.csv and its bounds.

Its administrative data base is the YAML file that it keeps in memory; no charge waits for a disk.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import yaml

home, port = Path(sys.argv[1]), int(sys.argv[2])
facts = json.loads((home / "facts.json").read_text())
path = {"database_type": "PATH_DB"}
budget = {"dataset_name": "visits", "initial_epsilon": 1e9, "initial_delta": 0.5}
spent = {"total_spent_epsilon": 0.0, "total_spent_delta": 0.0}
users = [{"user_name": name, "may_query": True, "datasets_list": [budget | spent]} for name in facts["users"]]
dataset = {
    "dataset_name": "visits",
    "dataset_access": path | {"path": str(home / "visits.csv")},
    "metadata_access": path | {"path": str(home / "metadata.yaml")},
}
columns = {
    name: {"type": "int", "precision": 32, "lower": low, "upper": high}
    for name, (low, high) in facts["columns"].items()
}
settings = {
    "develop_mode": False,
    "submit_limit": 0,
    "server": {
        "host_ip": "127.0.0.1",
        "host_port": port,
        "log_level": "error",
        "reload": False,
        "workers": 1,
        "time_attack": {"method": "jitter", "magnitude": 0},
    },
    "admin_database": {"db_type": "yaml", "db_file": str(home / "admin.yaml")},
    "private_db_credentials": [],
    "dp_libraries": {
        "opendp": {"contrib": True, "floating_point": True, "honest_but_curious": True},
    },
}
for name, said in {
    "metadata": {"max_ids": 1, "rows": facts["rows"], "row_privacy": True, "columns": columns},
    "admin": {"users": users, "datasets": [dataset], "queries": []},
    "runtime": {"runtime_args": {"settings": settings}},
    "secrets": {},
}.items():
    (home / f"{name}.yaml").write_text(yaml.safe_dump(said))
os.environ |= {
    "LOMAS_CONFIG_PATH": str(home / "runtime.yaml"),
    "LOMAS_SECRETS_PATH": str(home / "secrets.yaml"),
    "LOMAS_SERVICE_ID": "benchmark",
    "OTEL_SDK_DISABLED": "true",  # nothing is told to a collector
}
os.execv(sys.executable, [sys.executable, "-m", "lomas_server.uvicorn_serve"])
