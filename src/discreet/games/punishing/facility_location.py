"""Where the clinics go, decided by where people say they live, when nobody gains by saying anything else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Bidder
from discreet.core.parameters import derived, frozen, public
from discreet.games.common.utilities import FINEST
from discreet.games.punishing.environment import LARGEST, Environment
from discreet.games.punishing.punishing_exponential import Punishing
from discreet.optimisation.k_median.metric import Metric


def _read_k(**named: int) -> int:
    if checks.integer(1, **named) == 1:
        raise InvalidParameter(
            name="k",
            rule="an integer >= 2",
            value=1,
            hint="With one facility everybody goes there whatever they reported, so no lie can be punished",
        )
    return checks.integer(2, **named)


@frozen
class FacilityLocation(Punishing):
    """Open k of the sites for people who go to the nearest; sometimes to the nearest to where they said.

    Privacy: (epsilon, 0) with bounded range, **for the sites alone**. Where reports are held, who goes where
    is a function of the own report.
    Truthfulness: exact, without payments. [NST12], [DR14] Theorem 10.5 for k >= 2; it is false for k = 1.
    Accuracy: welfare_loss(players) of the diameter in the mean distance, in expectation; for m + 1 places on
    a line m sqrt(2 k log(m + 1) / players) or less with `for_players`.
    Time: O(players + places * sets of sites).

    Parameters
    ----------
    metric
        Where people may be and facilities open, and how far it is: `Metric.points` or `Metric.graph`. Some
        two open facilities must tell any two places apart.
    k
        How many facilities, two at least.
    epsilon, neighbours, privacy_value
        As in `PunishingExponential`. `for_players` takes the best epsilon.
    """

    metric: Metric = public(Metric.of)
    k: int = public(_read_k)
    environment: Environment = derived()

    def _complete(self) -> None:
        if self.k > self.metric.sites:
            raise InvalidParameter(name="k", rule=f"at most the {self.metric.sites} sites", value=self.k)
        self._set(environment=_make_environment(self.metric, self.k))
        Punishing._complete(self)  # noqa: SLF001 - its own base


@lru_cache(maxsize=16)
def _make_environment(metric: Metric, k: int) -> Environment:
    """Return people at places, sets of sites and a site to go to: worth 1 less the share of the diameter."""
    farthest, sets = metric.diameter, math.comb(metric.sites, k)
    if farthest * FINEST > 1:
        rule, hint = f"at most {1 / FINEST} units across", "Take a coarser unit"
        raise InvalidParameter(name="metric", rule=rule, value=farthest, hint=hint)
    if not farthest or metric.places * metric.sites * sets > LARGEST:
        raise InvalidParameter(
            name="metric",
            rule=f"of some distance, with places * sites * sets of sites <= {LARGEST}",
            value=(metric.places, metric.sites, sets),
        )
    chosen = list(itertools.combinations(range(metric.sites), k))
    is_open = np.zeros((sets, metric.sites), dtype=bool)
    np.put_along_axis(is_open, np.array(chosen), values=True, axis=1)
    near = 1 - metric.distances.astype(np.float64) / farthest
    worth = np.where(is_open, near[:, None, :], np.nan)  # nobody is sent where nothing is open
    names = list(metric.site_names.all())
    return Environment(
        types=metric.place_names.all(),
        outcomes=[tuple(names[site] for site in few) for few in chosen],
        reactions=names,
        utilities=worth,
        grid=Fraction(1, farthest),
    )


def _tiny() -> Iterator[Tiny]:
    line = Metric.points([[0], [1], [2]], unit=1)
    game = FacilityLocation(metric=line, k=2, epsilon=2, neighbours=Bidder())
    yield Tiny(game, list(Bidder().pairs((0, 1, 2, "nowhere"), 2)), tight=False)
    # Somebody moves between two towns and a village of two sites, while all others stay in the towns.
    far = [[0, 1, 6, 6], [1, 0, 6, 6], [6, 6, 0, 6], [6, 6, 6, 0]]
    game = FacilityLocation(metric=Metric(far, unit=1), k=2, epsilon=4, neighbours=Bidder())
    townspeople = (2, 2, 2, 3, 3, 3)
    moves = itertools.permutations(range(4), 2)
    yield Tiny(game, [((*townspeople, home), (*townspeople, other)) for home, other in moves])


def _example() -> tuple[FacilityLocation, Any]:
    street = Metric.points([[place] for place in range(6)], unit=1)
    game = FacilityLocation(metric=street, k=2, epsilon=0.001, neighbours=Bidder())
    return game, [(7 * person) % 6 for person in range(400)]


CARD = Card(
    title="Facility location without payments",
    theorem="(epsilon, 0)-differential privacy of the sites; truth exactly best; OPT + O(n^-1/2)",
    reference="[NST12]; [DR14] Theorem 10.5, for k >= 2",
    example=_example,
    tiny=_tiny,
)
