"""The fraction of those who came exactly so many times, from tables that may be seized."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.neighbours import UserEvents, UserStream
from discreet.core.parameters import frozen, public
from discreet.streams.pan_private.cropped_tables import MOST_CROP, CroppedTables
from discreet.streams.pan_private.looks import look_between


@frozen
class IncidenceFraction(CroppedTables):
    """Estimate which part of all users came exactly so many times, whatever the others did.

    Privacy: (epsilon, 0) for all that one user did, for all answers and the state at one moment, together.
    [DNPRY10]; [DR14] Section 12.2.
    Accuracy: error(beta) over all answers, in proportion to `times`; answers are unbiased.
    Time: O(1) an element; up to six numbers a user are kept.

    Where it is known that nobody comes very often, `ModularIncidence` errs less. Its parameters are those of
    every `UserTable`, and `times`. Comings that are taken back count as nothing.

    Parameters
    ----------
    times
        The number of comings. For 0, ask `PanPrivateDensity`.

    Examples
    --------
    >>> once = IncidenceFraction(users=1_000_000, times=1, epsilon=2, neighbours=UserStream())
    >>> round(once.error(0.05), 3)
    0.009
    """

    times: int = public(checks.integer, 1, MOST_CROP)

    @property
    def crops(self) -> tuple[tuple[int, int], ...]:
        """Who comes t times or more, without who comes t + 1 times or more."""
        three = ((self.times, 2), (self.times + 1, -1), (self.times - 1, -1))
        return three if self.times > 1 else three[:2]


def _tiny() -> Iterator[Tiny]:
    pairs = [(((0, 2), (0, 2)), (None, None)), (((0, 1), (0, 1)), (None, None))]
    seen = IncidenceFraction(users=1, times=1, epsilon=2, neighbours=UserEvents())
    for at in range(3):
        yield Tiny(seen, pairs, look_between(2, (at,), ()), tight=at == 2, stepwise=False)
    one = IncidenceFraction(users=1, times=1, epsilon=6, share=Fraction(1, 2), neighbours=UserEvents())
    yield Tiny(one, [(((0, 2),), (None,))], look_between(1, (0,), (1,)), tight=False, stepwise=False)
    yield Tiny(one, [(((0, 2),), (None,))], look_between(1, (1,), (1,)), tight=False, stepwise=False)


CARD = Card(
    title="Fraction that came exactly t times, from a memory that may be seized",
    theorem="(epsilon, 0)-differential privacy of all answers and the state at one moment, user by user",
    reference="[DNPRY10] t-incidence; [DR14] section 12.2",
    example=lambda: (
        IncidenceFraction(users=1000, times=1, epsilon=4, neighbours=UserStream()),
        tuple(number * 7 % 400 for number in range(1000)),
    ),
    tiny=_tiny,
)
