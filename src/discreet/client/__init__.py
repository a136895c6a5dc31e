"""A client of a server: the face of an analyst's door, over HTTP.

>>> from discreet.client import connect
>>> connect("http://example.org", "dk_0")  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
discreet.core.errors.InvalidParameter: url must be https, since the key is sent along, got http...
"""

from __future__ import annotations

from discreet.core.lazy import offer

__getattr__, __dir__, __all__ = offer(__name__)
