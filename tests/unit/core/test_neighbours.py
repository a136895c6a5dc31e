"""Neighbouring relations as code: pairs are at distance 1, come both ways round, and are complete."""

import itertools
import math

import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import (
    ROWS,
    AddRemove,
    Bidder,
    BidderToOthers,
    Contribution,
    Edge,
    Event,
    EventPresence,
    LocalReport,
    OneQuery,
    Replace,
    UserEvents,
    UserStream,
)


def multisets(domain, most):
    return [
        rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(domain, size)
    ]


def sequences(domain, size):
    return list(itertools.product(domain, repeat=size))


def graphs(vertices, most):
    edges = list(itertools.combinations(vertices, 2))
    return [frozenset(some) for size in range(most + 1) for some in itertools.combinations(edges, size)]


EVENTS = [("ann", 0), ("ann", 1), ("bob", 0)]

# relation, domain, size, every data set on the domain
CASES = [
    (AddRemove("row"), (0, 1, 2), 3, multisets((0, 1, 2), 3)),
    (Replace("row"), (0, 1, 2), 3, [rows for rows in multisets((0, 1, 2), 3) if len(rows) == 3]),
    (LocalReport(), (0, 1, 2), 1, [0, 1, 2]),
    (Event(), (0, 1), 3, sequences((0, 1), 3)),
    (EventPresence(), (0, 1), 3, sequences((None, 0, 1), 3)),
    (Contribution(1), (0, 1, 2), 2, sequences((0, 1, 2), 2)),
    (UserEvents(), EVENTS, 3, sequences((None, *EVENTS), 3)),
    (Bidder(), (0, 1, 2), 2, sequences((0, 1, 2), 2)),
    (BidderToOthers(), (0, 1, 2), 2, sequences((0, 1, 2), 2)),
    (Edge(), (0, 1, 2, 3), 3, graphs((0, 1, 2, 3), 3)),
    (OneQuery(), ("q", "r"), 3, multisets(("q", "r"), 3)),
    (UserStream(), EVENTS, 3, [s for size in range(4) for s in itertools.product(EVENTS, repeat=size)]),
]
ids = [type(case[0]).__name__ for case in CASES]


def canonical(relation, data):
    """Multisets in one order; everything else as it is."""
    return tuple(sorted(data)) if isinstance(relation, AddRemove | Replace | OneQuery) else data


@pytest.mark.parametrize(("relation", "domain", "size", "every"), CASES, ids=ids)
class TestEveryRelation:
    def test_pairs_are_neighbours_and_come_both_ways_round(self, relation, domain, size, every):
        pairs = list(relation.pairs(domain, size))
        assert pairs
        for left, right in pairs:
            assert relation.distance(left, right) == 1 == relation.distance(right, left)
        listed = {(canonical(relation, a), canonical(relation, b)) for a, b in pairs}
        assert listed == {(b, a) for a, b in listed}

    def test_pairs_are_complete(self, relation, domain, size, every):
        listed = {(canonical(relation, a), canonical(relation, b)) for a, b in relation.pairs(domain, size)}
        wanted = {(a, b) for a, b in itertools.permutations(every, 2) if relation.distance(a, b) == 1}
        assert listed == wanted

    def test_distance_is_a_metric(self, relation, domain, size, every):
        for a in every:
            assert relation.distance(a, a) == 0
        some = every[:: max(1, len(every) // 12)]
        for a, b, c in itertools.product(some, repeat=3):
            assert relation.distance(a, b) == relation.distance(b, a)
            assert relation.distance(a, c) <= relation.distance(a, b) + relation.distance(b, c)
            assert (relation.distance(a, b) == 0) == (canonical(relation, a) == canonical(relation, b))

    def test_it_is_a_value_that_says_what_it_hides(self, relation, domain, size, every):
        twin = type(relation)(**{name: getattr(relation, name) for name in relation.__slots__})
        assert relation == twin
        assert hash(relation) == hash(twin)
        assert len(str(relation).split()) >= 3
        with pytest.raises((AttributeError, TypeError)):
            relation.unit = "x"


def test_distance_counts_paths_over_neighbours():
    # The distance is the length of the shortest path, found here by walking.
    for relation, domain, size in ((AddRemove("row"), (0, 1), 3), (Replace("row"), (0, 1, 2), 3)):
        pairs = [(tuple(sorted(a)), tuple(sorted(b))) for a, b in relation.pairs(domain, size)]
        start = pairs[0][0]
        reached, frontier, steps = {start: 0}, {start}, 0
        while frontier:
            steps += 1
            frontier = {b for a, b in pairs if a in frontier and b not in reached}
            reached.update(dict.fromkeys(frontier, steps))
        assert all(relation.distance(start, data) == steps for data, steps in reached.items())
        assert len(reached) > 3


def test_different_sizes_are_far_apart_where_the_size_is_public():
    for relation in (Replace("row"), Event(), Bidder(), BidderToOthers()):
        assert relation.distance((1,), (1, 2)) == math.inf


def test_add_remove_costs_two_for_a_replacement():
    assert AddRemove("row").distance((1, 2), (1, 3)) == 2
    assert Replace("row").distance((1, 2), (1, 3)) == 1
    assert Replace("row").distance((1, 2, 3), (3, 1, 2)) == 0


def test_units_tell_relations_apart():
    assert AddRemove("row") == ROWS != AddRemove("user")
    assert AddRemove("row") != Replace("row")
    assert str(AddRemove("household")) == "adding or removing one household"
    assert str(Replace("household")) == "changing one household"


def test_user_streams():
    relation = UserStream()
    stream = (("ann", 0), ("bob", 1), ("ann", 1))
    assert relation.distance(stream, (("bob", 1),)) == 1
    assert relation.distance(stream, ()) == 2
    assert relation.distance((("ann", 0), ("bob", 1)), (("bob", 1), ("ann", 0))) == 2
    assert relation.distance((("ann", 0),), (("ann", 1),)) == 2  # left out, then added again


def test_events_of_a_stream_whose_length_is_public():
    assert EventPresence().distance((0, None, 1), (0, 1, None)) == 2
    assert EventPresence().distance((0,), (1,)) == 2 == UserEvents().distance((("ann", 0),), (("ann", 1),))
    stream = (("ann", 0), None, ("bob", 1), ("ann", 1))
    assert UserEvents().distance(stream, (None, None, ("bob", 1), None)) == 1
    assert EventPresence().distance((0,), ()) == UserEvents().distance((None,), ()) == math.inf


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("unit", ["", " ", 3, None, AddRemove])
def test_the_unit_is_a_text(relation, unit):
    with pytest.raises(InvalidParameter, match="unit must be a non-empty text"):
        relation(unit)


def test_the_others_are_those_who_report_the_same():
    assert BidderToOthers().observers("abc", "xbc") == (1, 2)
    assert BidderToOthers() != Bidder()
