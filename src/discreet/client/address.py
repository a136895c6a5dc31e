"""Where a server is: one address, checked before a key is sent to it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from discreet.core import checks
from discreet.core.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where requests go.

    Attributes
    ----------
    host, port
        The machine.
    is_encrypted
        Whether TLS is spoken.
    prefix
        What stands before every path, where a proxy serves more than this.
    """

    host: str
    port: int
    is_encrypted: bool
    prefix: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{self.port}{self.prefix}"


def read_address(url: str, *, send_key_in_clear: bool) -> ServerAddress:
    """Return the address that a URL names.

    Raises
    ------
    InvalidParameter
        Where it names none, carries a secret, or would show the key to whoever is on the way.
    """
    # What is wrong is said in words: an address that was pasted may hold a password.
    try:
        parts = urlsplit(checks.text(url=url))
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _refuse("an address such as https://host:8000", "something else") from None
    if parts.scheme not in ("http", "https") or not host or not host.isascii():
        raise _refuse("an address such as https://host:8000", "something else")
    if parts.username is not None or parts.query or parts.fragment:
        raise _refuse("host, port and path alone", "more: the key is a parameter of its own")
    prefix = parts.path.rstrip("/")
    if not all(33 <= ord(letter) <= 126 for letter in host + prefix):
        raise _refuse("written in plain letters", "others")
    is_encrypted = parts.scheme == "https"
    if not is_encrypted and not send_key_in_clear and not is_loopback(host):
        hint = "Use https; send_key_in_clear=True speaks http all the same, for all on the way to read"
        raise _refuse("https, since the key is sent along", "http", hint)
    return ServerAddress(host, port or (443 if is_encrypted else 80), is_encrypted, prefix)


def is_loopback(host: str) -> bool:
    """Tell whether what is sent to a host stays on this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse(rule: str, got: str, hint: str = "") -> InvalidParameter:
    return InvalidParameter(name="url", rule=rule, got=got, hint=hint)
