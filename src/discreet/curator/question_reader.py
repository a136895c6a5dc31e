"""Reading questions: once for each analyst, however often she asks them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.curator.kept.requests import ReadQuestion
from discreet.data.plan.nodes import MIN_EPSILON, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.plain_questions import PlainQuestions

READ, LONG = 64, 2_000
"""How many questions of one analyst are remembered as they were read, and the most characters of one."""


class QuestionReader:
    """Reads questions about some tables.

    Parameters
    ----------
    tables, policy
        What they are about, and the most one may cost.
    """

    def __init__(self, tables: PlanTables, policy: Policy) -> None:
        self._tables, self._policy, self._plain = tables, policy, PlainQuestions(tables)
        # Of each for herself: how long reading takes tells nobody what others asked.
        self._remembered: dict[str, Callable[..., ReadQuestion]] = {}

    def read(
        self, who: str, text: str, *, epsilon: checks.Number | None, delta: checks.Number | None
    ) -> ReadQuestion:
        """Return a question of an analyst that costs at most (epsilon, delta), where these are given."""
        given = self._tighten(epsilon, delta)
        today = datetime.datetime.now(tz=datetime.UTC).date()
        if len(checks.instance(str, query=text)) > LONG:
            return self._read(text, today, *given)
        read_once = self._remembered.get(who)
        if read_once is None:
            read_once = self._remembered.setdefault(who, lru_cache(READ)(self._read))
        return read_once(text, today, *given)

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

    def _read(
        self, text: str, today: datetime.date, epsilon: Fraction | None, delta: Fraction | None
    ) -> ReadQuestion:
        plan = self._plain.read(text)
        if plan is None:
            policy = Policy(
                epsilon=self._policy.epsilon if epsilon is None else epsilon,
                delta=self._policy.delta if delta is None else delta,
            )
            plan = parse(text, schemas=self._tables, policy=policy, today=today)
        options = plan.options
        for name, amount in (("epsilon", epsilon), ("delta", delta)):
            if amount is not None and getattr(options, name) is not None:
                rule = "left out here: the question says it by itself"
                raise InvalidParameter(name=name, rule=rule, value=amount)
        if epsilon is not None or delta is not None:
            priced = replace(
                options,
                epsilon=options.epsilon if epsilon is None else epsilon,
                delta=options.delta if delta is None else delta,
            )
            plan = replace(plan, options=priced)
        return ReadQuestion(plan, self._tables)
