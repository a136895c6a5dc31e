"""A unit of several rows is promised nothing that was calibrated for one row, by whichever mechanism."""

import copy

import pytest

from discreet.analysts.promises import QueriesAndData
from discreet.catalogue import catalogue
from discreet.core.errors import NeighboursMismatch
from discreet.core.mechanism import Interactive
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram

# Statistics have a book that is bound to its mechanism, and a test of their own.
COUNTED = [card for card in catalogue() if isinstance(card.example()[1], Histogram | QueriesAndData)]


def several(data):
    """Return the same data, declared to hold up to two rows a unit."""
    if isinstance(data, QueriesAndData):
        return QueriesAndData(several(data.histogram), data.book)
    return Histogram(data.universe, data.to_dense().counts(), rows_per_unit=2)


def about(mechanism, unit):
    """Return the mechanism with another word for what is hidden; nothing else depends on it."""
    changed = copy.copy(mechanism)
    object.__setattr__(changed, "neighbours", type(mechanism.neighbours)(unit))
    return changed


def run(mechanism, data):
    return mechanism.open(data) if isinstance(mechanism, Interactive) else mechanism.release(data)


def test_most_mechanisms_about_histograms_are_tried():
    assert len(COUNTED) >= 20


@pytest.mark.parametrize("card", COUNTED, ids=str)
def test_several_rows_of_a_person_are_refused_and_rows_are_not(card):
    mechanism, data = card.example()
    assert isinstance(mechanism.neighbours, AddRemove | Replace)
    for unit in ("person", "household"):
        with pytest.raises(NeighboursMismatch, match="up to 2 rows"):
            run(about(mechanism, unit), several(data))
    for name in ("mechanisms", "start"):  # they look for themselves
        if getattr(mechanism, name, None):
            return
    run(about(mechanism, "row"), several(data))
