"""Arrays of uniform integers and of biased coins, exact for every rational parameter.

A coin with probability p is the event U < p for a uniform U, whose bits are drawn sixteen at a time and
only as long as they leave the event open: the first word decides all but one coin in 65,536. For a
rational p the digits of p are exact integers; for p = exp(-x) they come from certified bounds.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.rng import Rng
from discreet.core.rounding import exp_bounds
from discreet.noise import oracle
from discreet.noise.samplers import LIMIT, Flags, below_exp, geometric_draws, low_bits

_WORD = 16
_BASE = 1 << _WORD


def uniform_below(bound: int, size: int, rng: Rng) -> NDArray[Any]:
    """Draw integers uniform in [0, bound): 64-bit, or Python integers where the bound passes 2**62."""
    bound = checks.integer(1, bound=bound)
    if bound > LIMIT:
        return np.array([oracle.uniform_below(bound, rng) for _ in range(size)], dtype=object)
    bits = (bound - 1).bit_length()
    if not bits:
        return np.zeros(size, dtype=np.int64)
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < size:
        missing = size - drawn.size
        tried = low_bits(bits, (missing << bits) // bound + 1, rng)
        drawn = np.concatenate([drawn, tried[tried < bound][:missing]])
    return drawn


def bernoulli(p: checks.Number, size: int, rng: Rng) -> Flags:
    """Toss coins that show True with probability p, 0 < p < 1."""
    digit, rest = divmod(checks.probability(p=p) * _BASE, 1)
    words = rng.words(size, np.uint16)
    won: Flags = words < digit
    tied = np.flatnonzero(words == digit)
    while tied.size and rest:
        digit, rest = divmod(rest * _BASE, 1)
        words = rng.words(tied.size, np.uint16)
        won[tied] = words < digit
        tied = tied[words == digit]
    return won


def bernoulli_exp(x: checks.Number, size: int, rng: Rng) -> Flags:
    """Toss coins that show True with probability exp(-x), x >= 0."""
    rate = checks.non_negative(x=x)
    lower, upper = exp_bounds(rate, 2 * _WORD)
    words = rng.words(size, np.uint16)
    won: Flags = words < lower // _BASE
    for i in np.flatnonzero((words >= lower // _BASE) & (words < -(-upper // _BASE))):
        won[i] = below_exp(rate.numerator, rate.denominator, (int(words[i]), _WORD), rng)
    return won


def bernoulli_exp_each(numerators: NDArray[np.int64], denominator: int, rng: Rng) -> Flags:
    """Toss one coin for each numerator n >= 0, True with probability exp(-n / denominator).

    A geometric variable of scale d is at least n with just that probability. The bits that are drawn do
    not depend on the numerators.
    """
    scale = Fraction(checks.integer(1, denominator=denominator))
    drawn = geometric_draws(scale, numerators.size, rng).reshape(numerators.shape)
    return np.asarray(drawn >= numerators, dtype=np.bool_)
