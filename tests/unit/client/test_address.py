import pytest

from discreet.client import connect
from discreet.client.address import read_address
from discreet.core.errors import InvalidParameter


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://data.example.org", "https://data.example.org:443"),
        ("https://data.example.org:8443/desk/", "https://data.example.org:8443/desk"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://localhost:8000/", "http://localhost:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_address_is_read(url, shown):
    assert str(read_address(url, send_key_in_clear=False)) == shown


@pytest.mark.parametrize(
    "host", ["data.example.org", "10.0.0.1", "localhost.example.org", "127.0.0.1.example.org"]
)
def test_a_key_goes_to_other_machines_encrypted_unless_the_caller_says_otherwise(host):
    with pytest.raises(InvalidParameter, match=r"https, since the key is sent along.*send_key_in_clear=True"):
        read_address(f"http://{host}", send_key_in_clear=False)
    with pytest.raises(InvalidParameter, match="https"):
        connect(f"http://{host}", "dk_0")
    assert not read_address(f"http://{host}", send_key_in_clear=True).is_encrypted


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hunter2@h",
        "https://h/?key=hunter2",
        "https://h/#hunter2",
        "hunter2",
        "ftp://hunter2",
        "https://",
        "https://h:hunter2",
        "https://h:99999/hunter2",
        "https://[hunter2",
        "https://h/hunter2\r\nX: y",
        "https://h/hunter2 x",
        "https://hünter2",
    ],
)
def test_anything_else_is_refused_without_repeating_it(url):
    with pytest.raises(InvalidParameter) as caught:
        read_address(url, send_key_in_clear=False)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", [None, 7, "", b"https://h"])
def test_what_is_no_text_is_refused(url):
    with pytest.raises(InvalidParameter):
        read_address(url, send_key_in_clear=False)
