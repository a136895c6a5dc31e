"""Answers as they are kept in a book: the released numbers, from which the same plan makes the answer again.

What the numbers mean follows from the plan, which is made anew from the question. Another version may plan
otherwise; then the numbers are not read, and never taken for something else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.core.errors import InternalError, InvalidParameter
from discreet.curator.kept.written_values import read_value, write_value
from discreet.data.plan.key_nodes import Key, sort_keys
from discreet.data.plan.measures import Measure
from discreet.data.pricing.answer import Answer, Block, Chosen
from discreet.data.pricing.budget import ModeChoice, QuantileChoice, Vector
from discreet.data.pricing.noisy_vector import NoisyVector
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.schema.schema import Schema
from discreet.data.schema.toml_file import format_schema


def find_plan_digest(plan: QuestionPlan) -> str:
    """Return the digest of everything that numbers mean: what is measured, with which noise, of what."""
    made = plan.budget
    schemas = _write_schemas(plan.tables.schemas)
    facts = [made.epsilon, made.delta, made.neighbours, made.vectors, made.choices]
    return hashlib.sha256(repr([schemas, *facts]).encode()).hexdigest()


@lru_cache(8)
def _write_schemas(schemas: tuple[Schema, ...]) -> list[str]:
    return list(map(_write_schema, schemas))


def _write_schema(schema: Schema) -> str:
    """Write a schema down; one with numbers such as 1/3, which no file holds, as it is declared in Python."""
    try:
        return format_schema(schema)
    except InvalidParameter:
        return repr(schema)


def write_answer(answer: Answer) -> dict[str, Any]:
    """Return the released numbers of an answer, in the order of its plan."""
    plan = answer.plan
    blocks = []
    for shown, block in zip(plan.question.shown_sets, answer.blocks, strict=True):
        keys = sort_keys(shown)
        chosen = {measure: iter(listed) for measure, listed in block.chosen.items()}
        blocks.append(
            {
                "keys": [[write_value(one) for one in row] for row in block.keys],
                "measured": [list(block.measured[one.measure].values) for one in _vectors(plan, keys)],
                "chosen": [list(next(chosen[one.measure]).values) for one in _choices(plan, keys)],
            }
        )
    return {"blocks": blocks, "unsafe_seeded": answer.unsafe_seeded}


def read_answer(written: dict[str, Any], plan: QuestionPlan) -> Answer:
    """Return the answer that was written, to the question of a plan whose digest is the same."""
    sets = plan.question.shown_sets
    if len(sets) != len(written["blocks"]):
        raise InternalError("an answer was kept for other grouping sets")
    blocks = tuple(
        _read_block(one, plan, sort_keys(shown)) for one, shown in zip(written["blocks"], sets, strict=True)
    )
    return Answer.of(plan, blocks, unsafe_seeded=bool(written["unsafe_seeded"]))


def _read_block(written: dict[str, Any], plan: QuestionPlan, keys: tuple[Key, ...]) -> Block:
    measured: dict[Measure, NoisyVector] = {}
    for vector, values in zip(_vectors(plan, keys), written["measured"], strict=True):
        measured[vector.measure] = NoisyVector(vector, tuple(values))
    chosen: dict[Measure, list[Chosen]] = {}
    for choice, values in zip(_choices(plan, keys), written["chosen"], strict=True):
        found = (
            Chosen(Fraction(0), 0, tuple(values))
            if isinstance(choice, ModeChoice)
            else Chosen(choice.step.point, choice.side, tuple(values), choice.extreme)
        )
        chosen.setdefault(choice.measure, []).append(found)
    groups = tuple(tuple(map(read_value, row)) for row in written["keys"])
    return Block(groups, measured, chosen)


def _vectors(plan: QuestionPlan, keys: tuple[Key, ...]) -> Iterator[Vector]:
    """List what is measured in one grouping set, each measure once: one that finds the groups comes first."""
    listed = [vector for vector in plan.budget.vectors if vector.keys == keys]
    done: set[Measure] = set()
    for vector in sorted(listed, key=lambda one: one.threshold is None):
        if vector.measure not in done:
            done.add(vector.measure)
            yield vector


def _choices(plan: QuestionPlan, keys: tuple[Key, ...]) -> Iterator[QuantileChoice | ModeChoice]:
    return (choice for choice in plan.budget.choices if choice.keys == keys)
