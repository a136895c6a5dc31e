"""The fraction of heavy hitters: who came k times or more, from tables that may be seized."""

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
class HeavyHitterFraction(CroppedTables):
    """Estimate which part of all users came at least so many times, however often that was.

    Privacy: (epsilon, 0) for all that one user did, for all answers and the state at one moment, together.
    [DNPRY10]; [DR14] Section 12.2.
    Accuracy: error(beta) over all answers, in proportion to `times`; answers are unbiased.
    Time: O(1) an element; four numbers a user are kept.

    Its parameters are those of every `UserTable`, and `times`. Comings that are taken back count as nothing.

    Parameters
    ----------
    times
        How often one has to come to count.

    Examples
    --------
    >>> heavy = HeavyHitterFraction(users=1_000_000, times=3, epsilon=2, neighbours=UserStream())
    >>> round(heavy.error(0.05), 3)
    0.012
    """

    times: int = public(checks.integer, 1, MOST_CROP)

    @property
    def crops(self) -> tuple[tuple[int, int], ...]:
        """One comes k times or more where the crop at k lets one more through than that at k - 1."""
        both = ((self.times, 1), (self.times - 1, -1))
        return both if self.times > 1 else both[:1]


def _tiny() -> Iterator[Tiny]:
    pairs = [(((0, 2), (0, 2)), (None, None)), (((0, 1), (0, 1)), (None, None))]
    seen = HeavyHitterFraction(users=1, times=2, epsilon=2, neighbours=UserEvents())
    for at in range(3):
        yield Tiny(seen, pairs, look_between(2, (at,), ()), tight=at == 2, stepwise=False)
    one = HeavyHitterFraction(users=1, times=2, epsilon=6, share=Fraction(1, 2), neighbours=UserEvents())
    yield Tiny(one, [(((0, 2),), (None,))], look_between(1, (0,), (1,)), tight=False, stepwise=False)
    yield Tiny(one, [(((0, 2),), (None,))], look_between(1, (1,), (1,)), tight=False, stepwise=False)


CARD = Card(
    title="Fraction of heavy hitters: which part of all users came k times, from a memory that may be seized",
    theorem="(epsilon, 0)-differential privacy of all answers and the state at one moment, user by user",
    reference="[DNPRY10] heavy hitters; [DR14] section 12.2",
    example=lambda: (
        HeavyHitterFraction(users=1000, times=2, epsilon=4, neighbours=UserStream()),
        tuple(number * 7 % 400 for number in range(1000)),
    ),
    tiny=_tiny,
)
