"""How much an analyst may ask for at no cost, and how much is kept of it. Public, and the same for everybody.

What is answered from the hypothesis costs no budget, so nothing else would keep one analyst from making the
curator work, or remember, without end. All of this is looked at before any work is done, and what is too
much is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.core import checks
from discreet.core.errors import Refused
from discreet.data.counts import Counts
from discreet.data.plan.after import count_computed
from discreet.data.plan.nodes import Plan
from discreet.queries.kinds.groups import Groups
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.workload import Workload
from discreet.query_release.online.boxes import reading_work

GROUPS = 1 << 17
"""The most numbers one question may ask for."""

COMPUTED = 1 << 18
"""The most parts of expressions that are computed for one question, all groups together."""

WORK = 1 << 28
"""The most numbers that are looked at for one question, or sixteen times the cells of the hypothesis."""

SHOWN = 1 << 20
"""The most numbers that one reply at no cost shows, equal ones and those in another form included."""

ROWS = 1 << 18
"""The most rows of replies that are kept in memory for one analyst; the oldest replies fall out."""

LEAST_ROWS = 1 << 9
"""What a reply counts for at least: its question is kept too."""

HISTORY = 1000
"""The most questions that an analyst's history lists; the oldest fall out."""

TEXT = 2_000
"""The most characters of a question that the history shows."""

ENTRIES = 100_000
"""The most questions that one analyst may buy."""

PERIODS = 1 << 20
"""The most periods that one analyst's standing questions may have, together."""

LEAST_PERIODS = 1 << 10
"""What a standing question counts for at least: its text is kept too."""

KEYS, KEPT = 100_000, 1 << 30
"""The most replies at no cost that are kept under one analyst's keys, and the most bytes of them."""


def require_keys(count: int, size: int) -> None:
    """Raise once an analyst has as much kept at no cost as one may."""
    if count >= KEYS or size >= KEPT:
        raise Refused(
            what="a key for a question at no cost",
            why=f"at most {KEYS} replies and {KEPT >> 20} MB of them are kept for one analyst",
            way_out="Ask without a key: to ask again costs nothing",
        )


def require_periods(had: Iterable[int], more: int) -> None:
    """Raise where one more standing question is more than is kept for one analyst."""
    if sum(max(one, LEAST_PERIODS) for one in (*had, more)) > PERIODS:
        raise Refused(
            what="a standing question",
            why=f"at most {PERIODS} periods of all your standing questions are kept, and at least "
            f"{LEAST_PERIODS} count for each",
            way_out="Read those that you have, or ask the question by itself",
        )


SYNTHETIC = 1 << 17
"""The most rows that are made up at once."""


def require_rows(rows: int) -> int:
    """Return how many rows are to be made up, unless that is too many."""
    if checks.integer(1, rows=rows) > SYNTHETIC:
        raise Refused(
            what=f"{rows} rows",
            why=f"at most {SYNTHETIC} are made up at once",
            way_out="Ask for fewer, or several times",
        )
    return rows


def require_shown(plan: Plan, *, groups: int) -> None:
    """Raise unless numbers that were released are shown in another form by a bounded amount of work."""
    _require_little(groups * count_computed(plan))
    if groups * len(plan.outputs) * len(plan.shown_branches) > SHOWN:
        raise Refused(
            what="numbers that were given before in another form",
            why=f"{groups} groups of {len(plan.outputs)} columns are more than {SHOWN} numbers",
            way_out="Ask for them in the same form, or for fewer columns",
        )


def _require_little(parts: int, buy: str = "") -> None:
    if parts > COMPUTED:
        raise Refused(
            what="a question that takes too much work",
            why=f"its arithmetic has {parts} parts in all groups; {COMPUTED} is the most",
            way_out=f"Ask for the numbers, and compute the rest from the answer{buy}",
        )


def require_small(asked: Counts | Workload, *, cells: int) -> None:
    """Raise unless a question at no cost asks for a bounded amount of work."""
    buy = ""
    if isinstance(asked, Counts):
        buy = "; fresh=True buys an answer of its own"
        groups, work = asked.numbers, asked.work
    else:
        groups = len(asked)
        by_table = isinstance(asked, Groups | Marginals)
        work = 0 if by_table and groups <= GROUPS else reading_work(asked)
    if groups > GROUPS:
        raise Refused(
            what=f"a question for {groups} numbers",
            why=f"at most {GROUPS} are answered at once from the hypothesis",
            way_out=f"Ask for fewer groups, or in several questions{buy}",
        )
    if isinstance(asked, Counts):
        _require_little(asked.groups * asked.computed, buy)
        if asked.groups * asked.columns > SHOWN:
            raise Refused(
                what="a question that takes too much work",
                why=f"{asked.groups} groups of {asked.columns} columns are more than {SHOWN} numbers",
                way_out=f"Ask for fewer columns, or in several questions{buy}",
            )
    most = max(WORK, 16 * cells)
    if work > most:
        raise Refused(
            what="a question that takes too much work",
            why=f"about {work} numbers would be looked at, and at most {most} are for one question",
            way_out="Ask for fewer groups or attributes, by a shorter condition, or in several questions"
            + buy,
        )
