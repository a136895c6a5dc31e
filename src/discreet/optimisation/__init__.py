"""Private combinatorial optimisation: covers, cuts, clinics, public projects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.core import checks
from discreet.core.rng import SYSTEM, Rng
from discreet.optimisation.graphs import Vertices
from discreet.optimisation.orientation import Orientation
from discreet.optimisation.set_cover_sampled import SampledSetCover
from discreet.optimisation.systems import Assignment
from discreet.optimisation.vertex_cover import VertexCover
from discreet.optimisation.vertex_cover_sampled import SampledVertexCover

__all__ = ["set_cover", "vertex_cover"]


def vertex_cover(
    graph: Any,
    *,
    epsilon: checks.Number,
    weights: Iterable[checks.Number] | None = None,
    rng: Rng = SYSTEM,
    progress: bool = False,
) -> Orientation:
    """Cover the edges of a NetworkX graph or of a square sparse matrix; its vertices are taken to be public.

    Parameters
    ----------
    graph
        The private edges on public vertices.
    epsilon
        What it costs, for one edge.
    weights
        What each vertex costs, in the order of the vertices.
    rng, progress
        As in `release`.
    """
    vertices = Vertices.of_graph(graph)
    if weights is None:
        return (
            VertexCover(vertices=vertices, epsilon=epsilon).release(graph, rng=rng, progress=progress).value
        )
    paid = SampledVertexCover(vertices=vertices, epsilon=epsilon, weights=weights)
    return paid.release(graph, rng=rng, progress=progress).value


def set_cover(
    family: Any,
    elements: Any,
    *,
    epsilon: checks.Number,
    costs: Iterable[checks.Number] | None = None,
    rng: Rng = SYSTEM,
    progress: bool = False,
) -> Assignment:
    """Cover private elements by sets of a public family.

    Parameters
    ----------
    family
        The public sets: a mapping, a sequence of collections, or a matrix of sets by elements.
    elements
        The private elements to cover.
    epsilon
        What it costs, for one element.
    costs
        What each set costs, in the order of the sets.
    rng, progress
        As in `release`.
    """
    mechanism = SampledSetCover(family=family, epsilon=epsilon, costs=costs)
    return mechanism.release(elements, rng=rng, progress=progress).value
