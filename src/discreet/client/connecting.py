"""How a client begins: a server's address, a key, and the data set it is about."""

from __future__ import annotations

import os

from discreet.client.address import read_address
from discreet.client.channel import Channel
from discreet.client.reading import read_as, read_names
from discreet.client.remote_analyst import RemoteAnalyst
from discreet.core import checks
from discreet.core.errors import InvalidParameter


def connect(
    url: str,
    key: str,
    *,
    dataset: str | None = None,
    timeout: checks.Number = 90,
    patience: checks.Number = 60,
    authorities: str | os.PathLike[str] | None = None,
    send_key_in_clear: bool = False,
) -> RemoteAnalyst:
    """Return an analyst's door at a server.

    Parameters
    ----------
    url
        Where it is: https, or http on this machine.
    key
        What its owner gave you. Read it from a file or the environment; do not write it in a program.
    dataset
        What you will ask about. May be left out where the key opens only one.
    timeout
        Seconds that one reply may take.
    patience
        Seconds in which a request that was not answered is sent again. It is the same request with the same
        key of its own, so that it is charged at most once.
    authorities
        A file of certificates to believe in place of the system's.
    send_key_in_clear
        Whether plain http to another machine is meant: whoever is on the way can then read key and answers.

    Raises
    ------
    ServerRefused
        Where the key opens nothing there.
    ServerUnreachable
        Where no server replies.
    """
    channel = Channel(
        read_address(url, send_key_in_clear=send_key_in_clear),
        key,
        timeout=float(checks.positive(timeout=timeout)),
        patience=float(checks.non_negative(patience=patience)),
        authorities=authorities,
    )
    try:
        known = read_as("list of data sets", read_names, channel.get("/v1/datasets"))
        return RemoteAnalyst(channel, _choose(known, dataset))
    except BaseException:
        channel.close()
        raise


def _choose(known: tuple[str, ...], dataset: str | None) -> str:
    if dataset is None and len(known) == 1:
        return known[0]
    if dataset is None:
        rule = f"one of {', '.join(known)}" if known else "one that your key opens: it opens none"
        hint = "Say dataset=..., in the shell --dataset" if known else ""
        raise InvalidParameter(name="dataset", rule=rule, got="nothing", hint=hint)
    if dataset not in known:
        rule = f"one that your key opens: {', '.join(known) or 'it opens none'}"
        raise InvalidParameter(name="dataset", rule=rule, value=dataset)
    return dataset
