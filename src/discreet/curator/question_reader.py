"""Reading questions: once, however often they are asked."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.data.plan.nodes import MIN_EPSILON, Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse

READ, LONG = 256, 2_000
"""How many questions are remembered as they were read, and the most characters of one."""


class QuestionReader:
    """Reads questions about some tables.

    Parameters
    ----------
    tables, policy
        What they are about, and the most one may cost.
    """

    def __init__(self, tables: PlanTables, policy: Policy) -> None:
        self._tables, self._policy = tables, policy
        self._remember = lru_cache(READ)(self._parse)

    def read(self, text: str, *, epsilon: checks.Number | None, delta: checks.Number | None) -> Plan:
        """Return a question as a plan that costs at most (epsilon, delta), where these are given."""
        given = self._tighten(epsilon, delta)
        today = datetime.datetime.now(tz=datetime.UTC).date()
        parse_once = self._remember if len(checks.instance(str, query=text)) <= LONG else self._parse
        plan = parse_once(text, today, *given)
        for name, amount in zip(("epsilon", "delta"), given, strict=True):
            if amount is not None and getattr(plan.options, name) is not None:
                rule = "left out here: the question says it by itself"
                raise InvalidParameter(name=name, rule=rule, value=amount)
        e, d = given
        if e is None and d is None:
            return plan
        options = plan.options
        return replace(
            plan,
            options=replace(
                options,
                epsilon=options.epsilon if e is None else e,
                delta=options.delta if d is None else d,
            ),
        )

    def _tighten(
        self, epsilon: checks.Number | None, delta: checks.Number | None
    ) -> tuple[Fraction | None, Fraction | None]:
        e = None if epsilon is None else checks.at_least(MIN_EPSILON, epsilon=epsilon)
        d = None if delta is None else checks.delta(delta=delta)
        for name, asked, most in (("epsilon", e, self._policy.epsilon), ("delta", d, self._policy.delta)):
            if asked is not None and asked > most:
                rule = f"at most {float(most):.6g}, which the owner allows one question"
                raise InvalidParameter(name=name, rule=rule, value=asked)
        return e, d

    def _parse(
        self, text: str, today: datetime.date, epsilon: Fraction | None, delta: Fraction | None
    ) -> Plan:
        policy = Policy(
            epsilon=self._policy.epsilon if epsilon is None else epsilon,
            delta=self._policy.delta if delta is None else delta,
        )
        return parse(text, schemas=self._tables, policy=policy, today=today)
