"""From a file to a first private answer with five commands, as the pages say: run as real processes."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = "http://127.0.0.1:8000"


def find_steps(page):
    """Return the commands of the first console block with `discreet serve`, and the schema that follows."""
    text = (ROOT / page).read_text()
    for block in re.finditer(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if "discreet serve\n" in block[1]:
            schema = re.search(r"^```toml\n(.*?)^```", text[block.end() :], re.MULTILINE | re.DOTALL)
            return [line.removeprefix("$ ") for line in block[1].splitlines()], schema[1]
    raise AssertionError(f"{page} has no such block")


class Shell:
    """Runs commands in a folder, with a key nowhere but in files."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = os.environ | {"OMP_NUM_THREADS": "1"}
        self.environment.pop("DISCREET_KEY", None)

    def start(self, command):
        program, *arguments = shlex.split(command, comments=True)
        assert program == "discreet"
        return subprocess.Popen(
            [sys.executable, "-m", "discreet", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, command):
        process = self.start(command)
        said, error = process.communicate(timeout=60)
        assert process.returncode == 0, (command, error)
        return said


def test_both_pages_name_the_same_commands():
    assert find_steps("README.md") == find_steps("docs/server.md")


def test_five_commands_lead_from_a_file_to_a_first_private_answer(tmp_path):
    steps, schema = find_steps("README.md")
    assert len(steps) == 5
    install, init, register, serve, ask = steps
    assert install == "pip install '.[server]'"
    assert not any("dk_" in step for step in steps), "keys are never arguments"
    (tmp_path / "visits.csv").write_text("age,ward\n" + "31,north\n64,south\n70,south\n" * 1000)
    shell = Shell(tmp_path)
    shell.run(init)
    template = (tmp_path / "visits.toml").read_text()
    assert all(line in template for line in re.findall(r"^\[.*\]$", schema, re.MULTILINE))
    (tmp_path / "visits.toml").write_text(schema)
    shell.run(register)
    server = shell.start(f"{serve} --port 0")
    try:
        address = server.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:"), server.stderr.read()
        assert HERE in ask
        said = shell.run(ask.replace(HERE, address))
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    counts = dict(re.findall(r"^(north|south) +(\d+) \[", said, re.MULTILINE))
    assert abs(int(counts["north"]) - 1000) < 300 and abs(int(counts["south"]) - 2000) < 300
    assert "charged nothing" in said
    assert server.returncode == 0
