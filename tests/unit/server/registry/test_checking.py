"""Checking: a sound registry passes, and every way to embellish one is found."""

import copy
from dataclasses import asdict
from fractions import Fraction

import pytest
from tests.unit.server.registry.conftest import fill, read, writing

from discreet.curator.ledger.books.verification import read_book
from discreet.server.registry.checking import check_registry
from discreet.server.registry.sources import list_receipts
from discreet.server.registry.view import drop_rho, write_registry


@pytest.fixture(scope="module")
def sound(filled):
    return read_book(filled.parent / "budget.db")


@pytest.fixture(params=["public", "owner"])
def told(source, request):
    return write_registry(source, request.param, newest=None)


@pytest.fixture
def receipts(sound):
    return [asdict(one) for one in list_receipts(sound, "visits").values()]


def test_a_sound_registry_passes(told, sound, receipts):
    found = check_registry(told, book=sound, receipts=receipts)
    assert found.wrong == ()
    assert found.checked == (
        "its sums",
        "receipts among themselves (12)",
        f"the book ({len(sound.rows)} rows)",
        "kept receipts (12)",
    )
    without = check_registry(drop_rho(told), book=sound, receipts=receipts)
    assert without.wrong == ()
    assert "rhos" in without.checked[0]
    assert check_registry(told | {"releases": told["releases"][:5]}, book=sound).wrong == ()


def test_under_a_promise_too(tmp_path):
    with writing(tmp_path, apart=True) as past:
        past.ledger.cap("acme", Fraction(1, 2))
        past.ledger.cap("blue", Fraction(1, 3))
        for place in range(4):
            past.ask(analyst="acme" if place else "blue", day=place)
    book = read_book(tmp_path / "budget.db")
    for audience in ("public", "owner"):
        told = write_registry(read(past.path), audience, newest=None)
        assert check_registry(told, book=book).wrong == ()
    owner = write_registry(read(past.path), "owner", newest=None)
    (wrong,) = check_registry(owner | {"audience": "public"}).wrong
    assert "promised" in wrong
    owner["shares"][0]["spent"]["charged"]["epsilon"] = "1/4"
    owner["shares"][0]["spent"]["charged"]["rho"] = "1/4"
    assert any("less than" in one for one in check_registry(owner).wrong)


def change(told, path, value):
    *way, last = path
    place = told
    for step in way:
        place = place[step]
    place[last] = value(place[last]) if callable(value) else value


ALONE = {
    "a smaller spent epsilon": [(["spent", "epsilon"], "0.0001")],
    "a smaller total": [(["total"], "0.50001")],
    "a smaller part": [(["spent", "part"], "0.000001")],
    "more left": [(["left", "epsilon"], "0.4999")],
    "more parts left": [(["left", "part"], "1")],
    "a larger budget": [(["budget", "epsilon"], "2")],
    "a cheaper opening": [(["opening", "epsilon"], "1/4")],
    "other coordinates": [(["coordinates", "rho"], "1/2")],
    "a cheaper release": [(["releases", 0, "cost", "rho"], "0")],
    "a smaller sum": [(["spent", "charged", "rho"], lambda amount: str(Fraction(amount) / 2))],
    "a release left out": [(["releases"], lambda listed: listed[:3] + listed[4:])],
    "the last release left out": [(["releases"], lambda listed: listed[1:]), (["releases_total"], 11)],
    "the newest release hidden": [(["releases"], lambda listed: listed[1:])],
    "a smaller part of a study": [(["studies", 0, "spent", "part"], "0.000001")],
    "all releases left out": [(["releases"], [])],
    "a release given back": [(["releases", 0, "state"], "given back")],
    "a later time": [(["releases", 3, "time"], "2031-01-01T00:00:00Z")],
    "a receipt of another": [(["releases", 1, "receipt", "number"], 3)],
    "a receipt of another book": [(["releases", 1, "receipt", "book"], "ab" * 16)],
    "a receipt of another ledger": [(["releases", 1, "receipt", "ledger"], "other")],
    "one row for two": [(["releases", 1, "receipt", "place"], 12), (["releases", 2, "receipt", "place"], 12)],
    "one digest for two": [
        (["releases", 1, "receipt", "digest"], "0" * 64),
        (["releases", 2, "receipt", "digest"], "0" * 64),
    ],
    "an infinite one hidden": [(["spent", "charged", "epsilon"], "1/25"), (["spent", "endless"], [])],
    "fewer of a kind": [(["mechanisms", 0, "releases"], 1)],
}


