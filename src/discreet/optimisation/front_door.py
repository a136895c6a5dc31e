"""Covers of a graph or of a family of sets in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.core import checks
from discreet.core.mechanism import Release
from discreet.core.progress import LongRun
from discreet.core.rng import SYSTEM, Rng
from discreet.optimisation.common.graphs import Vertices
from discreet.optimisation.set_cover.set_cover_sampled import SetCoverSampled
from discreet.optimisation.set_cover.systems import Assignment
from discreet.optimisation.vertex_cover.orientation import Orientation
from discreet.optimisation.vertex_cover.vertex_cover import VertexCover
from discreet.optimisation.vertex_cover.vertex_cover_sampled import VertexCoverSampled


def cover_edges(
    graph: Any,
    *,
    epsilon: checks.Number,
    weights: Iterable[checks.Number] | None = None,
    rng: Rng = SYSTEM,
    progress: bool = False,
) -> Release[Orientation]:
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
    mechanism: LongRun[Any, Orientation]
    if weights is None:
        mechanism = VertexCover(vertices=vertices, epsilon=epsilon)
    else:
        mechanism = VertexCoverSampled(vertices=vertices, epsilon=epsilon, weights=weights)
    return mechanism.release(graph, rng=rng, progress=progress)


def cover_elements(
    family: Any,
    elements: Any,
    *,
    epsilon: checks.Number,
    costs: Iterable[checks.Number] | None = None,
    rng: Rng = SYSTEM,
    progress: bool = False,
) -> Release[Assignment]:
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
    mechanism = SetCoverSampled(family=family, epsilon=epsilon, costs=costs)
    return mechanism.release(elements, rng=rng, progress=progress)
