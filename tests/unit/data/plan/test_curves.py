"""Rising functions of a column are steps that are right to half a step, whatever the machine's floats say."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Decimal, Integer, Row, Schema
from discreet.data.plan.atoms import MAX_PIECES
from discreet.data.plan.curved.curves import RowCurve, bend
from discreet.data.plan.curved.logarithms import exponential, ln
from discreet.data.plan.evaluate import ABSENT, evaluate
from discreet.data.plan.numbers import add, constant, multiply, negate, scale, variable
from discreet.data.plan.row_nodes import Field, Polynomial
from discreet.data.plan.tables import PlanTables

TABLES = PlanTables.of(
    Schema(
        "t",
        columns=(
            Integer("n", lower=-5, upper=120),
            Decimal("m", lower=0, upper=1000, grid=Fraction("0.01")),
            Integer("wide", lower=1, upper=10**9),
        ),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
)
N, M, WIDE = (Field("t", name) for name in ("n", "m", "wide"))
LOG, ROOT = RowCurve("log"), RowCurve("power", Fraction(1, 2))


def steps(number: Polynomial | None, field: Field, codes: np.ndarray) -> tuple[Fraction, list[int]]:
    assert number is not None
    unit = scale(number, TABLES).unit
    return unit, evaluate(number, {field: codes}, TABLES, unit=unit).tolist()


@pytest.mark.parametrize(
    ("curve", "number", "field", "exact"),
    [
        (LOG, variable(N), N, lambda x: math.log(x) if x > 0 else None),
        (LOG, add(variable(M), constant(1)), M, lambda x: math.log(x + 1)),
        (LOG, variable(M), M, lambda x: math.log(x) if x > 0 else None),
        (LOG, add(constant(1001), negate(variable(M))), M, lambda x: math.log(1001 - x)),
        (RowCurve("log", Fraction(10)), variable(WIDE), WIDE, math.log10),
        (ROOT, variable(N), N, lambda x: math.sqrt(x) if x >= 0 else None),
        (ROOT, variable(M), M, math.sqrt),
        (RowCurve("power", Fraction(3, 2)), multiply(constant(2), variable(M)), M, lambda x: (2 * x) ** 1.5),
        (RowCurve("exp"), multiply(constant(Fraction(1, 10)), variable(N)), N, lambda x: math.exp(x / 10)),
    ],
)
def test_every_value_is_right_to_half_a_step(
    curve: RowCurve, number: Polynomial, field: Field, exact: Callable[[float], float | None]
) -> None:
    low, high = TABLES.span(field)
    codes = np.unique(np.linspace(low, high, 30_001).astype(np.int64))
    unit, found = steps(bend(curve, number, TABLES), field, codes)
    grid = float(TABLES.grid(field))
    for code, step in zip(codes.tolist(), found, strict=True):
        value = exact(code * grid)
        if value is None:
            assert step == ABSENT
        else:
            assert abs(step - value / float(unit)) <= 0.5 + 1e-6


def test_steps_end_where_the_next_one_begins() -> None:
    found = bend(RowCurve("log", Fraction(10)), variable(WIDE), TABLES, rounding="down", unit=Fraction(1))
    ends = [10**k for k in range(1, 10)]
    _, before = steps(found, WIDE, np.array([end - 1 for end in ends]))
    _, at = steps(found, WIDE, np.array(ends))
    assert before == list(range(9)) and at == list(range(1, 10))


def test_a_root_at_the_border_is_rounded_up_and_the_exact_floor_is_kept() -> None:
    squares = np.array([k * k for k in range(1, 31_000, 997)])
    _, down = steps(bend(ROOT, variable(WIDE), TABLES, rounding="down", unit=Fraction(100)), WIDE, squares)
    assert down == [k // 100 for k in range(1, 31_000, 997)]
    _, up = steps(bend(ROOT, variable(WIDE), TABLES, rounding="up", unit=Fraction(100)), WIDE, squares)
    assert up == [-(-k // 100) for k in range(1, 31_000, 997)]


def test_what_cannot_be_listed_is_refused() -> None:
    with pytest.raises(Refused, match="of one column"):
        bend(LOG, multiply(variable(N), variable(M)), TABLES)
    with pytest.raises(Refused, match=f"more than {MAX_PIECES} steps"):
        bend(ROOT, variable(WIDE), TABLES, unit=Fraction(1, 100))
    with pytest.raises(Refused, match="beyond 64-bit"):
        bend(RowCurve("exp"), variable(N), TABLES)


@pytest.mark.parametrize("number", [Fraction(1, 10**9), Fraction(1, 3), Fraction(2), Fraction(10) ** 30])
def test_logarithms_and_exponentials_enclose(number: Fraction) -> None:
    assert ln(number) < ln(number, upwards=True) or number == 1
    assert float(ln(number)) == pytest.approx(math.log(number), rel=1e-15)
    assert exponential(ln(number)) < number < exponential(ln(number, upwards=True), upwards=True)
