"""What the types of the nodes of a plan allow, and what a plan holds of it, in the same words.

A kind, a node or a field that is added to the plan is in the first list at once, and in the second only when
the generator makes it.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

from discreet.data.plan import key_nodes, nodes, row_nodes

MODULES = (key_nodes, nodes, row_nodes)


def node_types() -> set[type]:
    """Every dataclass that `key_nodes`, `nodes` and `row_nodes` of `discreet.data.plan` declare."""
    found = [(module, one) for module in MODULES for _, one in inspect.getmembers(module, inspect.isclass)]
    return {
        one for module, one in found if dataclasses.is_dataclass(one) and one.__module__ == module.__name__
    }


Variant = tuple[str, str, str]


def variants(kinds: set[type]) -> set[Variant]:
    """What the types of the nodes allow: (node, field, what stands there)."""
    hints = {kind: get_type_hints(kind, vars(row_nodes) | vars(key_nodes) | vars(nodes)) for kind in kinds}
    return {
        (kind.__name__, field.name, what)
        for kind in kinds
        for field in dataclasses.fields(kind)
        if field.compare  # what is remembered of a node is no part of it
        for what in _allowed(hints[kind][field.name])
    }


def _allowed(hint: Any) -> Iterator[str]:
    origin = get_origin(hint)
    if origin is Literal:
        yield from map(repr, get_args(hint))
    elif origin in (typing.Union, types.UnionType):
        for one in get_args(hint):
            yield from _allowed(one)
    elif hint is bool:
        yield from ("True", "False")
    elif origin is tuple and get_args(hint)[-1] is Ellipsis:
        yield from ("nothing", "something")
    elif hint is types.NoneType:
        yield "None"
    elif dataclasses.is_dataclass(hint):
        yield hint.__name__
    else:
        yield "a value"


def exercised(node: Any) -> Iterator[Variant]:
    """What a node and everything in it holds, in the words of `variants`."""
    if isinstance(node, tuple):
        for one in node:
            yield from exercised(one)
    if not dataclasses.is_dataclass(node):
        return
    hints = get_type_hints(type(node), vars(row_nodes) | vars(key_nodes) | vars(nodes))
    for field in (one for one in dataclasses.fields(node) if one.compare):
        value = getattr(node, field.name)
        yield type(node).__name__, field.name, _word(value, hints[field.name])
        yield from exercised(value)


def _word(value: Any, hint: Any) -> str:
    if value is None:
        return "None"
    if dataclasses.is_dataclass(value):
        return type(value).__name__
    allowed = set(_allowed(hint))
    if repr(value) in allowed:
        return repr(value)
    if isinstance(value, tuple) and "something" in allowed:
        return "something" if value else "nothing"
    return "a value"
