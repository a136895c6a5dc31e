"""A server in front of private tables, for analysts whom nobody needs to trust."""

from __future__ import annotations

from discreet.core.lazy import offer

_EXTRA = "server"
__getattr__, __dir__, __all__ = offer(
    __name__,
    extras={"fastapi": _EXTRA, "uvicorn": _EXTRA, "jinja2": _EXTRA, "duckdb": "data", "sqlglot": "data"},
)
