"""Questions as analysts spell them, for the replay: what is read in more than one way, or was added last.

Nodes of plans are drawn by `plan_grammar`; these go the whole way from the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plan_schemas import DELTA, UNITS, schemas

from discreet import AddRemove, Replace
from discreet.data import Row, User
from discreet.data.ask import plan_question
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.question_plan import QuestionPlan

SPELLINGS = (
    "SELECT g, COUNT(DISTINCT x, flag) AS a, COUNT(DISTINCT (s, day)) AS b, COUNT(DISTINCT UPPER(c)) AS d "
    "FROM events GROUP BY g",
    "SELECT COUNT(DISTINCT x % 2, EXTRACT(DAY FROM day)) AS a, COUNT(DISTINCT c) FILTER (WHERE flag) AS b, "
    "COUNT(DISTINCT CASE WHEN x > 0 THEN s END) AS d FROM events",
    "SELECT g, SUM(LN(x + 4)) AS a, AVG(SQRT(y)) AS b, SUM(EXP(x)) AS d FROM events GROUP BY g",
    "SELECT STDDEV(LOG10(z + 30)) AS a, MEDIAN(LOG(2, x + 4)) AS b, MAX(POWER(y, 0.5)) AS d FROM events",
    "SELECT FLOOR(LN(z + 25)) AS k, SUM(ROUND(SQRT(y), 1)) AS a FROM events GROUP BY k",
    "SELECT CASE WHEN x > 0 THEN LN(x) END AS k, COUNT(*) AS n FROM events GROUP BY k",
    "SELECT SUM(LN(x)) AS a, EXP(AVG(LN(x))) AS b, POWER(COUNT(*), 0.25) AS d FROM events WHERE x > 0",
    "SELECT s, NTILE(2) OVER (ORDER BY COUNT(*)) AS a, PERCENT_RANK() OVER (ORDER BY SUM(x)) AS b, "
    "CUME_DIST() "
    "OVER (ORDER BY COUNT(*) DESC) AS d, LAST_VALUE(SUM(x)) OVER (ORDER BY s ROWS BETWEEN UNBOUNDED "
    "PRECEDING "
    "AND UNBOUNDED FOLLOWING) AS e FROM events GROUP BY s",
    "WITH i AS (SELECT day, COUNT(*) AS n FROM events GROUP BY day) SELECT EXTRACT(DAY FROM day) % 2 AS k, "
    "SUM(n) AS s, AVG(n) AS a FROM i WHERE n > 1 GROUP BY k",
    "WITH i AS (SELECT g, SUM(x) AS n FROM events GROUP BY g) SELECT g, n / (SELECT SUM(n) FROM i) "
    "AS a FROM i",
    "SELECT COUNT(*) AS n, SUM(x) AS a FROM events WHERE (g, flag) IN (('a', TRUE), ('b', FALSE))",
    "SELECT DATEDIFF(MAX(day), MIN(day)) AS a, COUNT(*) AS n FROM events",
    # Older spellings of joins, free text, dates and totals.
    "SELECT COUNT(*) AS n, SUM(weight) AS a FROM events, zones WHERE events.g = zones.g AND weight > 0",
    "SELECT g, COUNT(*) AS n FROM events SEMI JOIN zones USING (g) GROUP BY g",
    "SELECT COUNT(*) AS n, SUM(x) AS a FROM events ANTI JOIN zones ON events.g = zones.g",
    "SELECT COUNTIF(note ~ '^p') AS a, COUNTIF(note ILIKE '%Q%') AS b, COUNTIF(STARTS_WITH(note, "
    "'only')) AS d, "
    "SUM(CASE WHEN LOWER(note) = 'p' THEN x END) AS e FROM events",
    "SELECT COUNT(*) AS n FROM events WHERE DATEADD(day, 1, day) > '2020-01-03' AND DATEPART(year, "
    "day) = 2020",
    "SELECT g, flag, GROUPING(g) AS t, COUNT(*) AS n FROM events GROUP BY ROLLUP(g, flag) HAVING "
    "GROUPING(g) = 0",
    "SELECT COUNT(*) AS n /* all of them */ FROM events -- and no others",
    "SELECT CONCAT(g, '-', z) AS k, COUNT(UPPER(g)) AS n, COUNTIF(s = ANY(ARRAY[1, 3])) AS a "
    "FROM events GROUP BY k",
    "(SELECT CAST(day AS TEXT) AS k, SUM(x) AS a FROM events WHERE x IN (-2, 2) GROUP BY k) UNION ALL "
    "(SELECT LPAD(CAST(2 - x AS TEXT), 2, '0'), COUNT(*) FROM events WHERE x IN (-2, 2) GROUP BY 1)",
    "SELECT 'a' AS k, COUNT(*) AS n FROM events WHERE note LIKE 'p%' UNION ALL SELECT 'b', SUM(x) "
    "FROM events",
)
USER_SPELLINGS = (
    "SELECT COUNT(*) AS n, SUM(x) AS a FROM events WHERE who IN (SELECT who FROM orders WHERE price > 2)",
    "SELECT COUNT(DISTINCT who) AS n FROM events WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE "
    "o.who = events.who "
    "AND o.price = 0)",
    "SELECT COUNT(*) AS n, AVG(x) AS a FROM events LEFT JOIN orders ON events.who = orders.who "
    "WHERE orders.who IS NULL",
    "SELECT COALESCE(g, 'none') AS k, SUM(RANGE_BUCKET(x, [0, 3])) AS a FROM events ANTI JOIN orders AS o "
    "ON o.who = events.who AND o.price > 1 GROUP BY g",
    "SELECT COUNT(*) AS n FROM events WHERE who IN (SELECT who FROM events WHERE flag AND x > 0)",
    "SELECT COUNT(*) AS n, SUM(price) AS a, COUNT(DISTINCT o.who) AS b FROM events LEFT JOIN orders AS o "
    "ON o.who = events.who WHERE o.who IS NULL OR x > 0",
    "WITH o AS (SELECT who, SUM(price) AS s FROM orders GROUP BY who) SELECT COUNT(*) AS n FROM events "
    "JOIN o ON o.who = events.who WHERE o.s > 2",
    "SELECT s, AVG(n) AS a, SUM(m) AS b FROM (SELECT who, s, COUNT(*) AS n, MAX(x) AS m FROM events "
    "GROUP BY who, s)"
    " AS t GROUP BY s",
    "SELECT n, COUNT(*) AS c FROM (SELECT who, g, COUNT(*) AS n FROM events GROUP BY who, g) AS t GROUP BY n",
    "SELECT SUM(LN(n)) AS a, COUNT(DISTINCT n, d) AS b FROM (SELECT who, COUNT(*) AS n, "
    "COUNT(DISTINCT day, x - y) FILTER (WHERE flag) AS d "
    "FROM events GROUP BY who) AS t",
    "SELECT COUNT(DISTINCT who) AS n FROM (SELECT who, s, SUM(x) AS t FROM events GROUP BY who, s) "
    "AS u WHERE t > 1 "
    "UNION ALL SELECT SUM(t) FROM (SELECT who, s, SUM(x) AS t FROM events GROUP BY who, s) AS u",
    "SELECT e, COUNT(*) AS n, COUNTIF(d < DATE(2020, 1, 3)) AS c, SUM(m) AS m FROM (SELECT who, "
    "BOOL_OR(flag) AS e, MIN(day) FILTER (WHERE x > 0) AS d, COUNT(CASE WHEN flag THEN c END) AS m "
    "FROM events GROUP BY who) AS t GROUP BY e",
    "SELECT COUNT(DISTINCT CASE WHEN flag THEN who END) AS n, COUNT(DISTINCT x, s) AS a FROM events",
)


def spelt_plans(turn: int) -> Iterator[tuple[tuple[Row | User, Any, str, str], QuestionPlan]]:
    """Each spelling, of a unit and a change that go round; two turns have both changes of each."""
    for place, text in enumerate((*SPELLINGS, *USER_SPELLINGS)):
        unit = UNITS[1] if text in USER_SPELLINGS else UNITS[place % 2]
        change = (AddRemove, Replace)[(place // 2 + turn) % 2]
        tables = PlanTables.of(schemas(unit, change))
        yield (unit, change, "spelt", text), plan_question(text, schemas=tables, policy=DELTA)
