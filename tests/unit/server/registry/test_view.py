"""The view: exact sums, what anybody may see and what not, and a shape that is documented."""

import json
from fractions import Fraction

import pytest
from tests.unit.server.conftest import write_home
from tests.unit.server.registry.conftest import GAUSSIAN, PURE, fill, read, writing

from discreet.core.errors import LedgerRefused
from discreet.server.registry.bodies import PAGE, RegistryBody
from discreet.server.registry.decimals import write_down, write_up
from discreet.server.registry.figures import read_whole
from discreet.server.registry.view import drop_rho, name_noise, write_registry, write_releases


@pytest.mark.parametrize("audience", ["public", "owner"])
def test_it_has_the_documented_shape(source, audience):
    RegistryBody.model_validate(write_registry(source, audience))
    RegistryBody.model_validate(drop_rho(write_registry(source, audience)))


def test_figures_are_the_ledgers_exact_sums_rounded_outward(source):
    told, whole = write_registry(source, "public"), read_whole(source.copy.account)
    assert {name: Fraction(amount) for name, amount in told["spent"]["charged"].items()} == whole.charged
    assert told["spent"]["epsilon"] == write_up(whole.epsilon)
    assert told["total"] == write_up(Fraction(1, 2) + whole.epsilon)
    assert told["left"] == {
        "epsilon": write_down(Fraction(1, 2) - whole.epsilon),
        "part": write_down(1 - whole.part),
    }
    costs = [one["cost"] for one in told["releases"]]
    for name in ("rho", "delta"):
        assert sum(Fraction(cost.get(name, 0)) for cost in costs) == whole.charged[name]
    assert told["opening"] == {"epsilon": "1/2", "delta": "1/2000000000"}


def test_releases_are_told_with_receipts_and_states(source):
    told = write_registry(source, "public")
    assert [one["number"] for one in told["releases"]] == list(range(11, -1, -1))
    states = {one["number"]: one["state"] for one in told["releases"]}
    assert (states[5], states[7], states[0]) == ("given back", "charged", "answered")
    assert all(one["receipt"]["number"] == one["number"] for one in told["releases"])
    assert {one["study"] for one in told["releases"]} == {None, "flu"}
    assert told["releases_total"] == 12
    assert sum(one["releases"] for one in told["mechanisms"]) == 11


def test_nobody_else_learns_who_asked_what(source):
    said = json.dumps(write_registry(source, "public"))
    assert "SELECT" not in said
    assert "acme" not in said
    assert "blue" not in said
    owner = write_registry(source, "owner")
    assert owner["releases"][0]["question"] == "SELECT 11"
    assert owner["releases"][0]["analyst"] == "acme"
    assert {one["name"]: one["share"] for one in owner["shares"]} == {"acme": "1/2"}
    assert owner["shares"][0]["spent"]["charged"]["delta"] == "0"


def test_an_owner_may_publish_questions_but_not_who_asked(tmp_path):
    told = write_registry(read(fill(tmp_path, options="publish_questions = true\n")), "public")
    assert told["releases"][0]["question"] == "SELECT 11"
    assert told["releases"][0]["analyst"] is None


def test_uses_of_unknown_loss_are_shown_as_such(source):
    told = write_registry(source, "public")
    assert told["uses"][0] | {"time": None} == {
        "what": "a map that was printed in 2019",
        "loss": "unknown",
        "known": False,
        "time": None,
    }
    assert any("unknown or infinite" in sentence for sentence in told["words"])


def test_studies_are_told_with_share_purpose_and_use(source):
    (study,) = write_registry(source, "public")["studies"]
    assert (study["name"], study["share"]) == ("flu", "1/3")
    assert Fraction(study["spent"]["charged"]["rho"]) > 0


def test_under_a_promise_nothing_that_a_question_moves_is_public(tmp_path):
    with writing(tmp_path, apart=True) as past:
        pass
    quiet = write_registry(read(past.path), "public")
    with writing(tmp_path, apart=True) as past:
        past.ledger.cap("acme", Fraction(1, 2))
        past.ledger.cap("blue", Fraction(1, 2))
        for place in range(5):
            past.ask(GAUSSIAN if place % 2 else PURE, day=place, analyst="acme")
    busy = write_registry(read(past.path), "public")
    assert busy == quiet
    assert busy["time"] is None
    assert busy["spent"] is None
    assert "promised" in busy["withheld"][0]
    owner = write_registry(read(past.path), "owner")
    assert owner["releases_total"] == 5
    assert Fraction(owner["total"]) > Fraction(1, 2)
    RegistryBody.model_validate(owner)


def test_receipts_of_a_book_with_a_promise_in_it_are_not_public(tmp_path):
    (tmp_path / "quiet.toml").write_text(
        'name = "quiet"\nneighbours = "replace"\n[columns.a]\nkind = "boolean"\n'
    )
    quiet = '[datasets.quiet]\ndata = "visits.csv"\nschema = "quiet.toml"\nepsilon = 1\ndelta = 0\n'
    path = fill(tmp_path)
    path.write_text(path.read_text() + quiet + 'promise = "many to one"\n')
    from discreet.server.registered.registration import read_registration
    from discreet.server.registry.sources import read_closed

    sources = read_closed(read_registration(path))
    told = [write_registry(one, "public") for one in sources]
    assert all(one["receipt"] is None for one in told[0]["releases"])
    assert told[0]["releases"]
    assert any("Receipts" in why for why in told[0]["withheld"])
    assert all(one["receipt"] for one in write_registry(sources[0], "owner")["releases"])
    assert told[1]["questions"] is None  # it was never opened


def test_a_retired_data_set_says_so(tmp_path):
    with writing(tmp_path) as past:
        past.ask()
        past.ledger.retire("the study is over")
    told = write_registry(read(past.path), "public")
    assert told["retired"]["why"] == "the study is over"
    assert told["left"]["part"] != "0"


def test_before_it_is_opened_nothing_is_told(tmp_path):
    told = write_registry(read(write_home(tmp_path, rows=3)), "public")
    RegistryBody.model_validate(told)
    assert (told["spent"], told["releases_total"], told["opening"]) == (None, 0, None)


def test_another_book_is_refused(tmp_path):
    with writing(tmp_path):
        pass
    path = write_home(tmp_path, rows=3, epsilon="0.25")
    with pytest.raises(LedgerRefused, match="larger budget"):
        read(path)


def test_releases_come_in_pages(source):
    assert [one["number"] for one in write_releases(source, "public", newest=2)] == [11, 10]
    assert [one["number"] for one in write_releases(source, "public", newest=2, before=10)] == [9, 8]
    assert [one["number"] for one in write_releases(source, "public", before=1)] == [0]
    assert write_releases(source, "public", before=0) == []
    assert len(write_releases(source, "public", before=10**6)) == 12 <= PAGE


def test_rho_is_for_those_who_ask_or_where_nothing_else_is_known():
    assert drop_rho({"a": [{"epsilon": "1", "rho": "2"}, {"rho": "2", "delta": "0"}]}) == {
        "a": [{"epsilon": "1"}, {"rho": "2", "delta": "0"}]
    }


@pytest.mark.parametrize(
    ("loss", "noise"),
    [
        ("epsilon 0.1", "pure"),
        ("rho 0.1 (zCDP)", "concentrated"),
        ("values of Gaussian loss mu 0.07", "Gaussian"),
        ("epsilon 1, delta 1e-9", "other"),
    ],
)
def test_noise_is_named(loss, noise):
    assert noise in name_noise(loss)
