"""Sessions on the made-up people, and what is asked of them."""

from tests.unit.curator.conftest import BY_ROW, people

import discreet as dp
from discreet.curator.sessions.session import Session
from discreet.data import Table
from discreet.queries import Histogram, Universe

ALL = "SELECT COUNT(*) AS n FROM people"


REGIONS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"


ROWS = dp.AddRemove("row")


LINE = Universe([("x", range(4))])


def opened(schema=BY_ROW, epsilon=1, delta=0, rows=200, **given):
    return Session(Table(people(rows), schema=schema), epsilon=epsilon, delta=delta, **given)


def line(counts=(5, 0, 3, 1)):
    return Histogram.dense(LINE, list(counts))


def laplace(epsilon, neighbours=ROWS):
    return dp.Laplace(sensitivity=1, epsilon=epsilon, neighbours=neighbours)


def total(data):
    return data.total
