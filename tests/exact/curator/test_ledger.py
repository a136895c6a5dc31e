"""The ledger against adversaries who choose every next question by what they have seen, enumerated whole.

Each question is a small random step whose two laws, on neighbours, are listed. It is charged by two true
statements, a rho and a pair, and the ledger goes on while either sum has room. All transcripts of an adaptive
adversary are listed with both their probabilities, so delta(epsilon) of everything is known exactly.
"""

import functools
import math
from fractions import Fraction

import pytest

import discreet as dp
from discreet.core.errors import BudgetExceeded
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss, ZCDPLoss
from discreet.curator.ledger.ledger import Ledger

ROWS = dp.AddRemove("row")
MOST = 7  # questions: the tree is listed to its leaves, or so deep


class Step:
    """A random step with few outcomes: how likely each is on one table, and on its neighbour."""

    def __init__(self, left, right, epsilon=None):
        self.left, self.right = (tuple(map(Fraction, side)) for side in (left, right))
        ratios = [abs(math.log(a / b)) for a, b in zip(self.left, self.right, strict=True)]
        self.item = self.bought = None
        if epsilon is None:
            self.item = Guarantee(PureLoss(Fraction(math.nextafter(max(ratios), math.inf))), ROWS)
        else:
            delta = max(self.off(self.left, self.right, epsilon), self.off(self.right, self.left, epsilon))
            self.item = Guarantee(ZCDPLoss(Fraction(self.rho() * (1 + 1e-6))), ROWS)
            self.bought = ApproxLoss(Fraction(epsilon), Fraction(delta * (1 + 1e-9)))

    @staticmethod
    def off(one, other, epsilon):
        return sum(max(0.0, float(a) - math.exp(epsilon) * float(b)) for a, b in zip(one, other, strict=True))

    def rho(self):
        """The largest Rényi divergence over its order, either way round, on a fine grid of orders."""
        return max(
            math.log(sum(float(a) ** order * float(b) ** (1 - order) for a, b in zip(*pair, strict=True)))
            / (order - 1)
            / order
            for pair in ((self.left, self.right), (self.right, self.left))
            for order in (1 + 0.02 * step for step in range(1, 2000))
        )


RARE = Step(("0.004", "0.5", "0.496"), ("0.0001", "0.4", "0.5999"), epsilon=0.3)
WIDE = Step(("0.006", "0.364", "0.63"), ("0.0005", "0.4995", "0.5"), epsilon=0.35)
COIN = Step(("0.6", "0.4"), ("0.4", "0.6"))
FINE = Step(("0.55", "0.45"), ("0.45", "0.55"))


def always(step):
    return lambda seen: step


def chase(seen):
    """Go on gently after an outcome that speaks for the first table, and boldly after one against it."""
    return RARE if seen and seen[-1] == 0 else WIDE


def mixed(seen):
    return (COIN, WIDE, FINE, RARE)[(len(seen) + sum(seen)) % 4]


ADVERSARIES = {
    "rare": always(RARE),
    "wide": always(WIDE),
    "coin": always(COIN),
    "chase": chase,
    "mixed": mixed,
}


def transcripts(adversary, make):
    """List every transcript with its two probabilities, and how many answers it has."""
    found, pending = [], [((), (), Fraction(1), Fraction(1))]

    @functools.cache
    def granted(steps):
        ledger = make()
        try:
            for step in steps:
                ledger.start(ledger.reserve("a", "q", step.item, bought=step.bought))
        except BudgetExceeded:
            return False
        return True

    while pending:
        seen, steps, left, right = pending.pop()
        step = adversary(seen)
        if len(seen) == MOST or not granted((*steps, step)):
            found.append((left, right, len(seen)))
            continue
        for outcome, (a, b) in enumerate(zip(step.left, step.right, strict=True)):
            pending.append(((*seen, outcome), (*steps, step), left * a, right * b))
    return found


def off(found, epsilon):
    """Delta(epsilon), the larger of both directions."""
    factor = math.exp(epsilon)
    there = sum(max(0.0, float(a) - factor * float(b)) for a, b, _ in found)
    back = sum(max(0.0, float(b) - factor * float(a)) for a, b, _ in found)
    return max(there, back)


@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.8, 0.02), (1.2, 0.1), (2, 0.3)])
def test_whatever_is_granted_stays_within_the_promise(name, epsilon, delta):
    def make():
        return Ledger(epsilon=Fraction(epsilon), delta=Fraction(delta), neighbours=ROWS)

    found = transcripts(ADVERSARIES[name], make)
    assert sum(a for a, _, _ in found) == sum(b for _, b, _ in found) == 1
    assert off(found, epsilon) <= delta


def test_the_check_sees_a_ledger_that_grants_too_much():
    """A budget of (2.4, 0.3), held against the promise of (0.8, 0.02)."""
    found = transcripts(
        chase, lambda: Ledger(epsilon=Fraction("2.4"), delta=Fraction("0.3"), neighbours=ROWS)
    )
    assert off(found, 0.8) > 0.02


def test_both_ways_are_taken():
    """Some transcripts end where the pairs are used up, others go on by their rhos alone."""

    def length(step, **given):
        return max(count for *_, count in transcripts(always(step), lambda: Ledger(neighbours=ROWS, **given)))

    assert length(WIDE, epsilon=Fraction("1.5"), delta=Fraction("0.3")) >= 3
    assert length(COIN, epsilon=Fraction("1.3"), delta=Fraction("0.0001")) == 3  # by epsilons
    assert length(FINE, epsilon=Fraction("1"), delta=Fraction("0.3")) > 1 / (2 * math.atanh(0.1))  # by rhos
