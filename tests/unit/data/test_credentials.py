import pytest

from discreet.data.credentials import may_hold_password


@pytest.mark.parametrize(
    "given", ["http://127.0.0.1:8000", "https://data.example.org", "https://[::1]:8443/", "visits.csv"]
)
def test_host_and_port_alone_are_no_secret(given):
    assert not may_hold_password(given)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://h/d",
        "https://ann:hunter2@h",
        "https://h/hunter2",
        "https://h?key=hunter2",
        "https://h:8000#hunter2",
        "https://h:hunter2",
        "https://h\n",
        "host=h password=hunter2",
        "http://h http://ann:hunter2@h",
    ],
)
def test_whatever_else_looks_like_a_connection_is_withheld(given):
    assert may_hold_password(given)
