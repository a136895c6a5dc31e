"""Schemas the SQL tests share."""

from __future__ import annotations

import datetime
from fractions import Fraction

from discreet import AddRemove
from discreet.data import (
    Boolean,
    Category,
    Date,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Row,
    Schema,
    Text,
    User,
)
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse

STORES = Dimension(
    "stores",
    key="store",
    columns=(Category("store", values=(1, 2, 3)), Category("city", values=("york", "leeds"))),
)
VISITS = Schema(
    "visits",
    columns=(
        Identifier("user_id"),
        Category("region", values=("e", "n", "s", "w")),
        Integer("income", lower=0, upper=100_000),
        Integer("age", lower=0, upper=120, null=0),
        Category("store", values=(1, 2, 3), null=1),
        Decimal("cost", lower=-5, upper=5, grid=Fraction("0.01")),
        Boolean("active"),
        Date("day", lower=datetime.date(2020, 1, 1), upper=datetime.date(2020, 12, 31)),
        Text("note"),
    ),
    unit=User(column="user_id", max_rows=5, max_groups=2),
    neighbours=AddRemove("user_id"),
    dimensions=(STORES,),
)
ORDERS = Schema(
    "orders",
    columns=(Identifier("user_id"), Integer("price", lower=0, upper=50)),
    unit=User(column="user_id", max_rows=2, max_groups=1),
    neighbours=AddRemove("user_id"),
)
PEOPLE = Schema(
    "people",
    columns=(Integer("age", lower=0, upper=120, null=0), Category("region", values=("n", "s"))),
    unit=Row(),
    neighbours=AddRemove("row"),
)
TABLES = PlanTables.of((VISITS, ORDERS, PEOPLE))
POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
PURE = Policy(epsilon=Fraction(1), delta=Fraction(0))
CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({}) COUNT(*) FROM visits"


def plan(text: str, policy: Policy = POLICY) -> Plan:
    return parse(text, schemas=TABLES, policy=policy)


def count(condition: str) -> Plan:
    return plan(f"SELECT COUNT(*) FROM visits WHERE {condition}")
