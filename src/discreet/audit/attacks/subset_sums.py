"""Reconstruction from sums over random subsets: too many answers that are too good give the data away.

[DN03]: whoever answers a few times n random subset counts of n secret bits, each within much less than
sqrt(n), has published almost all of the bits. No cleverness is needed: least squares finds them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.core import checks
from discreet.core.fixed import Bools, Floats
from discreet.core.rng import SYSTEM, Rng

_BYTE = 8


def random_subsets(people: int, questions: int, *, rng: Rng = SYSTEM) -> Bools:
    """Draw subsets of the people, one a row: each person is in each with probability one half."""
    n, count = checks.integer(1, people=people), checks.integer(1, questions=questions)
    drawn = np.frombuffer(rng.random_bytes(-(-n * count // _BYTE)), dtype=np.uint8)
    return np.unpackbits(drawn)[: n * count].reshape(count, n).astype(np.bool_)


def reconstruct(answer: Callable[[Bools], float], subsets: Bools) -> Bools:
    """Ask how many people of each subset have the secret bit, and return a guess of everybody's.

    The guess is the real vector with entries of about 0 to 1 that fits all answers best, rounded.

    Parameters
    ----------
    answer
        Says, of a mask over the people, about how many of them have the bit.
    subsets
        The questions, one a row: see `random_subsets`. About four times as many as there are people.
    """
    answers: Floats = np.array([float(answer(subset)) for subset in subsets], dtype=np.float64)
    fitted, *_ = np.linalg.lstsq(subsets.astype(np.float64), answers, rcond=None)
    return np.asarray(fitted >= 0.5, dtype=np.bool_)
