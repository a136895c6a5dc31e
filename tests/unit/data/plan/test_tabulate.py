"""Numbers of one column, computed for all its values: also while others forget them."""

from __future__ import annotations

from typing import Any

from sql_schemas import VISITS

from discreet.data.plan.numbers import variable
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.plan.tabulate import tabulate


class _Forgotten(dict[Any, Any]):
    """What is remembered where another thread clears it at once."""

    def __setitem__(self, key: object, value: object) -> None:
        """Keep nothing."""


def test_what_another_thread_forgets_is_known_all_the_same() -> None:
    tables = PlanTables.of(VISITS)
    object.__setattr__(tables, "tabulated", _Forgotten())
    known = tabulate(variable(Field("visits", "age")), tables)
    assert known is not None
    assert known.values.tolist() == list(range(121))