@pytest.mark.parametrize("name", ALONE)
def test_a_registry_that_does_not_agree_with_itself_is_found(told, name):
    for path, value in ALONE[name]:
        change(told, path, value)
    assert check_registry(told).wrong, name


def forget_last(told):
    """Leave out the last release so that everything else still agrees."""
    last = told["releases"].pop(0)
    told["releases_total"] -= 1
    for name, amount in last["cost"].items():
        if name in told["spent"]["charged"]:
            told["spent"]["charged"][name] = str(Fraction(told["spent"]["charged"][name]) - Fraction(amount))
    for kind in told["mechanisms"]:
        kind["releases"] -= kind["noise"] == last["noise"]
    return last


def test_a_story_that_agrees_with_itself_is_told_apart_by_receipts(told, receipts):
    last = forget_last(told)
    assert check_registry(told).wrong == ()
    (wrong,) = check_registry(told, receipts=receipts).wrong
    assert wrong == f"a kept receipt of entry {last['number']} is of none that is listed"


def test_a_receipt_of_another_history_is_found(told, receipts):
    receipts[4]["digest"] = "0" * 64
    assert check_registry(told, receipts=receipts).wrong == (
        "a kept receipt of entry 4 is another one than is listed",
    )


BOOK = {
    "another cost": [(["releases", 1, "cost", "delta"], "1/1000000000000")],
    "a cost left out": [(["releases", 1, "cost"], {})],
    "another study": [(["releases", 1, "study"], "other")],
    "another loss": [(["releases", 1, "loss"], "epsilon 0")],
    "another time": [(["releases", 11, "time"], "2001-01-01T00:00:00Z")],
    "given back": [(["releases", 1, "state"], "given back"), (["releases", 1, "cost"], {})],
    "never given back": [(["releases", 6, "state"], "answered")],
    "a made-up digest": [(["releases", 1, "receipt", "digest"], "0" * 64)],
    "a made-up row": [(["releases", 1, "receipt", "place"], 10**6)],
    "other neighbours": [(["unit", "declared"], "Replace(unit='row')")],
    "a use left out": [(["uses", 0, "what"], "nothing")],
    "retired": [(["retired"], {"why": "x", "time": None})],
    "another promise": [(["promise"], "hidden"), (["audience"], "owner")],
    "another budget": [
        (["questions", "epsilon"], "1"),
        (["budget", "epsilon"], "3/2"),
    ],
    "another data set": [(["ledger"], "other")],
    "a study that spent less": [
        (["studies", 0, "spent", "charged", "rho"], "0"),
        (["studies", 0, "spent", "epsilon"], "0"),
        (["studies", 0, "spent", "part"], "0"),
    ],
    "a study of another name": [(["studies", 0, "name"], "cold")],
    "a study left out": [(["studies"], [])],
    "a smaller sum over a part of the list": [
        (["releases"], lambda listed: listed[:3]),
        (["spent", "charged", "rho"], "0"),
    ],
    "an infinite one hidden": [
        (["releases"], lambda listed: listed[:3]),
        (["spent", "endless"], []),
    ],
}


@pytest.mark.parametrize("name", BOOK)
def test_a_registry_that_does_not_agree_with_the_book_is_found(told, sound, name):
    for path, value in BOOK[name]:
        change(told, path, value)
    assert check_registry(told, book=sound).wrong, name


def test_a_book_that_went_on_still_agrees(tmp_path):
    path = fill(tmp_path)
    told = write_registry(read(path), "public", newest=None)
    before = copy.deepcopy(told)
    with writing(tmp_path) as past:
        past.ask(day=20)
    after = read_book(tmp_path / "budget.db")
    assert check_registry(told, book=after).wrong == ()
    told["releases_total"] = 99
    told["releases"] = [dict(before["releases"][0], number=98)]
    assert any("entries" in one for one in check_registry(told, book=after).wrong)


def test_a_kept_receipt_that_the_book_lost_is_found(told, sound, receipts):
    lost = dict(receipts[3], place=10**6, number=50)
    (wrong,) = check_registry(told, book=sound, receipts=[lost]).wrong
    assert wrong == "a kept receipt of entry 50 is not in the book"
