"""Real NetworkX graphs go in as they are."""

import networkx as nx

from discreet import optimisation
from discreet.optimisation.min_cut import MinCut
from discreet.testing import unsafe_seeded

CLUB = nx.karate_club_graph()


def test_a_vertex_cover_names_an_end_of_every_edge():
    cover = optimisation.vertex_cover(CLUB, epsilon=1, rng=unsafe_seeded(1))
    assert all(cover.which_end(u, v) in (u, v) for u, v in CLUB.edges)


def test_a_min_cut_at_a_huge_epsilon_is_the_true_one():
    cut = MinCut(vertices=tuple(CLUB.nodes), epsilon=10_000, delta=0).release(CLUB, rng=unsafe_seeded(1))
    plain = nx.Graph(CLUB.edges)
    crossing = sum(cut.value.separates(u, v) for u, v in plain.edges)
    assert crossing == nx.edge_connectivity(plain)
