"""`discreet collect`: what is taken and refused, two writers, a writer who is killed, and estimates."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet import local
from discreet.cli.main import commands
from discreet.core.errors import InvalidParameter
from discreet.local.collecting import open_collection, open_collector, read_collection
from discreet.queries import TableQuery, Universe
from discreet.testing import unsafe_seeded

ORACLE = local.DirectResponse(epsilon=1, domain=["bus", "car", "bicycle"])
PAGE = Path(__file__).parents[3] / "docs/local.md"


def run(*arguments, given=b""):
    return CliRunner().invoke(commands, ["collect", *map(str, arguments)], input=given)


def lines(oracle, values, seed=1):
    return [one.to_json() for one in oracle.encode_many(values, rng=unsafe_seeded(seed))]


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "survey.json"
    path.write_text(ORACLE.survey)
    return path


def test_reports_are_appended_and_estimated_at_any_time(tmp_path, survey):
    file, sent = tmp_path / "reports", lines(ORACLE, ["bus"] * 300 + ["car"] * 700)
    assert (
        "600 reports appended, 600 in all"
        in run(file, "--survey", survey, given="\n".join(sent[:600])).output
    )
    assert (
        "400 reports appended, 1000 in all"
        in run(file, "--survey", survey, given="\n".join(sent[600:])).output
    )
    said = json.loads(run(file, "--estimate").output)
    expected = ORACLE.estimate(sent)
    assert said["reports"] == 1000
    assert [one["value"] for one in said["values"]] == ["bus", "car", "bicycle"]
    for place, one in enumerate(said["values"]):
        assert one["count"] == expected.counts[place]
        assert one["standard_error"] == expected.standard_errors[place]
        assert one["interval"] == [float(end[place]) for end in expected.intervals(0.95)]


def test_what_does_not_belong_is_refused_one_by_one_and_never_echoed(tmp_path, survey):
    good = lines(ORACLE, ["bus"] * 9000)
    wrong = {
        "its version is not 1": good[0].replace('"version":1', '"version":2'),
        "its epsilon is another": lines(
            local.DirectResponse(epsilon=2, domain=["bus", "car", "bicycle"]), ["bus"]
        )[0],
        "its domain is another": lines(local.DirectResponse(epsilon=1, domain=["bus", "tram"]), ["bus"])[0],
        "its kind is another": lines(
            local.SubsetSelection(epsilon=1, domain=["bus", "car", "bicycle"]), ["bus"]
        )[0],
        "it is no JSON": "my name is secret42",
        "its payload is no report": re.sub(r'"report":"\w+"', '"report":"f7"', good[0]),
        "its payload is not of 1 bytes": re.sub(r'"report":"\w+"', '"report":"0000"', good[0]),
    }
    mixed = list(good)
    for place, line in enumerate(wrong.values()):
        mixed.insert(1000 * place, line)
    spaced = json.dumps(json.loads(good[0]))  # the same report, written otherwise
    result = run(tmp_path / "reports", "--survey", survey, given="\n".join([*mixed, spaced, ""]))
    assert "9001 reports appended" in result.output
    for why in wrong:
        assert f"1 refused: {why}" in result.output
    assert "secret42" not in result.output and "f7" not in result.output
    assert len(read_collection(tmp_path / "reports")[1]) == 9001


def test_a_file_has_one_survey_and_one_writer(tmp_path, survey):
    file = tmp_path / "reports"
    with open_collection(file, ORACLE):
        assert "open for one writer" in run(file, "--survey", survey, given=lines(ORACLE, ["bus"])[0]).output
    with (
        pytest.raises(InvalidParameter, match="this survey's"),
        open_collection(file, local.DirectResponse(epsilon=2, domain=["bus", "car", "bicycle"])),
    ):
        pass
    assert run(file).exit_code == 2
    assert run(file, "--estimate").exit_code == 1  # no reports yet
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("torn", [b"", b"\x01", b"\x01\x02\x03"])
def test_a_torn_last_report_is_none(tmp_path, torn):
    oracle, file = local.SubsetSelection(epsilon=1, domain=30), tmp_path / "reports"
    sent = [line.encode() for line in lines(oracle, [3] * 20)]
    with open_collection(file, oracle) as collection:
        assert list(collection.append(sent)) == [20]
    assert oracle.kernel.width == 4
    with file.open("ab") as raw:
        raw.write(torn)
    assert len(read_collection(file)[1]) == 20
    with open_collection(file, oracle) as collection:
        list(collection.append(sent))
        assert collection.held == 40
    held = read_collection(file)[1]
    assert [one.to_json().encode() for one in held] == sent * 2
    file.write_bytes(file.read_bytes()[:17])  # torn in the survey itself
    with open_collection(file, oracle) as collection:
        assert collection.held == 0


def test_a_writer_that_is_killed_leaves_whole_reports(tmp_path):
    oracle, file = local.SubsetSelection(epsilon=1, domain=30), tmp_path / "reports"
    (tmp_path / "survey.json").write_text(oracle.survey)
    some = "".join(line + "\n" for line in lines(oracle, [3] * 4096)).encode()
    command = [
        sys.executable,
        "-m",
        "discreet",
        "collect",
        str(file),
        "--survey",
        str(tmp_path / "survey.json"),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        for _ in range(3):
            process.stdin.write(some)
        process.stdin.flush()
        end = time.monotonic() + 30
        while (not file.exists() or file.stat().st_size < 4096 * 4) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    held = len(read_collection(file)[1])
    assert held >= 4096
    os.truncate(file, file.stat().st_size - 1)
    with open_collection(file, oracle) as collection:
        assert collection.held == held - 1


def test_means_searches_and_toml(tmp_path):
    mean = local.HybridMean(epsilon=2, lower=0, upper=10)
    for name, oracle in (("mean", mean), ("search", local.PrefixSearch(epsilon=4, length=8))):
        (tmp_path / f"{name}.json").write_text(oracle.survey)
        sent = "\n".join(lines(oracle, [7] * 500))
        assert "500 in all" in run(tmp_path / name, "--survey", tmp_path / f"{name}.json", given=sent).output
        assert open_collector(oracle.survey) == oracle
    low, high = json.loads(run(tmp_path / "mean", "--estimate").output)["interval"]
    assert low < 7 < high
    assert run(tmp_path / "search", "--estimate").exit_code == 2
    said = json.loads(run(tmp_path / "search", "--estimate", "--share", "0.5").output)
    assert [one["value"] for one in said["values"]] == [7]
    (tmp_path / "s.toml").write_text(
        'version = 1\nkind = "direct-response"\nepsilon = "1"\ndomain = ["a", "b"]\n'
    )
    assert "0 in all" in run(tmp_path / "toml", "--survey", tmp_path / "s.toml").output


def test_the_commands_of_the_page(tmp_path):
    block = next(
        m[1]
        for m in re.finditer(r"^```console\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        if "collect" in m[1]
    )
    (tmp_path / "survey.json").write_text(ORACLE.survey)
    (tmp_path / "today.jsonl").write_text("\n".join(lines(ORACLE, ["car"] * 200)))
    steps = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    assert len(steps) == 2
    for step in steps:
        command, _, given = step.partition(" < ")
        program, *arguments = shlex.split(command)
        assert program == "discreet"
        done = subprocess.run(
            [sys.executable, "-m", "discreet", *arguments],
            cwd=tmp_path,
            input=(tmp_path / given).read_bytes() if given else b"",
            capture_output=True,
            check=True,
        )
    assert json.loads(done.stdout)["reports"] == 200


HABITS = Universe([("smokes", ("no", "yes")), ("ill", (0, 1))])
BOTH = TableQuery(HABITS, (0, 1), "both", table=[[0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("survey", "value", "read"),
    [
        (local.StatisticalQuery(epsilon=4, query=BOTH), ("yes", 1), lambda said: (said["interval"], 1)),
        (
            local.FourierMarginals(epsilon=4, universe=HABITS, width=2),
            ("yes", 0),
            lambda said: (said["attributes"][0]["interval"], 1),
        ),
        (
            local.SquareWave(epsilon=4, lower=0, upper=10, steps=10),
            7,
            lambda said: (said["quantiles"][4]["interval"], 7),
        ),
        (
            local.ManyMeans(epsilon=4, lower=0, upper=10, dimensions=2),
            (7, 2),
            lambda said: (said["coordinates"][1]["interval"], 2),
        ),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
def test_every_kind_of_report_is_collected_and_told(tmp_path, survey, value, read):
    (tmp_path / "survey.json").write_text(survey.survey)
    sent = lines(survey, [value] * 1500)
    forged = sent[0].replace('"report":"', '"report":"ff')
    given = "\n".join([*sent, forged])
    said = run(tmp_path / "reports", "--survey", tmp_path / "survey.json", given=given).output
    assert "1500 reports appended, 1500 in all" in said and "1 refused" in said
    told = json.loads(run(tmp_path / "reports", "--estimate").output)
    assert told["reports"] == 1500 and told["kind"] == survey.kind
    (low, high), true = read(told)
    assert low <= true <= high and high - low < 8


@pytest.mark.parametrize("domain", [3, ["bus", "car", "bicycle"]], ids=str)
def test_reports_of_memos_are_collected_as_all_others(tmp_path, domain):
    """It ended in a TypeError."""
    survey = local.MemoisedUnary(epsilon=4, once=2, domain=domain)
    (tmp_path / "survey.json").write_text(survey.survey)
    assert open_collector(survey.survey) == survey
    memos = survey.memoise_many([domain[1] if isinstance(domain, list) else 1] * 1500)
    for day in (1, 2):
        sent = "\n".join(one.to_json() for one in memos.encode_many())
        said = run(tmp_path / f"day{day}", "--survey", tmp_path / "survey.json", given=sent).output
        assert "1500 reports appended, 1500 in all" in said
        told = json.loads(run(tmp_path / f"day{day}", "--estimate", "--confidence", "0.9999999").output)
        low, high = told["values"][1]["interval"]
        assert low <= 1500 <= high and low > 500


def test_a_survey_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "s.json").write_bytes(b"\xff")
    refused = run(tmp_path / "reports", "--survey", tmp_path / "s.json")
    assert refused.exit_code == 1 and "no text in UTF-8" in refused.output
