"""`discreet registry`: a site out of a book, and what is wrong with one."""

import json
from dataclasses import asdict

import pytest
from click.testing import CliRunner
from tests.unit.server.conftest import serving, write_home
from tests.unit.server.registry.conftest import fill

from discreet.cli.main import commands
from discreet.curator.ledger.books.verification import read_book
from discreet.server.registry.sources import list_receipts


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    fill(folder)
    return folder


def run(*arguments):
    return CliRunner().invoke(commands, ["registry", *map(str, arguments)])


def test_a_site_is_written_and_found_sound(home, tmp_path):
    site = tmp_path / "site"
    done = run("export", "--config", home / "discreet.toml", "--out", site)
    assert done.exit_code == 0, done.output
    assert "wrote 1 data set to" in done.output
    said = run("verify", site)
    assert said.exit_code == 0, said.output
    assert said.output == "visits: sound. Checked: its sums, receipts among themselves (12)\n"
    kept = tmp_path / "kept.json"
    receipts = list_receipts(read_book(home / "budget.db"), "visits")
    kept.write_text(json.dumps([asdict(one) for one in receipts.values()]))
    said = run("verify", site, "--book", home / "budget.db", "--receipts", kept)
    assert said.exit_code == 0
    assert "kept receipts (12)" in said.output
    assert "acme" not in (site / "datasets/visits/registry.json").read_text()


def test_a_tampered_site_is_found(home, tmp_path):
    site = tmp_path / "site"
    run("export", "--config", home / "discreet.toml", "--out", site)
    page = site / "datasets" / "visits" / "index.html"
    text = page.read_text()
    page.write_text(text.replace("</h1>", "</h1><p>No budget was used.</p>"))
    said = run("verify", site)
    assert said.exit_code == 1
    assert "datasets/visits/index.html: does not say what the JSON says" in said.output
    page.write_text(text)
    feed = site / "datasets" / "visits" / "registry.json"
    told = json.loads(feed.read_text())
    told["releases"][0]["cost"] = {name: "0" for name in told["releases"][0]["cost"]}
    feed.write_text(json.dumps(told))
    said = run("verify", feed)
    assert said.exit_code == 1
    assert "visits: releases add up to another" in said.output
    feed.write_text("{}")
    said = run("verify", site)
    assert said.exit_code == 1
    assert "documented shape" in said.output


def test_the_owner_exports_everything(home, tmp_path):
    done = run("export", "--config", home / "discreet.toml", "--out", tmp_path / "full", "--full")
    assert done.exit_code == 0
    assert "SELECT 11" in (tmp_path / "full/datasets/visits/registry.json").read_text()
    assert run("verify", tmp_path / "full", "--book", home / "budget.db").exit_code == 0


def test_a_running_server_is_exported_and_verified(tmp_path):
    with serving(write_home(tmp_path, rows=100)) as server:
        key = server.key()
        assert server.ask("SELECT SUM(age) AS n FROM visits", key=key, insist=True)[0] == 200
        address = f"http://127.0.0.1:{server.port}"
        assert run("export", "--url", address, "--out", tmp_path / "site").exit_code == 0
        assert run("verify", address).output.startswith("visits: sound")
        # Beside a server that runs, from its own book.
        config = tmp_path / "discreet.toml"
        assert run("export", "--config", config, "--out", tmp_path / "other").exit_code == 0
        assert run("verify", tmp_path / "site", "--book", tmp_path / "budget.db").exit_code == 0
    assert run("export", "--url", address, "--full", "--out", tmp_path / "x").exit_code == 2


def test_what_is_not_there_is_said(tmp_path):
    said = run("export", "--config", tmp_path / "none.toml", "--out", tmp_path / "site")
    assert said.exit_code == 1
    assert "register" in said.output
    assert run("verify", tmp_path / "none").exit_code == 1
