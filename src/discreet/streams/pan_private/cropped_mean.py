"""The cropped mean: how often users came on average, each up to a crop, from tables that may be seized."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.neighbours import UserEvents, UserStream
from discreet.core.parameters import frozen, public
from discreet.streams.pan_private.cropped_tables import MOST_CROP, CroppedTables
from discreet.streams.pan_private.looks import list_pairs, look_between


@frozen
class CroppedMean(CroppedTables):
    """Estimate how often users came on average, where nobody counts more than `crop` times.

    Privacy: (epsilon, 0) for all that one user did, for all answers and the state at one moment, together.
    [DNPRY10]; [DR14] Section 12.2.
    Accuracy: error(beta) over all answers; answers are unbiased, so they may leave [0, crop].
    Time: O(1) an element; two numbers a user are kept.

    Its parameters are those of every `UserTable`, and `crop`. Comings that are taken back count as nothing.

    Parameters
    ----------
    crop
        The number of comings from which on more of them make no difference.

    Examples
    --------
    >>> mean = CroppedMean(users=100_000, crop=5, epsilon=1, neighbours=UserStream())
    >>> round(mean.error(0.05), 3)
    0.058
    >>> with mean.open() as visitors:
    ...     visitors.push_many([3, 14, 15, 92, 3])
    ...     estimate = visitors.estimate()
    """

    crop: int = public(checks.integer, 1, MOST_CROP)

    @property
    def crops(self) -> tuple[tuple[int, int], ...]:
        """One table."""
        return ((self.crop, 1),)


def _tiny() -> Iterator[Tiny]:
    pairs = list(list_pairs(((0, 1), (0, 2)), 2))
    seen = CroppedMean(users=1, crop=2, epsilon=2, neighbours=UserEvents())
    for at in range(3):
        yield Tiny(seen, pairs, look_between(2, (at,), ()), tight=at > 0, stepwise=False)
    one = CroppedMean(users=1, crop=2, epsilon=6, share=Fraction(1, 2), neighbours=UserEvents())
    yield Tiny(one, pairs[-1:], look_between(2, (1,), (2,)), stepwise=False)
    two = CroppedMean(users=2, crop=2, epsilon=2, neighbours=UserEvents())
    yield Tiny(two, [(((0, 2), (1, 1)), (None, (1, 1)))], look_between(2, (1,), ()), stepwise=False)


CARD = Card(
    title="Cropped mean: how often users came on average, from a memory that may be seized",
    theorem="(epsilon, 0)-differential privacy of all answers and the state at one moment, user by user",
    reference="[DNPRY10] cropped mean; [DR14] section 12.2",
    example=lambda: (
        CroppedMean(users=1000, crop=3, epsilon=2, neighbours=UserStream()),
        tuple(number * 7 % 400 for number in range(1000)),
    ),
    tiny=_tiny,
)
