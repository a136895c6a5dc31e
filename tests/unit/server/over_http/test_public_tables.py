"""Public tables behind a server: joined over HTTP, named in the registration, and marked like the rows."""

import json
import os
import time

import pytest
from click.testing import CliRunner
from tests.unit.server.conftest import SCHEMA, serving, write_home

from discreet.cli.main import commands
from discreet.core.errors import InvalidParameter
from discreet.server.open_datasets import OpenDatasets
from discreet.server.registered.registration import read_registration

DECLARED = """
[dimensions.wards]
key = "ward"
[dimensions.wards.columns.ward]
kind = "category"
values = ["north", "south", "west"]
[dimensions.wards.columns.beds]
kind = "integer"
lower = 0
upper = 50
[dimensions.wards.columns.region]
kind = "category"
values = ["coast", "hills"]
"""
WARDS = "ward,beds,region\nnorth,10,coast\nsouth,20,coast\nwest,5,hills\n"
BY_REGION = "SELECT region, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY region"
NAMED = 'public = { wards = "wards.csv" }\nepsilon = 1'


def home(folder, *, options=NAMED, wards=WARDS):
    path = write_home(folder, options="expects = 20")
    (folder / "visits.toml").write_text(SCHEMA + DECLARED)
    (folder / "wards.csv").write_text(wards)
    path.write_text(path.read_text().replace("epsilon = 1", options))
    return path


def test_public_tables_are_joined_over_http(tmp_path):
    with serving(home(tmp_path)) as server:
        key = server.key()
        status, found = server.ask(BY_REGION, key=key)
        assert status == 200, found
        assert [row[0] for row in found["rows"]] == ["coast", "hills"]
        assert abs(found["rows"][0][1] - 1334) < 500 and found["kind"] == "priced"
        status, found = server.ask("SELECT SUM(beds) AS n FROM visits JOIN wards USING (ward)", key=key)
        assert status == 200 and found["cost"], found
        told = json.loads(server.send("GET", "/v1/datasets/visits", key=key)[2])
        assert set(told["schema"]["dimensions"]) == {"wards"}
        # What is about the rows alone costs nothing, as without public tables.
        status, found = server.ask("SELECT COUNT(*) AS n FROM visits WHERE ward = 'west'", key=key)
        assert (status, found["kind"], found["cost"]) == (200, "free", {})
        status, found = server.ask("SELECT COUNT(*) AS n FROM wards", key=key)
        assert (status, found["error"]) == (422, "refused")


def test_a_public_table_that_changed_is_another_version(tmp_path):
    path = home(tmp_path)
    OpenDatasets(read_registration(path)).close()
    OpenDatasets(read_registration(path)).close()
    (tmp_path / "wards.csv").write_text(WARDS.replace("west,5,hills", "west,5,coast"))
    os.utime(tmp_path / "wards.csv", (time.time() + 5, time.time() + 5))
    with pytest.raises(InvalidParameter, match=r"wards.csv that changed since.*register visits.csv"):
        OpenDatasets(read_registration(path))
    found = register(path, "--version", "2", "--public", "wards=wards.csv", budget=())
    assert found.exit_code == 0, found.output
    with serving(path) as server:
        rows = server.ask(BY_REGION, key=server.key(), insist=True)[1]["rows"]
        assert rows[0][1] > 1500


def register(path, *options, budget=("--epsilon", "1", "--delta", "1e-9")):
    folder = path.parent
    before = os.getcwd()
    os.chdir(folder)
    try:
        given = ["register", "visits.csv", "--schema", "visits.toml", *budget, *options]
        return CliRunner().invoke(commands, given)
    finally:
        os.chdir(before)


def test_the_command_names_them(tmp_path):
    path = home(tmp_path)
    path.unlink()
    refused = register(path)
    assert refused.exit_code == 1 and "--public NAME=FILE" in refused.output
    assert not path.exists()
    found = register(path, "--public", "wards=wards.csv")
    assert found.exit_code == 0, found.output
    assert read_registration(path).datasets["visits"].public == {"wards": tmp_path / "wards.csv"}
    OpenDatasets(read_registration(path)).close()


@pytest.mark.parametrize(
    "options",
    [
        "epsilon = 1",
        'public = { wards = "wards.csv", more = "wards.csv" }\nepsilon = 1',
        'public = { wards = "../wards.csv" }\nepsilon = 1',
        'public = { wards = "wards.duckdb" }\nepsilon = 1',
        'public = { wards = "http://h/wards.csv" }\nepsilon = 1',
        "public = { wards = 7 }\nepsilon = 1",
        'public = "wards.csv"\nepsilon = 1',
    ],
)
def test_what_is_not_declared_or_leads_out_is_refused(tmp_path, options):
    path = home(tmp_path, options=options)
    with pytest.raises(InvalidParameter):
        OpenDatasets(read_registration(path))


@pytest.mark.parametrize("where", ["visits.csv", "./more/../visits.csv", "link.csv", "hard.csv", "other.csv"])
def test_private_rows_are_no_public_table(tmp_path, where):
    """Neither of the same data set nor of another one: a person's rows would be told without noise."""
    path = home(tmp_path, options=f'public = {{ wards = "{where}" }}\nepsilon = 1')
    (tmp_path / "more").mkdir()  # the shell's path goes through it
    (tmp_path / "link.csv").symlink_to(tmp_path / "visits.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "visits.csv")
    (tmp_path / "other.csv").write_text(WARDS)
    other = '\n[datasets.other]\ndata = "other.csv"\nschema = "visits.toml"\nepsilon = 1\ndelta = 0\n'
    path.write_text(path.read_text() + other)
    with pytest.raises(InvalidParameter, match="nobody is to be hidden"):
        OpenDatasets(read_registration(path))
    options = ["--schema", str(tmp_path / "visits.toml"), "--public", f"wards={tmp_path / where}"]
    given = ["register", str(tmp_path / "visits.csv"), "--config", str(path), "--version", "2", *options]
    told = CliRunner().invoke(commands, given)
    assert told.exit_code and "nobody is to be hidden" in told.output
