"""One box by itself has the answer that it has in a workload."""

import itertools

import numpy as np
import pytest
from tests.unit.curator.conftest import curator

from discreet.analysts import OneAnalystToMany
from discreet.query_release.online.one_box import OneBox, settle_box

SETS = {0: ([0], [0, 2], [0, 1, 2], []), 1: ([0], [3, 4, 5], [1, 7, 9], list(range(10))), 2: ([1], [0, 1])}


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()])
def test_the_same_answer_alone_and_in_a_workload(promise):
    settled = 0
    with curator(promise=promise, tick=0.001, epsilon=1) as one:
        hypothesis = one._service.hypothesis
        universe, service = hypothesis.universe, one._service
        names = [attribute.name for attribute in universe.attributes]
        for chosen in itertools.product(*([None, *SETS[axis]] for axis in range(3))):
            codes = {
                axis: np.array(one, dtype=np.int64) for axis, one in enumerate(chosen) if one is not None
            }
            alone = hypothesis._settle(OneBox(universe.shape, codes))
            if any(not len(one) for one in codes.values()):
                assert (alone.values[0], alone.errors[0], alone.owns[0]) == (0, 0, 0)
                continue
            values = {axis: universe.attributes[axis].values for axis in codes}
            tests = [
                f"{names[axis]} IN ({', '.join(_write(values[axis][code]) for code in one)})"
                for axis, one in codes.items()
            ]
            text = "SELECT COUNT(*) AS n FROM people" + (f" WHERE {' AND '.join(tests)}" if tests else "")
            read = service._reader.read("acme", text, epsilon=None, delta=None)
            counts = hypothesis.counts(read.plan, read.tables)
            found = counts.parts[0].box()
            assert {axis: list(one) for axis, one in found.items()} == {
                axis: list(one) for axis, one in codes.items() if len(one) < universe.shape[axis]
            }
            if alone is None:  # it needs a look at the data
                continue
            many = hypothesis._predicates(counts.parts[0].workload())
            assert alone.kinds.tolist() == many.kinds.tolist() == ["free"]
            for own, other in (
                (alone.values, many.values),
                (alone.errors, many.errors),
                (alone.owns, many.owns),
            ):
                assert own == pytest.approx(other, rel=1e-9, abs=2 / 1024)
            settled += 1
    assert settled > 20


def test_a_condition_that_is_no_box_is_not_taken_for_one():
    with curator() as one:
        service, hypothesis = one._service, one._service.hypothesis
        for where in (
            "region = 'north' OR age = 25",
            "age = 25 AND (region = 'north' OR smoker = 'yes')",
            "1 = 0",
        ):
            read = service._reader.read(
                "acme", f"SELECT COUNT(*) AS n FROM people WHERE {where}", epsilon=None, delta=None
            )
            assert hypothesis.counts(read.plan, read.tables).parts[0].box() is None
        grouped = service._reader.read(
            "acme",
            "SELECT region, COUNT(*) AS n FROM people WHERE age = 25 GROUP BY region",
            epsilon=None,
            delta=None,
        )
        assert hypothesis.counts(grouped.plan, grouped.tables).parts[0].box() is None


class _Known:
    """Knows one box: 10 rows, an estimate of 7, and noise of 2 beside that."""

    def look_at(self, box):
        return 10.2, 7.0, 1.0, 2.0

    def own_errors(self, said, deviations):
        return deviations.copy()


def test_a_box_that_is_not_known_well_enough_needs_a_look_at_the_data():
    box = OneBox((3, 4), {0: np.array([1])})
    how = {"scale": 1, "most": 100}
    told = settle_box(box, _Known(), bar=5, **how)
    assert (told.values[0], told.errors[0], told.owns[0]) == (10.0, 5.0, 1.0)
    assert settle_box(box, _Known(), bar=4.999, **how) is None
    assert settle_box(box, _Known(), bar=5, scale=1, most=9).values[0] == 9
    assert settle_box(box, None, bar=5, **how) is None


def _write(value):
    return f"'{value}'" if isinstance(value, str) else str(value)
