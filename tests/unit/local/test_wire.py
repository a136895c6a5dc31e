"""Surveys and reports on the wire: what is written is read again, and nothing else is."""

import json
from fractions import Fraction

import numpy as np
import pytest

from discreet import local
from discreet.core.errors import InvalidParameter, Refused
from discreet.local import client
from discreet.local.laws.wire import SentReport, read_epsilon
from discreet.testing import unsafe_seeded

ORACLE = local.ProjectiveResponse(epsilon=Fraction(1, 2), domain=["bus", "car", "bicycle"])
FROZEN = '{"domain":"%s","epsilon":"1/2","kind":"projective-response","report":"02","version":1}'


def test_the_format_of_version_one_stays_as_it_is():
    """Devices in the field speak it. If this fails, the version must change."""
    line = FROZEN % "a8902358b95f33a4"
    assert ORACLE.header.domain == "a8902358b95f33a4"
    report = SentReport.from_json(line)
    assert report.to_json() == line
    assert ORACLE.estimate([line]).people == 1
    assert ORACLE.survey == (
        '{"domain":["bus","car","bicycle"],"epsilon":"1/2","kind":"projective-response","version":1}'
    )
    head = b'{"domain":"a8902358b95f33a4","epsilon":"1/2","kind":"projective-response","version":1}\n'
    assert report.to_bytes() == head + b"\x02"
    assert ORACLE.estimate(head + b"\x02\x01\x00").people == 3


@pytest.mark.parametrize(
    "other",
    [
        local.ProjectiveResponse(epsilon=Fraction(1, 2), domain=["car", "bus", "bicycle"]),
        local.ProjectiveResponse(epsilon=Fraction(51, 100), domain=["bus", "car", "bicycle"]),
        local.DirectResponse(epsilon=Fraction(1, 2), domain=["bus", "car", "bicycle"]),
        local.ProjectiveResponse(epsilon=Fraction(1, 2), domain=3),
    ],
    ids=["order", "epsilon", "kind", "names"],
)
def test_reports_for_another_survey_are_refused(other):
    batch = other.encode_many(["car"], rng=unsafe_seeded(1))
    for reports in (batch, batch.to_bytes(), list(batch), [next(iter(batch)).to_json()]):
        with pytest.raises(Refused, match="another one than this survey's"):
            ORACLE.estimate(reports)


def change(**fields):
    return json.dumps({**json.loads(FROZEN % "a8902358b95f33a4"), **fields})


@pytest.mark.parametrize(
    "line",
    [
        change(version=2),
        change(version="1"),
        change(version=True),
        change(version=1.0),
        change(epsilon="0.5"),
        change(epsilon="2/4"),
        change(epsilon="1/0"),
        change(epsilon="0"),
        change(epsilon=0.5),
        change(epsilon="-1/2"),
        change(epsilon="1/2\n"),
        change(epsilon="１/2"),
        change(domain="A8902358B95F33A4"),
        change(domain=None),
        change(kind=None),
        change(report=""),
        change(report="2"),
        change(report="0202"),
        change(report="03"),
        change(report=" 02"),
        change(report=2),
        change(more=1),
        "{}",
        "[]",
        "nonsense",
        "[" * 100_000,
        b"\xff\xfe",
        '{"version":1,' + (FROZEN % "a8902358b95f33a4")[1:],
        None,
        7,
    ],
)
def test_what_is_no_report_is_refused(line):
    with pytest.raises(Refused):
        ORACLE.estimate([line])


@pytest.mark.parametrize("given", [b"", b"\n", b"{}\n\x00", b"no line", []])
def test_no_reports_are_no_reports(given):
    with pytest.raises(Refused):
        ORACLE.estimate(given)


@pytest.mark.parametrize("given", [None, 5, ORACLE.encode(0).to_json()], ids=["none", "number", "one report"])
def test_what_is_no_list_of_reports_is_told_so(given):
    """One line of JSON is taken apart into letters where it is taken for a list."""
    with pytest.raises(InvalidParameter, match="reports must be a batch, its bytes, or a list"):
        ORACLE.estimate(given)


def test_bits_beyond_the_last_value_and_sets_of_another_size_are_refused():
    unary = local.OptimisedUnary(epsilon=1, domain=3)
    with pytest.raises(Refused, match="beyond the last value"):
        unary.estimate(local.ReportBatch(unary.header, np.array([[8]], dtype=np.uint8)))
    subsets = local.SubsetSelection(epsilon=1, domain=3)
    with pytest.raises(Refused, match="another size"):
        subsets.estimate(local.ReportBatch(subsets.header, np.array([[7]], dtype=np.uint8)))
    with pytest.raises(Refused, match="none of 1 bytes"):
        subsets.estimate(local.ReportBatch(subsets.header, np.array([[1, 0]], dtype=np.uint8)))


@pytest.mark.parametrize(
    "survey",
    [
        '{"version":2,"kind":"direct-response","epsilon":"1","domain":3}',
        '{"version":1,"kind":"unknown","epsilon":"1","domain":3}',
        '{"version":1,"kind":3,"epsilon":"1","domain":3}',
        '{"version":1,"kind":"direct-response","epsilon":"1","domain":{"lower":"0"}}',
        '{"version":1,"kind":"direct-response","epsilon":1,"domain":3}',
        '{"version":1,"kind":"direct-response","epsilon":"1","domain":"3"}',
    ],
)
def test_a_survey_that_is_not_known_is_refused(survey):
    with pytest.raises(Refused):
        client.open_survey(survey)


def test_exact_numbers():
    assert read_epsilon("1/3") == Fraction(1, 3)
    assert read_epsilon("12") == 12


def test_the_tables_of_version_one_stay_as_they_are():
    """A table follows from kind, domain and epsilon alone: another choice of numbers is another version."""
    made = [
        (local.SubsetSelection, "members", 275),
        (local.LocalHashing, "cells", 3),
        (local.LocalHashing, "digits", 7),
        (local.ProjectiveResponse, "prime", 3),
        (local.ProjectiveResponse, "dimension", 7),
        (local.HadamardResponse, "blocks", 1),
        (local.HadamardResponse, "length", 2048),
    ]
    found = [getattr(kind(epsilon=1, domain=1024).kernel, name) for kind, name, _ in made]
    assert found == [wanted for _, _, wanted in made]
    odds = Fraction(1494391238981, 549755813888)
    assert local.DirectResponse(epsilon=1, domain=1024).kernel.odds == odds


LONG = Fraction(1, 3**900)


@pytest.mark.parametrize(("lower", "upper"), [(5e-324, 1.7976931348623157e308), (-1e308, 2**-1074)])
def test_numbers_of_surveys_are_as_long_as_floats_may_be(lower, upper):
    """Devices read sixty digits, so that a survey with such a bound was refused by all of them."""
    survey = local.HybridMean(epsilon=1e300, lower=lower, upper=upper)
    device = client.open_survey(survey.survey)
    assert survey.estimate([device.encode(upper).to_json()]).people == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: local.DirectResponse(epsilon=1 + LONG, domain=2),
        lambda: local.SquareWave(epsilon=1, lower=LONG, upper=1),
        lambda: local.ManyMeans(epsilon=1, lower=0, upper=1 / LONG, dimensions=2),
        lambda: local.MemoisedUnary(epsilon=1, once=Fraction(1, 2) + LONG, domain=2),
    ],
)
def test_a_survey_that_no_device_could_read_is_not_made(make):
    with pytest.raises(InvalidParameter, match="400 digits"):
        make()
