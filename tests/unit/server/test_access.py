import sqlite3
import threading
import time
from fractions import Fraction

import pytest

from discreet.core.errors import InvalidParameter
from discreet.server.access import Access


@pytest.fixture
def access(tmp_path):
    opened = Access(tmp_path / "access.db")
    yield opened
    opened.close()


def test_a_key_opens_until_it_is_revoked(access):
    key = access.make_key("acme")
    assert access.find(key).name == "acme"
    assert access.revoke("acme") == 1
    assert access.find(key) is None
    assert access.revoke("acme") == 0


def test_one_key_of_several_is_revoked_by_its_public_beginning(access):
    keys = [access.make_key("acme") for _ in range(2)]
    access.revoke(access.find(keys[0]).id)
    assert access.find(keys[0]) is None
    assert access.find(keys[1]) is not None


def test_a_revocation_by_another_process_holds_at_once(access):
    key = access.make_key("acme")
    other = Access(access.path)
    other.revoke("acme")
    other.close()
    assert access.find(key) is None


def test_keys_expire(access, monkeypatch):
    key = access.make_key("acme", days=1)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 86_399)
    assert access.find(key) is not None
    monkeypatch.setattr(time, "time", lambda: now + 86_401)
    assert access.find(key) is None


def test_no_file_holds_a_key(access, tmp_path):
    key = access.make_key("acme")
    secret = key.rsplit("_", 1)[-1][:20].encode()
    assert all(secret not in file.read_bytes() for file in tmp_path.iterdir())
    assert access.path.endswith("access.db")
    assert (tmp_path / "access.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "change", [lambda k: k[:-1], lambda k: k[:-1] + "_", lambda k: k.upper(), lambda k: ""]
)
def test_almost_a_key_is_none(access, change):
    key = access.make_key("acme")
    assert access.find(change(key)) is None
    assert access.find("dk_" + "0" * 16 + key[19:]) is None
    assert access.find("\ud800é") is None


def test_a_name_has_one_role(access):
    access.make_key("acme")
    with pytest.raises(InvalidParameter, match="analyst, as other keys of acme are"):
        access.make_key("acme", role="owner")


def test_a_share_is_set_once(access):
    access.grant("acme", "visits", 0.25)
    access.grant("acme", "visits", Fraction(1, 4))
    assert access.find_share("acme", "visits") == Fraction(1, 4)
    assert access.find_share("acme", "other") is None
    with pytest.raises(InvalidParameter, match="a share is set once"):
        access.grant("acme", "visits", 0.5)
    with pytest.raises(InvalidParameter, match="at most 1"):
        access.grant("bob", "visits", 2)


def test_a_study_is_registered_once(access):
    access.add_study("visits", "flu", 0.5, purpose="what the flu does")
    assert [one.purpose for one in access.list_studies("visits")] == ["what the flu does"]
    assert access.list_studies("other") == ()
    with pytest.raises(InvalidParameter, match="registered once"):
        access.add_study("visits", "flu", 0.5, purpose="again")


@pytest.mark.parametrize("name", ["", "a b", "<script>", "../x", "a\n", "-a", "x" * 64, 7, None])
def test_names_are_plain(access, name):
    with pytest.raises(InvalidParameter):
        access.make_key(name)


def test_threads_share_it(access):
    keys = [access.make_key(f"a{k}") for k in range(8)]
    wrong = []

    def look(key, name):
        for _ in range(200):
            found = access.find(key)
            if found is None or found.name != name:
                wrong.append(name)

    threads = [threading.Thread(target=look, args=(key, f"a{k}")) for k, key in enumerate(keys)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_file_is_strict(access):
    with pytest.raises(sqlite3.IntegrityError):
        access._connection.execute("INSERT INTO keys VALUES ('a', 'text', 'n', 'r', 'soon', NULL, NULL)")
